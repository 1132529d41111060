"""Finds pieces of text that stand in two places: a hint that something was written twice.

Lines are compared by their tokens, so that spaces and comments do not matter, and names do. What is
found is where to look; whether it is the same logic is for a person to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LEAST_LINES = 6
"""How many lines that say something have to be the same."""

_LEAST_TOKENS = 20
_MOST_LINES = 200_000
_MOST_PLACES = 50  # of one and the same window: beyond that it is a pattern of the format
_MOST_CLONES = 50
_LONGEST = 1_000  # of a line that is looked at
_TOKEN = re.compile(
    r"""(?P<comment>\#.*|//.*|/\*.*?\*/)"""
    r"""|(?P<kept>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\w+|[^\w\s])"""
)
_IMPORT = re.compile(r"(?:from\s+\S+\s+)?import\b|#include\b|using\b|require\b|package\b")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Clone:
    """The same lines in two places; ``lines`` counts those that say something.

    ``first_end`` and ``second_end`` are the last line of each.
    """

    first: str
    first_line: int
    first_end: int
    second: str
    second_line: int
    second_end: int
    lines: int


@dataclass(frozen=True, slots=True)
class _Line:
    path: str
    number: int
    tokens: tuple[str, ...]


def clones(files: Mapping[str, str], added: Mapping[str, frozenset[int]]) -> list[Clone]:
    """The clones of which at least one side was added.

    Args:
        files: Texts by their paths.
        added: The numbers of the lines that were added, by path.
    """
    lines = [line for path in sorted(files) for line in _lines(path, files[path])][:_MOST_LINES]
    places: dict[tuple[tuple[str, ...], ...], list[int]] = {}
    for at in range(len(lines) - LEAST_LINES + 1):
        window = lines[at : at + LEAST_LINES]
        if window[0].path == window[-1].path:
            tokens = tuple(line.tokens for line in window)
            if sum(map(len, tokens)) >= _LEAST_TOKENS:
                places.setdefault(tokens, []).append(at)
    found: list[Clone] = []
    covered: set[tuple[int, int]] = set()
    for one, two in sorted(_pairs(places)):
        if (one, two) in covered:
            continue
        length = _length(lines, one, two)
        covered.update((one + step, two + step) for step in range(length))
        sides = (lines[one : one + length], lines[two : two + length])
        if any(line.number in added.get(line.path, ()) for side in sides for line in side):
            found.append(_clone(*sides))
    return found[:_MOST_CLONES]


def cloned_share(found: Sequence[Clone], added: Mapping[str, frozenset[int]]) -> tuple[int, int]:
    """How many of the added lines stand in a clone, and how many lines were added."""
    inside: set[tuple[str, int]] = set()
    for one in found:
        for path, first, last in (
            (one.first, one.first_line, one.first_end),
            (one.second, one.second_line, one.second_end),
        ):
            known = added.get(path, frozenset())
            inside.update((path, number) for number in known if first <= number <= last)
    return len(inside), sum(map(len, added.values()))


def _lines(path: str, text: str) -> Iterator[_Line]:
    """The lines that say something. Imports do not: they are alike everywhere."""
    for number, line in enumerate(text.split("\n"), 1):
        tokens = tuple(match["kept"] for match in _TOKEN.finditer(line[:_LONGEST]) if match["kept"])
        says = any(token[0].isalnum() or token[0] in "_\"'" for token in tokens)
        if says and not _IMPORT.match(line.strip()):
            yield _Line(path, number, tokens)


def _pairs(
    places: Mapping[tuple[tuple[str, ...], ...], Sequence[int]],
) -> Iterator[tuple[int, int]]:
    for found in places.values():
        for index, one in enumerate(found[:_MOST_PLACES]):
            yield from ((one, two) for two in found[index + 1 : _MOST_PLACES])


def _length(lines: Sequence[_Line], one: int, two: int) -> int:
    """How far both go on alike; never so far that they overlap."""
    length = 0
    while two + length < len(lines) and one + length < two:
        first, second = lines[one + length], lines[two + length]
        same_files = (first.path, second.path) == (lines[one].path, lines[two].path)
        if not same_files or first.tokens != second.tokens:
            break
        length += 1
    return length


def _clone(first: Sequence[_Line], second: Sequence[_Line]) -> Clone:
    return Clone(
        first=first[0].path,
        first_line=first[0].number,
        first_end=first[-1].number,
        second=second[0].path,
        second_line=second[0].number,
        second_end=second[-1].number,
        lines=len(first),
    )
