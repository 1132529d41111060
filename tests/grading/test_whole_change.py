"""Hints about a whole change: each is there where there is a reason, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import write_files

from trialbook.execution.change import difference_of
from trialbook.formats.patch_lines import patch_lines
from trialbook.grading.whole_change import whole_change
from trialbook.model.series_record import WholeChange
from trialbook.storage.repository import Store
from trialbook.storage.trees import tree_of_folder

PROJECT = {
    "app.py": "def run():\n    return 1\n",
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["click"]\n',
}
ROWS = "".join(f"    total += price(value, {n}) * rate[{n}]\n" for n in range(7))


def seen(top: Path, after: dict[str, str]) -> WholeChange:
    store = Store.at(top / "objects")
    trees = []
    for name, files in (("before", PROJECT), ("after", PROJECT | after)):
        write_files(top / name, files)
        trees.append(tree_of_folder(store, top / name).tree)
    patch, _ = difference_of(store, *trees, work=top)
    found = whole_change(store, trees[0], trees[1], patch_lines(patch))
    assert (found.base, found.tree, found.trouble) == (*trees, "")
    return found


def test_the_same_lines_in_two_places_are_told_with_both(tmp_path: Path) -> None:
    copies = {f"{name}.py": f"def {name}():\n{ROWS}" for name in ("one", "two")}
    ((first, second),) = seen(tmp_path, copies).clones
    assert (first.partition("@")[0], second.partition("@")[0]) == ("one.py:2-8", "two.py:2-8")
    assert not seen(tmp_path / "b", {"one.py": copies["one.py"]}).clones


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({"new.py": "def helper():\n    return 2\n"}, ["new.py:1"]),
        ({"new.py": "def helper():\n    return 2\n", "use.py": "helper()\n"}, []),
        ({"new.py": "@command\ndef helper():\n    return 2\n"}, []),
        ({"new.py": "def broken(:\n"}, []),
    ],
)
def test_what_nothing_names_is_told(tmp_path: Path, after: dict[str, str], told: list[str]) -> None:
    assert [one.partition("@")[0] for one in seen(tmp_path, after).unused] == told


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({"requirements.txt": "# kept\nleft-pad==1\n"}, ["requirements.txt:2"]),
        ({"pyproject.toml": PROJECT["pyproject.toml"].replace('["click"]', '["click", "rich"]')},
         ["pyproject.toml:3"]),
        ({"pyproject.toml": PROJECT["pyproject.toml"].replace('"x"', '"y"')}, []),
        ({"package.json": '{"dependencies": {"vue": "3"}}\n'}, ["package.json:1"]),
    ],
)  # fmt: skip
def test_a_new_dependency_is_told_with_its_line(
    tmp_path: Path, after: dict[str, str], told: list[str]
) -> None:
    assert [one.partition("@")[0] for one in seen(tmp_path, after).dependencies] == told


def test_a_change_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    store = Store.at(tmp_path / "objects")
    assert "cannot be read" in whole_change(store, "0" * 40, "1" * 40, None).trouble
