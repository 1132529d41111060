"""Packets: what a reviewer gets to judge, under a name that does not say which trial it is.

A packet's name is the first twelve digits of ``HMAC-SHA256(key, item 0x1F reviewer)``, with ``0x1F
"repeat"`` behind for the second time; the key is the sha256 of the plan's bytes. So everybody with
the ledger can tell which packet is which, and nobody has to write it down; the names are there to
keep a file's path from telling a reviewer what the answers must not depend on.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trialbook.model.acceptance import PolicyError, parse_policy
from trialbook.model.deciding import is_judge
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.suite import ALL
from trialbook.model.trial import Trial

REFERENCE = "reference"
NEAR_MISS = "near-miss:"
"""The answers of known worth: the one that is right, and what those that are wrong begin with."""

_JUDGED = frozenset({Outcome.ACCEPTED, Outcome.REJECTED, Outcome.NEEDS_REVIEW})
_DIGITS = 12
_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Item:
    """What is judged: a trial by its folder in the run, or a control by its task and name."""

    task: str
    trial: str = ""
    control: str = ""

    @property
    def known_good(self) -> bool | None:
        """Of a control, whether it is right; None of a trial."""
        return self.control == REFERENCE if self.control else None

    def id(self, run: str) -> str:
        """What the packet's name is made from; ``run`` is ``<suite>/<run>``."""
        return f"{run}/{self.trial or f'{self.task}/control:{self.control}'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """One thing to review for one reviewer; ``repeat`` for the second time."""

    id: str
    item: Item
    reviewer: str
    repeat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Packets:
    """The packets of one run.

    ``trials`` are the trials as they stand without people, by what their graders and amendments
    say.
    """

    plan: Plan
    plan_sha256: str
    trials: tuple[Trial, ...]

    def of(self, reviewer: str) -> tuple[Packet, ...]:
        """What a reviewer has to review, in the order of that reviewer."""
        judgement = self.plan.judgement
        if judgement is None:
            return ()
        trials = self._trials()
        found = [self._packet(one, reviewer) for one in (*trials, *self._controls(len(trials)))]
        again = self._first(trials, judgement.repeats, "repeat", reviewer)
        found += [self._packet(one, reviewer, repeat=True) for one in again]
        return tuple(sorted(found, key=lambda packet: packet.id))

    def every(self, reviewer: str) -> dict[str, Packet]:
        """Every packet that the reviewer could ever have got, by its name."""
        known = [Item(task=trial.task, trial=trial.path) for trial in self.trials]
        known += self._all_controls()
        packets = [
            self._packet(one, reviewer, repeat=repeat)
            for one in known
            for repeat in ((False, True) if one.trial else (False,))
        ]
        return {packet.id: packet for packet in packets}

    def most_repeats(self) -> int:
        """How many packets a reviewer may have got twice, at most."""
        judgement = self.plan.judgement
        return 0 if judgement is None else _share(judgement.repeats, len(self.trials))

    def _trials(self) -> list[Item]:
        judgement = self.plan.judgement
        wanted = [
            trial
            for trial in self.trials
            if trial.change is not None
            and judgement is not None
            and (judgement.reviewed == ALL or accepted_by_tests(self.plan, trial))
        ]
        return [Item(task=trial.task, trial=trial.path) for trial in wanted]

    def _controls(self, trials: int) -> Sequence[Item]:
        judgement = self.plan.judgement
        if judgement is None or not trials:
            return ()
        return self._first(self._all_controls(), judgement.controls, "control", "", of=trials)

    def _all_controls(self) -> list[Item]:
        return [
            Item(task=task, control=control)
            for task, planned in self.plan.tasks.items()
            for control in planned.controls
        ]

    def _first(
        self, items: Iterable[Item], share: float, why: str, whose: str, *, of: int | None = None
    ) -> Sequence[Item]:
        """A share of the items, drawn by hash so that nobody chooses."""
        drawn = sorted(items, key=lambda item: self._hash(item.id(self.plan.path), why, whose))
        return drawn[: _share(share, len(drawn) if of is None else of)]

    def _packet(self, item: Item, reviewer: str, *, repeat: bool = False) -> Packet:
        parts = (item.id(self.plan.path), reviewer, *(("repeat",) if repeat else ()))
        name = self._hash(*parts)[:_DIGITS]
        return Packet(id=name, item=item, reviewer=reviewer, repeat=repeat)

    def _hash(self, *parts: str) -> str:
        text = _SEPARATOR.join(parts).encode("utf-8", "surrogateescape")
        return hmac.new(bytes.fromhex(self.plan_sha256), text, hashlib.sha256).hexdigest()


def _share(share: float, of: int) -> int:
    """A share of a number, at least one if there is a share at all; what floats add is cut off."""
    return math.ceil(round(min(max(share, 0.0), 1.0) * of, 9))


def accepted_by_tests(plan: Plan, trial: Trial) -> bool:
    """Whether the graders of a trial, judges and people left out, do not rule it out."""
    if trial.outcome not in _JUDGED or not trial.grades:
        return False
    answers = {
        grade.grader: grade.accepted
        for grade in trial.grades
        if grade.accepted is not None and not is_judge(grade.grader)
    }
    try:
        return parse_policy(plan.accept).settle(answers) is not False
    except PolicyError:
        return False
