"""The lines that a patch adds and takes out, with their numbers, by file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from trialbook.errors import Refused
from trialbook.formats.patch import FilePatch, parse_patch
from trialbook.model.paths import path_to_text

MOST_BYTES = 20_000_000

Numbered = tuple[int, str]
"""A line with its number, counted from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchLines:
    """``added`` are by the path that a file has afterwards, ``deleted`` by that which it had.

    ``beside`` has the numbers of the lines next to which something was taken out and nothing put
    in its place, by the path afterwards.
    """

    added: dict[str, list[Numbered]] = field(default_factory=dict)
    deleted: dict[str, list[Numbered]] = field(default_factory=dict)
    beside: dict[str, frozenset[int]] = field(default_factory=dict)

    @property
    def added_numbers(self) -> dict[str, frozenset[int]]:
        """The numbers of the added lines, by path."""
        return {path: frozenset(n for n, _ in lines) for path, lines in self.added.items()}

    @property
    def changed_lines(self) -> int:
        """Lines added and taken out."""
        return sum(map(len, (*self.added.values(), *self.deleted.values())))

    @property
    def paths(self) -> frozenset[str]:
        """Every path that has lines."""
        return frozenset({*self.added, *self.deleted})

    def changes(self, place: str) -> bool:
        """Whether a place, ``path:line`` or ``path:first-last`` afterwards, is changed.

        The first and the last line have to be added ones, or next to some that are gone.
        """
        path, _, span = place.rpartition(":")
        first, _, last = span.partition("-")
        if not (first.isdigit() and (last or first).isdigit()):
            return False
        ends = int(first), int(last or first)
        known = {number for number, _ in self.added.get(path, ())} | self.beside.get(path, set())
        return ends[0] <= ends[1] and known.issuperset(ends)


def patch_lines(data: bytes | None) -> PatchLines | None:
    """The lines of a patch; None if there is none, it cannot be read, or it has more than 20 MB."""
    if data is None or len(data) > MOST_BYTES:
        return None
    try:
        return lines_of(parse_patch(data))
    except Refused:
        return None


def lines_of(files: Iterable[FilePatch]) -> PatchLines:
    """The lines of a patch that was read."""
    found = PatchLines()
    for file in files:
        _collect(found.added, file.new_path, file, "+", lambda line: line.new)
        _collect(found.deleted, file.old_path, file, "-", lambda line: line.old)
        if file.new_path is not None and (places := frozenset(_beside(file))):
            path = path_to_text(file.new_path)
            found.beside[path] = found.beside.get(path, frozenset()) | places
    return found


def _beside(file: FilePatch) -> Iterator[int]:
    """The lines afterwards between which lines are gone, where none came instead of them."""
    for hunk in file.hunks:
        # Without a line afterwards, a hunk names the one before it.
        before = hunk.new_start - bool(hunk.new_count)
        for kept, block in groupby(hunk.lines, key=lambda line: line.kind not in ("+", "-")):
            lines = list(block)
            if not kept and all(line.kind == "-" for line in lines):
                yield from (number for number in (before, before + 1) if number)
            before = max([before, *(line.new for line in lines if line.new is not None)])


def _collect(
    into: dict[str, list[Numbered]],
    path: bytes | None,
    file: FilePatch,
    kind: str,
    number: Callable[..., int | None],
) -> None:
    if path is None:
        return
    lines: Sequence[Numbered] = [
        (number(line) or 0, line.text.decode("utf-8", "replace"))
        for hunk in file.hunks
        for line in hunk.lines
        if line.kind == kind
    ]
    if lines:
        into.setdefault(path_to_text(path), []).extend(lines)
