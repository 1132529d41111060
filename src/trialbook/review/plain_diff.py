"""A change as plain text, for people who read in their editor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trialbook.formats.diff import FileDiff
from trialbook.formats.visible import visible

_MARKS = {"added": "+", "deleted": "-", "context": " "}


def plain_diff(files: Iterable[FileDiff]) -> str:
    """The files with their lines; what acts instead of showing is written as an escape."""
    return "".join(f"{line}\n" for file in files for line in _lines(file))


def _lines(file: FileDiff) -> Iterator[str]:
    was = "" if file.old_path is None else f"{visible(file.old_path)} -> "
    kind = f"{file.status}, binary" if file.binary else file.status
    yield f"=== {was}{visible(file.path)} ({kind}, +{file.insertions} -{file.deletions})"
    yield from (visible(note) for note in file.notes)
    for line in file.lines:
        yield f"{_MARKS.get(line.kind, '')}{visible(line.text)}"
    yield ""
