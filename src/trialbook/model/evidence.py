"""What was seen of rules being broken, or of an answer lying about: one shape for all of it.

The look at a change, the audits of what an agent can read, and the log of what a proxy let through
all give `Sighting`s; a trial's record holds them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class SightingSeverity(StrEnum):
    """What a sighting means for its trial.

    A *violation* makes the outcome a policy violation, or keeps an agent from being started; a
    *flag* is for a person who reviews, and decides nothing.
    """

    VIOLATION = "violation"
    FLAG = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One thing that was seen, and where.

    ``kind`` says what, in one word with underscores (``test_deleted``, ``network_refused``).
    ``path`` is in text form (see `trialbook.model.paths`), relative to what ``detail`` speaks of:
    the workspace unless it says otherwise. ``line`` counts from 1. ``excerpt`` quotes the place and
    may have been written by an agent. All that is unknown, or makes no sense, is null.
    """

    kind: str
    severity: SightingSeverity
    detail: str
    path: str | None = None
    line: int | None = None
    excerpt: str | None = None

    @property
    def place(self) -> str:
        """Where: ``src/a.py:3``, or an empty text."""
        if self.path is None:
            return ""
        return self.path if self.line is None else f"{self.path}:{self.line}"

    def __str__(self) -> str:
        """One line for people: ``src/a.py:3: a test was deleted``."""
        return f"{self.place}: {self.detail}" if self.place else self.detail


def violations(sightings: Iterable[Sighting] | None) -> list[Sighting]:
    """Those that make a violation."""
    return [one for one in sightings or () if one.severity is SightingSeverity.VIOLATION]
