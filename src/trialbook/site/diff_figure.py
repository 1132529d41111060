"""A parsed patch in the form that templates draw, within what a page can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trialbook.formats.diff import FileDiff, Line
from trialbook.reporting.wording import number_of, size

# Files longer than this are folded; lines beyond the page's whole are left out, and said so.
_FOLD_LINES = 400
_PAGE_LINES = 6000
_PAGE_FILES = 300
_PAGE_BYTES = 4_000_000
_LINE_CHARACTERS = 2000
_MARKS = {"added": "+", "deleted": "-", "context": " ", "hunk": "", "note": ""}


def readable(patch: bytes) -> bytes:
    """As much of a patch as a page is made from: the whole, or its beginning up to a line end."""
    if len(patch) <= _PAGE_BYTES:
        return patch
    return patch[: patch.rfind(b"\n", 0, _PAGE_BYTES) + 1]


def diff_figure(files: Sequence[FileDiff], unread: int, prefix: str = "") -> dict[str, Any]:
    """A patch's files with their lines; anchors are numbers, never names.

    ``unread`` counts the bytes of the patch that were not even looked at. A page with several diffs
    gives each a ``prefix`` of its anchors.
    """
    return {
        "files": _files(files[:_PAGE_FILES], prefix),
        "hidden": max(0, len(files) - _PAGE_FILES),
        "unread": size(unread) if unread else "",
    }


def _files(files: Sequence[FileDiff], prefix: str) -> list[dict[str, Any]]:
    left = _PAGE_LINES
    figures = []
    for number, file in enumerate(files, start=1):
        shown = file.lines[:left]
        left -= len(shown)
        figures.append(
            {
                "anchor": f"{prefix}f{number}",
                "path": file.path,
                "old_path": file.old_path,
                "status": file.status,
                "binary": file.binary,
                "insertions": file.insertions,
                "deletions": file.deletions,
                "notes": file.notes,
                "fold": len(file.lines) > _FOLD_LINES,
                "hidden": len(file.lines) - len(shown),
                "lines": [_line(line, f"{prefix}f{number}") for line in shown],
            }
        )
    return figures


def _line(line: Line, file: str) -> dict[str, Any]:
    text = line.text
    if len(text) > _LINE_CHARACTERS:
        rest = len(text) - _LINE_CHARACTERS
        text = f"{text[:_LINE_CHARACTERS]} [{number_of(rest, 'more character')}]"
    anchor = ""
    if line.new is not None:
        anchor = f"{file}n{line.new}"
    elif line.old is not None:
        anchor = f"{file}o{line.old}"
    return {
        "kind": line.kind,
        "mark": _MARKS[line.kind],
        "text": text,
        "old": line.old,
        "new": line.new,
        "anchor": anchor,
    }
