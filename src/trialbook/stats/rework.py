"""How much of what one session added the next one took out again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Lines = Mapping[str, Sequence[tuple[int, str]]]
"""Lines with their numbers, by the path of their file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rework:
    """Lines that a session added, and those of them that the next took out again.

    ``places`` are where the next one took them out, each ``path:line`` of what it began with.
    ``share`` is null where nothing was added.
    """

    session: int
    added: int
    taken_out: int
    places: tuple[str, ...] = ()

    @property
    def share(self) -> float | None:
        """Of the added lines, those that are gone again."""
        return self.taken_out / self.added if self.added else None


def rework(session: int, added: Lines, deleted: Lines) -> Rework:
    """The rework of a session: a line counts if its file and its words are the same.

    Args:
        session: The session's number.
        added: What it added.
        deleted: What the next one took out, by the path that the file had before.
    """
    gone: list[str] = []
    total = 0
    for path, lines in sorted(added.items()):
        words = [text.strip() for _, text in lines if text.strip()]
        total += len(words)
        left = Counter(words)
        for number, text in deleted.get(path, ()):
            if text.strip() and left[text.strip()] > 0:
                left[text.strip()] -= 1
                gone.append(f"{path}:{number}")
    return Rework(session=session, added=total, taken_out=len(gone), places=tuple(gone))
