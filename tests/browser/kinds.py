"""What kinds of pages a site has, told from their addresses, and which pages stand for a kind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from html import unescape
from pathlib import Path

_NAME = r"[^/]+"
_RUN = rf"runs/{_NAME}/{_NAME}"
_TRIAL = rf"{_RUN}/{_NAME}/{_NAME}/r\d+(\.rerun\d+)?"
_KINDS = {
    "overview": r"index\.html",
    "suites": r"suites/index\.html",
    "suite": rf"suites/{_NAME}/index\.html",
    "task": rf"suites/{_NAME}/tasks/{_NAME}\.html",
    "configuration": rf"suites/{_NAME}/configurations/{_NAME}\.html",
    "comparison across runs": rf"suites/{_NAME}/compare-{_NAME}\.html",
    "run": rf"{_RUN}/index\.html",
    "comparison": rf"{_RUN}/compare-{_NAME}\.html",
    "trial": rf"{_TRIAL}\.html",
    "trajectory": rf"{_TRIAL}\.trajectory\.html",
    "rubric": rf"rubrics/{_NAME}/{_NAME}\.html",
    "finding": r"findings/[0-9a-f]{8,}\.html",
    "judge": rf"judgement/(?!index\.){_NAME}\.html",
    "docs": r"docs/(.*/)?[^/]+\.html",
    "word of the glossary": r"glossary/.+",
}
_FURTHER = re.compile(r"-?\bpage-\d+")


def kind_of(path: str) -> str:
    """The kind of a page; what has no name here is named after its address."""
    for kind, pattern in _KINDS.items():
        if re.fullmatch(pattern, path):
            return kind
    further = _FURTHER.sub("page-N", path)
    if re.match(_TRIAL, further):
        rest = re.sub(rf"^{_TRIAL}", "", further)
        return "a trial's " + re.sub(r"[^/.]*\d[^/.]*", "N", rest.split("/")[-1].lstrip("."))
    if re.match(rf"{_RUN}/", further):
        return "a run's " + "/".join(further.split("/")[3:4] + further.split("/")[4:][-1:])
    if re.match(rf"suites/{_NAME}/", further):
        return "a suite's " + "/".join(further.split("/")[2:])
    return further


def pages_of(root: Path) -> list[str]:
    """Every page of a site, by its path in the folder."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*.html"))


def representatives(root: Path, each: int = 1, at_most: int = 0) -> dict[str, list[str]]:
    """For each kind the largest pages of it, which are those with the most on them.

    Pages of more bytes than ``at_most`` come last, if it is given.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for path in pages_of(root):
        found[kind_of(path)].append(path)
    return {kind: _largest(root, paths, at_most)[:each] for kind, paths in sorted(found.items())}


def page_with(root: Path, pattern: str) -> str:
    """The largest page whose text has such a pattern, for tests of what is on it."""
    return _largest(root, (p for p in pages_of(root) if re.search(pattern, _text(root, p))))[0]


def ids_of(root: Path, path: str) -> set[str]:
    """Where links can lead to in a page."""
    return set(map(unescape, re.findall(r'\sid="([^"]*)"', _text(root, path))))


def _text(root: Path, path: str) -> str:
    return (root / path).read_text(encoding="utf-8")


def _largest(root: Path, paths: Iterable[str], at_most: int = 0) -> list[str]:
    sizes = {path: (root / path).stat().st_size for path in paths}
    fits = {path: not at_most or size <= at_most for path, size in sizes.items()}
    return sorted(sizes, key=lambda path: (not fits[path], -sizes[path], path))
