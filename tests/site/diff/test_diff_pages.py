from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from trialbook.site.diff.figure import Change, readable
from trialbook.site.diff.line_text import line_html
from trialbook.site.diff.remarks import Remark
from trialbook.site.diff.sheets import FILES, LINES, SHEET_LINES
from trialbook.site.diff.syntax import language_of, tokens
from trialbook.site.diff.words import changed_words

_HEAD = b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n"
PATCH = _HEAD + b"@@ -1,3 +1,4 @@\n same\n-old = one\n+new = one\n+more\n last\n"


def added(name: str, lines: int) -> bytes:
    path = name.encode()
    return (
        b"diff --git a/%b b/%b\nnew file mode 100644\n--- /dev/null\n+++ b/%b\n@@ -0,0 +1,%d @@\n"
        % (path, path, path, lines)
    ) + b"".join(b"+%d\n" % number for number in range(1, lines + 1))


def marked_words(old: str, new: str) -> tuple[list[str], list[str]]:
    gone, came = changed_words(old, new)
    return [old[a:b] for a, b in gone], [new[a:b] for a, b in came]


def test_lines_of_both_sides_have_an_id_and_changed_ones_share_a_block() -> None:
    [file] = Change.read(PATCH).figure()["files"]
    rows = file["rows"]
    assert re.findall(r'id="([^"]+)"', rows) == [
        "f1n1",
        "f1o1",
        "f1o2",
        "f1n2",
        "f1n3",
        "f1n4",
        "f1o3",
    ]
    block = rows.partition('<div class="block">')[2]
    assert block.index("<del>") < block.index("<ins>")


def test_what_stayed_is_there_for_both_sides() -> None:
    [file] = Change.read(PATCH).figure()["files"]
    assert file["rows"].count("<code>same</code>") == 2


def test_words_that_changed_are_set_off() -> None:
    [file] = Change.read(PATCH).figure()["files"]
    assert "<b>old</b> = one" in file["rows"]
    assert "<b>new</b> = one" in file["rows"]


def test_only_words_that_differ_are_marked() -> None:
    assert marked_words("def f(a, b):", "def g(a, c):") == (["f", "b"], ["g", "c"])
    assert marked_words("return x", "return x + 1") == ([], [" + 1"])
    assert marked_words("call(a b c)", "call(x y c)") == (["a b"], ["x y"])


def test_lines_that_have_little_in_common_are_not_compared() -> None:
    assert changed_words("import os", "raise ValueError(1)") == ((), ())
    assert changed_words("a" * 600, "b" * 600) == ((), ())


@given(st.text(max_size=60), st.text(max_size=60))
def test_marks_of_any_lines_lie_inside_of_them_in_order(old: str, new: str) -> None:
    for spans, text in zip(changed_words(old, new), (old, new), strict=True):
        places = [place for span in spans for place in span]
        assert places == sorted(places)
        assert all(0 <= place <= len(text) for place in places)


@given(st.text(max_size=200), st.sampled_from(["py", "js", "sql", "go", "", "json"]))
def test_any_line_becomes_text_that_does_nothing(text: str, language: str) -> None:
    html = re.sub(r"</?(?:b|span)(?: class=\"[a-z]+\")?>", "", line_html(text, language))
    assert "<" not in html
    assert '"' not in html


def test_code_is_coloured_by_the_name_of_its_file() -> None:
    assert (language_of("src/a.py"), language_of("Makefile"), language_of("a.bin")) == (
        "py",
        "makefile",
        "",
    )
    assert [kind for _, _, kind in tokens("py", 'return "x"  # why')] == ["k", "s", "c"]
    assert list(tokens("py", "x" * 500)) == []


def test_script_in_a_line_is_text() -> None:
    html = line_html('x = "<script>alert(1)</script>" \x1b[31m \u202e', "py")
    assert "<script" not in html
    assert "\\x1b" in html
    assert "\\u202e" in html


def test_a_very_long_line_is_cut_and_says_so() -> None:
    assert line_html("a" * 5000).endswith("… 3000 more characters</span>")


def test_a_large_change_has_a_page_for_each_of_its_lines() -> None:
    lines = LINES + SHEET_LINES + 5
    change = Change.read(added("big.txt", lines) + PATCH)
    pages = [change.figure(number) for number in range(len(change.sheets))]
    rows = "".join(file["rows"] for page in pages for file in page["files"])
    ids = set(re.findall(r'id="(f1n\d+)"', rows))
    assert ids == {f"f1n{number}" for number in range(1, lines + 1)}
    assert pages[0]["files"][0]["left"] == SHEET_LINES + 6
    assert [file["anchor"] for file in pages[1]["files"]] == [f"f1-{LINES}"]


def test_a_line_is_found_on_its_page_and_else_its_file_is() -> None:
    change = Change.read(added("big.txt", LINES + 10))
    assert change.place("big.txt", 7) == (0, "f1n7")
    assert change.place("big.txt", LINES + 3) == (1, f"f1n{LINES + 3}")
    assert change.place("big.txt", 99_999) == (0, "f1")
    assert change.place("other", 1) is None
    assert Change.read(PATCH).place("a.py", 2, "old") == (0, "f1o2")


def test_very_many_files_go_over_pages_and_none_is_left_out() -> None:
    change = Change.read(b"".join(added(f"{number}.txt", 1) for number in range(5_000)))
    names = [part.file.path for parts in change.sheets for part in parts]
    assert names == [f"{number}.txt" for number in range(5_000)]
    assert len(change.sheets[0]) == FILES
    assert change.figure(0)["later"] == 5_000 - FILES


def test_a_patch_beyond_all_measure_is_cut_at_a_line_end_and_counted() -> None:
    huge = b"+line\n" * 1_000_000
    read, left = readable(huge)
    assert read.endswith(b"\n")
    assert len(read) <= 4_000_000
    assert len(read) + left == len(huge)
    assert readable(PATCH) == (PATCH, 0)
    assert Change.read(PATCH + huge).figure()["unread"] == "2.0 MB"


def test_one_line_of_ten_megabytes_hides_no_other() -> None:
    huge = added("a.txt", 1).replace(b"+1\n", b"+" + b"a" * 10_000_000 + b"\n")
    figure = Change.read(huge + PATCH).figure()
    assert figure["unread"] == ""
    long, other = figure["files"]
    assert "more bytes]" in long["rows"]
    assert "<b>new</b> = one" in other["rows"]


def test_a_remark_stands_below_the_last_line_that_it_is_about() -> None:
    remark = Remark(
        path="a.py", first=2, last=3, id="finding-1", back="said", who="judge", text="<b>no</b>"
    )
    [file] = Change.read(PATCH).figure(0, [remark], "r1.html")["files"]
    rows = file["rows"]
    assert rows.index('id="f1n3"') < rows.index('id="finding-1"') < rows.index('id="f1n4"')
    assert '<a href="r1.html#said">judge</a>' in rows
    assert "lines 2 to 3" in rows
    assert "&lt;b&gt;no" in rows
    assert '<div class="l a q" id="f1n2">' in rows


def test_a_line_without_an_end_says_so() -> None:
    patch = _HEAD + b"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"
    [file] = Change.read(patch).figure()["files"]
    assert "No newline at end of file" in file["rows"]
    assert file["rows"].count("<ins>") == 1
