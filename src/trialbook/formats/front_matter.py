"""Markdown with YAML front matter: the two parts of a text, with places that count from its top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trialbook.errors import Problem
from trialbook.formats.authored import parse_document
from trialbook.formats.document import Document, Pointer
from trialbook.formats.editing import edit_text

FENCE = "---"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """A text in two parts. ``prose_line`` is the line, from 1, on which the prose begins."""

    document: Document
    prose: str
    prose_line: int


def parse_front_matter(text: str, shown: str) -> tuple[FrontMatter | None, list[Problem]]:
    """The front matter between two lines of ``---``, and the prose behind it.

    Args:
        text: A whole file.
        shown: Its name in messages.

    Returns:
        Both parts (None if the front matter cannot be read at all), and every mistake of form.
    """
    lines = text.split("\n")
    fences = _fences(lines)
    if not fences or fences[0] != 0:
        message = f"the first line must be `{FENCE}`, and the front matter must follow"
        return None, [Problem(path=shown, line=1, column=1, message=message)]
    if len(fences) == 1:
        message = f"the front matter that begins here has no end; close it with a line `{FENCE}`"
        return None, [Problem(path=shown, line=1, column=1, message=message)]
    end = fences[1]
    if not any(line.strip() for line in lines[1:end]):
        message = "the front matter is empty"
        return None, [Problem(path=shown, line=1, column=1, message=message)]
    # An empty line in the fence's place keeps every line's number.
    document, problems = parse_document("\n".join(["", *lines[1:end], ""]), shown)
    if document is None:
        return None, problems
    prose = "\n".join(lines[end + 1 :])
    return FrontMatter(document=document, prose=prose, prose_line=end + 2), problems


def edit_front_matter(text: str, pointer: Pointer, value: Any) -> str:  # noqa: ANN401
    """The text with one value of its front matter set; all else stays to the last character.

    Raises:
        UserError: the front matter is not YAML, or the value cannot be set alone.
        ValueError: there is no front matter.
    """
    lines = text.split("\n")
    fences = _fences(lines)
    if len(fences) < 2 or fences[0] != 0:  # noqa: PLR2004 - the two fences
        raise ValueError("no front matter")
    inside = "\n".join([*lines[1 : fences[1]], ""])
    return "\n".join([lines[0], edit_text(inside, pointer, value)]) + "\n".join(lines[fences[1] :])


def _fences(lines: Sequence[str]) -> list[int]:
    """The first two lines that are a fence."""
    return [number for number, line in enumerate(lines) if line.rstrip() == FENCE][:2]
