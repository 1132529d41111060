"""The two views of a run, as exact counts: all scheduled slots, and valid executions only.

*All scheduled* is the operating experience: a slot is what its first trial came to, and slots that
never ran stay in the denominator. *Valid execution* is a diagnosis: a slot is what its last trial
came to, if that is valid, and drops out otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trialbook.model.outcome import NOT_RUN, Outcome
from trialbook.model.plan import SlotKey

# Differential loss: two configurations that lost this many slots more than each other, and at the
# same time this share more, are not comparable among valid executions.
LOSS_SLOTS = 2
LOSS_SHARE = Fraction(5, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotChain:
    """A slot and how its trials ended, first trial first; empty when the slot never ran."""

    slot: SlotKey
    outcomes: tuple[Outcome, ...] = ()

    @property
    def scheduled_outcome(self) -> Outcome | None:
        """What counts among all scheduled slots; None is *not run*."""
        return self.outcomes[0] if self.outcomes else None

    @property
    def valid_outcome(self) -> Outcome | None:
        """What counts among valid executions; None when the slot has no valid trial at its end."""
        last = self.outcomes[-1] if self.outcomes else None
        return last if last is not None and last.valid else None

    @property
    def pending(self) -> bool:
        """Whether a person's verdict is outstanding."""
        return bool(self.outcomes) and self.outcomes[-1] is Outcome.NEEDS_REVIEW


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Accepted slots of all slots that one view counts."""

    accepted: int
    slots: int

    @property
    def rate(self) -> Fraction | None:
        """The share accepted; None when nothing counts."""
        return Fraction(self.accepted, self.slots) if self.slots else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Both views of some slots, and what separates them.

    ``outcomes`` counts slots by their outcome among all scheduled ones (*not_run* included), in the
    order of the vocabulary, zeros left out. ``pending`` slots wait for a person; ``lost`` slots
    ended without a valid trial. ``trials`` counts every trial, ``replacements`` the reruns in it.
    """

    tasks: int
    outcomes: Mapping[str, int]
    all_scheduled: Tally
    valid_execution: Tally
    pending: int
    lost: int
    trials: int
    replacements: int

    @property
    def missing(self) -> int:
        """Slots whose valid outcome is not known."""
        return self.pending + self.lost

    @property
    def bounds(self) -> tuple[Tally, Tally] | None:
        """Worst and best case: the missing slots all not accepted, and all accepted.

        Both are over all scheduled slots; a replaced slot counts with its valid outcome. None when
        nothing was scheduled.
        """
        slots = self.all_scheduled.slots
        if not slots:
            return None
        worst = self.valid_execution.accepted
        return (
            Tally(accepted=worst, slots=slots),
            Tally(accepted=worst + self.missing, slots=slots),
        )


def chains(
    schedule: Iterable[SlotKey], ended: Iterable[tuple[SlotKey, int, Outcome]]
) -> tuple[SlotChain, ...]:
    """One chain for each scheduled slot, in the order of the schedule.

    ``ended`` gives each trial as slot, number of its rerun (0: the first) and outcome, in any
    order. Trials of slots that are not scheduled are left out.
    """
    found: dict[SlotKey, list[tuple[int, Outcome]]] = {}
    for slot, rerun, outcome in ended:
        found.setdefault(slot, []).append((rerun, outcome))
    return tuple(
        SlotChain(
            slot=slot,
            outcomes=tuple(
                outcome for _, outcome in sorted(found.get(slot, ()), key=lambda trial: trial[0])
            ),
        )
        for slot in schedule
    )


def count(slots: Sequence[SlotChain]) -> Counts:
    """Both views of these slots."""
    scheduled = [chain.scheduled_outcome for chain in slots]
    valid = [chain.valid_outcome for chain in slots if chain.valid_outcome is not None]
    pending = sum(chain.pending for chain in slots)
    trials = sum(len(chain.outcomes) for chain in slots)
    order = (*reversed(Outcome), None)
    return Counts(
        tasks=len({chain.slot.task for chain in slots}),
        outcomes={
            outcome.value if outcome else NOT_RUN: scheduled.count(outcome)
            for outcome in order
            if outcome in scheduled
        },
        all_scheduled=Tally(accepted=scheduled.count(Outcome.ACCEPTED), slots=len(slots)),
        valid_execution=Tally(accepted=valid.count(Outcome.ACCEPTED), slots=len(valid)),
        pending=pending,
        lost=len(slots) - len(valid) - pending,
        trials=trials,
        replacements=trials - sum(bool(chain.outcomes) for chain in slots),
    )


def comparable(one: Counts, other: Counts) -> bool:
    """Whether two configurations may be compared among valid executions.

    Not when one lost clearly more slots than the other: what is left is then another sample.
    """
    if not one.all_scheduled.slots or not other.all_scheduled.slots:
        return False
    slots = abs(one.lost - other.lost)
    share = abs(
        Fraction(one.lost, one.all_scheduled.slots)
        - Fraction(other.lost, other.all_scheduled.slots)
    )
    return not (slots >= LOSS_SLOTS and share >= LOSS_SHARE)
