from __future__ import annotations

import pytest

from trialbook_graders.globs import covers, matches, path_mistake


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("a.py", "a.py"),
        ("*.py", "a.py"),
        ("*.py", ".hidden.py"),
        ("src/*.py", "src/a.py"),
        ("**/*.py", "a.py"),
        ("**/*.py", "src/deep/er/a.py"),
        ("src/**", "src/deep/a.py"),
        ("src/**/a.py", "src/a.py"),
        ("a?c/[xy].txt", "abc/x.txt"),
        ("tests/", "tests"),
        ("pages/[slug].tsx", "pages/[slug].tsx"),
        ("a\nb*", "a\nbc"),
    ],
)
def test_a_pattern_names_these_paths(pattern: str, path: str) -> None:
    assert matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.py", "src/a.py"),
        ("src/*.py", "src/deep/a.py"),
        ("*.py", "a.pyc"),
        ("a.py", "b/a.py"),
        ("A.py", "a.py"),
        ("src/**/a.py", "other/a.py"),
        ("a", "a/b"),
    ],
)
def test_a_pattern_does_not_name_these_paths(pattern: str, path: str) -> None:
    assert not matches(pattern, path)


def test_a_folder_covers_what_is_below_it() -> None:
    assert covers("tests", "tests/unit/test_a.py")
    assert covers("tests/", "tests/unit/test_a.py")
    assert covers("**/fixtures", "a/fixtures/x/y")
    assert covers("**/conftest.py", "a/b/conftest.py")
    assert not covers("tests", "tests2/a.py")


def test_a_slash_at_the_end_covers_only_what_is_below() -> None:
    assert covers("tests", "tests")
    assert not covers("tests/", "tests")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/etc/passwd",
        "../x",
        "a/../b",
        "a/..",
        "a//b",
        "./a",
        "a\\b",
        "a\0b",
        ".git/config",
    ],
)
def test_paths_that_are_not_inside_the_tree_are_mistakes(path: str) -> None:
    assert path_mistake(path)


def test_ordinary_paths_are_no_mistakes() -> None:
    assert not any(map(path_mistake, ["a", "a/b.py", "tests/", "**/*.py", "..a/b..", "[x]"]))


def test_many_stars_are_matched_at_once() -> None:
    assert not matches("*a" * 30 + "b", "a" * 200)
    assert not matches("**/" * 40 + "b", "a/" * 400 + "c")
