from __future__ import annotations

import base64
import contextlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.errors import Refused
from trialbook.formats.binary_patch import apply_delta
from trialbook.formats.patch import FileStatus, Line, parse_patch
from trialbook.formats.patch_apply import Content, apply_patch

EDIT = b"""\
diff --git a/src/x.py b/src/x.py
index 1111111..2222222 100644
--- a/src/x.py
+++ b/src/x.py
@@ -3,3 +3,4 @@ def f():
 a
-b
+B
+C
 d
"""


def applied(patch: bytes, before: dict[bytes, Content]) -> dict[bytes, Content | None]:
    return apply_patch(parse_patch(patch), before.get)


def base85(data: bytes) -> bytes:
    packed = zlib.compress(data)
    lines = []
    for at in range(0, len(packed), 52):
        piece = packed[at : at + 52]
        length = len(piece) + (64 if len(piece) <= 26 else 70)
        text = base64.b85encode(piece, pad=True)
        lines.append(bytes([length]) + text + b"\n")
    return b"".join(lines)


def literal(data: bytes, size: int | None = None) -> bytes:
    return b"literal %d\n%s\n" % (len(data) if size is None else size, base85(data))


def binary(body: bytes) -> bytes:
    return b"diff --git a/f b/f\nindex 1111111..2222222 100644\nGIT binary patch\n" + body


def test_lines_have_their_numbers_on_both_sides() -> None:
    (file,) = parse_patch(EDIT)
    (hunk,) = file.hunks
    assert (file.status, file.path, file.old_mode) == (FileStatus.MODIFIED, b"src/x.py", 0o100644)
    assert hunk.section == b"def f():"
    assert hunk.lines == (
        Line(" ", 3, 3, b"a\n"),
        Line("-", 4, None, b"b\n"),
        Line("+", None, 4, b"B\n"),
        Line("+", None, 5, b"C\n"),
        Line(" ", 5, 6, b"d\n"),
    )
    assert (file.insertions, file.deletions) == (2, 1)


def test_a_missing_newline_at_the_end_is_kept_missing() -> None:
    patch = EDIT.replace(b" d\n", b" d\n\\ No newline at end of file\n")
    (file,) = parse_patch(patch)
    assert file.hunks[0].lines[-1].text == b"d"
    before = {b"src/x.py": Content(0o100644, b"1\n2\na\nb\nd")}
    assert applied(patch, before) == {b"src/x.py": Content(0o100644, b"1\n2\na\nB\nC\nd")}


def test_a_mail_around_the_patch_is_passed_over() -> None:
    mail = b"From 1234 Mon Sep 17\nSubject: x\n\n---\n x.py | 2 +-\n\n" + EDIT + b"-- \n2.39.5\n\n"
    assert parse_patch(mail) == parse_patch(EDIT)


def test_an_empty_patch_has_no_files() -> None:
    assert parse_patch(b"") == []


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (b"diff --git a/x y b/x y\n", b"x y"),
        (b'diff --git "a/t\\tb" "b/t\\tb"\n', b"t\tb"),
        (b'diff --git "a/\\303\\251" "b/\\303\\251"\n', "é".encode()),
        (b'diff --git "a/\xc3\xa9\\t" "b/\xc3\xa9\\t"\n', b"\xc3\xa9\t"),
        (b'diff --git "a/q\\"\\\\" "b/q\\"\\\\"\n', b'q"\\'),
        (b"diff --git a/a b/b b/a b/b\n", b"a b/b"),
        (b"diff --git i/x w/x\n", b"x"),
    ],
)
def test_names_are_read_from_the_first_line_alone(header: bytes, name: bytes) -> None:
    (file,) = parse_patch(header + b"old mode 100644\nnew mode 100755\n")
    assert (file.old_path, file.new_path, file.mode_changed) == (name, name, True)


def test_a_rename_names_both() -> None:
    patch = (
        b'diff --git a/old name "b/new\\nname"\nsimilarity index 100%\n'
        b'rename from old name\nrename to "new\\nname"\n'
    )
    (file,) = parse_patch(patch)
    assert (file.status, file.similarity) == (FileStatus.RENAMED, 100)
    assert (file.old_path, file.new_path) == (b"old name", b"new\nname")
    before = {b"old name": Content(0o100755, b"x")}
    assert applied(patch, before) == {b"old name": None, b"new\nname": before[b"old name"]}


def test_a_copy_keeps_the_original() -> None:
    patch = b"diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n"
    assert applied(patch, {b"x": Content(0o100644, b"x")}) == {b"y": Content(0o100644, b"x")}


@pytest.mark.parametrize(
    ("damage", "wrong"),
    [
        (lambda p: p[:-1], "middle of a line"),
        (lambda p: p[: p.index(b" d\n")], "middle of a file"),
        (lambda p: p.replace(b"+3,4", b"+3,3"), "lines that its header says"),
        (lambda p: p.replace(b"+3,4", b"+3,5").replace(b"-3,3", b"-3,4"), "middle of a file"),
        (lambda p: p + b"+one more\n", "more lines than its header"),
        (lambda p: p.replace(b"@@ -3,3", b"@@ -x,3"), "header of a hunk"),
        (lambda p: p.replace(b"+++ b/src/x.py\n", b""), "is missing"),
        (lambda p: p.replace(b"+++ b/src/x.py", b"+++ b/src/y.py"), "cannot be told"),
        (lambda p: p.replace(b"a/src/x.py b/", b"a/src/q.py b/", 1), None),
        (lambda p: p.replace(b"--git a/src/x.py b/src/x.py", b"--git a/z.py b/z.py"), "two names"),
        (lambda p: p.replace(b"diff --git a/src/x.py b/src/x.py", b"diff --cc src/x.py"), "merge"),
    ],
)
def test_damage_is_named_with_its_line(damage, wrong: str | None) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    patch = damage(EDIT)
    if wrong is None:
        assert parse_patch(patch)[0].path == b"src/x.py"
        return
    with pytest.raises(Refused, match=rf"damaged patch, line \d+: .*{wrong}"):
        parse_patch(patch)


@given(st.binary(max_size=400))
def test_any_bytes_give_files_or_a_refusal(noise: bytes) -> None:
    for patch in (noise, b"diff --git a/x b/x\n" + noise, EDIT[:60] + noise):
        try:
            files = parse_patch(patch)
            apply_patch(files, {b"x": Content(0o100644, b"a\n")}.get)
        except Refused:
            pass


@given(st.integers(0, len(EDIT)), st.binary(max_size=5), st.integers(0, 5))
def test_a_patch_with_a_wound_is_read_or_refused(at: int, put: bytes, cut: int) -> None:
    with contextlib.suppress(Refused):
        parse_patch(EDIT[:at] + put + EDIT[at + cut :])


def test_a_binary_literal_is_unpacked() -> None:
    data = bytes(range(256)) * 9
    patch = binary(literal(data) + literal(b""))
    assert applied(patch, {b"f": Content(0o100644, b"")}) == {b"f": Content(0o100644, data)}


def test_a_bomb_is_not_unpacked() -> None:
    bomb = binary(literal(bytes(50 << 20), size=10))
    with pytest.raises(Refused, match="does not have the 10 bytes"):
        applied(bomb, {b"f": Content(0o100644, b"")})
    with pytest.raises(Refused, match="more than a patch may hold"):
        applied(binary(literal(b"x", size=1 << 38)), {b"f": Content(0o100644, b"")})


@pytest.mark.parametrize(
    "body",
    [
        b"literal 3\nC\x00\x00\x00\x00\x00\n\n",
        b"literal 3\nCabcd\n\n",
        b"literal 3\n?abcde\n\n",
        b"literal 3\nCabcde\n\n",
        b"literal 3\nCabcde\n",
        b"other 3\n\n",
        b"delta 5\n" + base85(b"\x01\x01\x91\x00\x09") + b"\n",
        b"delta 2\n" + base85(b"\x01\x05") + b"\n",
        b"delta 2\n" + base85(b"\x80\x80") + b"\n",
    ],
)
def test_a_damaged_binary_part_is_refused(body: bytes) -> None:
    with pytest.raises(Refused):
        applied(binary(body), {b"f": Content(0o100644, b"x")})


def test_a_delta_copies_and_inserts() -> None:
    base = bytes(range(100))
    delta = bytes([100, 13, 0x91, 90, 10, 3]) + b"new"
    assert apply_delta(base, delta) == bytes(range(90, 100)) + b"new"


@given(st.binary(max_size=60))
def test_any_delta_gives_bytes_or_a_refusal(delta: bytes) -> None:
    with contextlib.suppress(Refused):
        assert len(apply_delta(bytes(64), bytes([64, 32]) + delta)) == 32


def test_a_binary_patch_for_another_file_is_refused_by_its_id() -> None:
    patch = binary(literal(b"\0new")).replace(b"1111111..2222222", b"1" * 40 + b".." + b"2" * 40)
    with pytest.raises(Refused, match="not the file that the patch was made for"):
        applied(patch, {b"f": Content(0o100644, b"other")})


def test_a_patch_without_its_binary_content_says_what_to_do() -> None:
    patch = b"diff --git a/f b/f\nindex 1111111..2222222 100644\nBinary files a/f and b/f differ\n"
    with pytest.raises(Refused, match="not how") as refusal:
        applied(patch, {b"f": Content(0o100644, b"x")})
    assert "git diff --binary" in refusal.value.hint


def test_a_deletion_that_leaves_something_is_refused() -> None:
    patch = (
        b"diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    )
    assert applied(patch, {b"f": Content(0o100644, b"a\n")}) == {b"f": None}
    with pytest.raises(Refused, match="leaves part"):
        applied(patch, {b"f": Content(0o100644, b"a\nb\n")})


def test_another_kind_of_file_is_refused() -> None:
    with pytest.raises(Refused, match="another kind of file"):
        applied(EDIT, {b"src/x.py": Content(0o120000, b"1\n2\na\nb\nd\n")})
