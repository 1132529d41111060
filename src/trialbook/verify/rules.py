"""What verification needs from other rooms, passed in: how outcomes, patches and results follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trialbook.errors import TrialbookError
from trialbook.model.grade import Grade
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.trial import Trial


class NotHere(TrialbookError):
    """Something that a check needs is not on this machine; the hint says how to get it."""


Grades = Mapping[str, Grade]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The program's own ways to derive what a ledger states.

    ``decide`` gives the outcome that an acceptance policy makes of grades. ``patched`` gives the
    tree that a trial's patch, given with its sha256, makes of its recorded baseline; it raises
    `NotHere` without the baseline's objects, and `Refused` for a patch that does not apply.
    ``chained`` gives, with the same errors, the tree after each of several patches in turn.
    ``derived`` gives results and report, by name, of a run without corrections, from its trials and
    their grades by path.
    """

    decide: Callable[[str, Grades], Outcome]
    patched: Callable[[Plan, Trial, bytes, str], str]
    chained: Callable[[Plan, Trial, Sequence[bytes]], Sequence[str]]
    derived: Callable[[Plan, Sequence[Trial], Mapping[str, tuple[Grade, ...]]], Mapping[str, bytes]]
