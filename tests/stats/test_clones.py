from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trialbook.stats.clones import cloned_share, clones
from trialbook.stats.rework import rework

BLOCK = """\
def total(rows):
    found = {}
    for row in rows:
        key = row["project"]
        if key not in found:
            found[key] = 0
        found[key] += row["minutes"]
    return found
"""


def numbers(text: str) -> frozenset[int]:
    return frozenset(range(1, text.count("\n") + 1))


def test_lines_that_are_written_twice_are_found_whatever_stands_between_words() -> None:
    other = "import os\n\n" + BLOCK.replace("    ", "  ").replace(":\n", ":  # so\n")
    (found,) = clones({"a.py": BLOCK, "b.py": other}, {"b.py": numbers(other)})
    assert (found.first, found.second, found.lines) == ("a.py", "b.py", 8)
    assert (found.second_line, found.second_end) == (3, 10)
    assert cloned_share([found], {"b.py": numbers(other)}) == (8, 10)


def test_five_lines_and_lines_that_were_there_are_none() -> None:
    five = "".join(BLOCK.splitlines(keepends=True)[:5])
    assert clones({"a.py": BLOCK, "b.py": five}, {"b.py": numbers(five)}) == []
    assert clones({"a.py": BLOCK, "b.py": BLOCK}, {}) == []


def test_other_names_are_other_lines_and_imports_are_none() -> None:
    renamed = BLOCK.replace("found", "sums")
    assert clones({"a.py": BLOCK, "b.py": renamed}, {"b.py": numbers(renamed)}) == []
    imports = "".join(f"from package import name{n}\n" for n in range(9))
    assert clones({"a.py": imports, "b.py": imports}, {"b.py": numbers(imports)}) == []


def test_a_text_that_repeats_itself_gives_no_clone_that_overlaps() -> None:
    text = BLOCK * 3
    for one in clones({"a.py": text}, {"a.py": numbers(text)}):
        assert one.first_end < one.second_line


@given(st.dictionaries(st.sampled_from("abc"), st.text(max_size=400), max_size=3))
def test_any_text_can_be_looked_at(files: dict[str, str]) -> None:
    added = {name: frozenset(range(1, 50)) for name in files}
    found = clones(files, added)
    inside, total = cloned_share(found, added)
    assert 0 <= inside <= total


def test_lines_that_are_taken_out_again_count_once_each() -> None:
    added = {"a.py": [(1, "x = 1\n"), (2, "y = 2\n"), (3, "y = 2\n"), (4, "\n")]}
    found = rework(1, added, {"a.py": [(1, "y = 2\n"), (9, "z\n")], "b.py": [(1, "x = 1\n")]})
    assert (found.added, found.taken_out, found.places) == (3, 1, ("a.py:1",))
    assert found.share == 1 / 3
    assert rework(1, {}, {}).share is None
