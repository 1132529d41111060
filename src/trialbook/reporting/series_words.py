"""How answers and hints about a series are put together, so that all of them read alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from trialbook.model.series import Answer, Said

MOST = 20
"""So many pieces of evidence are named; the rest is counted."""


class HintGiven(NamedTuple):
    """Where to look, in words and places. It is no answer."""

    text: str
    places: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """One line."""
        return f"{self.text}: {', '.join(some(self.places, 5))}" if self.places else self.text


def some(evidence: Iterable[str], most: int = MOST) -> tuple[str, ...]:
    """The first pieces, and how many more there are."""
    found = list(evidence)
    more = (f"and {len(found) - most} more",) if len(found) > most else ()
    return (*found[:most], *more)


def answered(
    rubric: str, name: str, said: Said, evidence: tuple[str, ...] = (), hint: str = ""
) -> Answer:
    """An answer of the program."""
    return Answer(question=f"{rubric}/{name}", answer=said, evidence=evidence, hint=hint)
