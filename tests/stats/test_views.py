from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.model.outcome import NOT_RUN, Outcome
from trialbook.model.plan import SlotKey
from trialbook.stats.views import Counts, SlotChain, Tally, chains, comparable, count


def slots(*endings: tuple[Outcome, ...]) -> list[SlotChain]:
    return [
        SlotChain(slot=SlotKey("task", "current", number), outcomes=outcomes)
        for number, outcomes in enumerate(endings, start=1)
    ]


def lost(number: int, of: int) -> Counts:
    """Counts of a configuration that lost so many slots and had the rest accepted."""
    rest = [(Outcome.ACCEPTED,)] * (of - number)
    return count(slots(*[(Outcome.ENVIRONMENT_FAILURE,)] * number, *rest))


ENDINGS = st.lists(st.lists(st.sampled_from(list(Outcome)), max_size=3).map(tuple), max_size=20)


def test_the_worked_example_of_both_views() -> None:
    counts = count(
        slots(
            *[(Outcome.ACCEPTED,)] * 24,
            *[(Outcome.REJECTED,)] * 4,
            (Outcome.ENVIRONMENT_FAILURE,),
            (Outcome.PROVIDER_OUTAGE,),
        )
    )
    assert counts.all_scheduled == Tally(accepted=24, slots=30)
    assert counts.valid_execution == Tally(accepted=24, slots=28)
    assert counts.all_scheduled.rate == Fraction(4, 5)
    assert counts.valid_execution.rate == Fraction(6, 7)
    assert counts.bounds == (Tally(accepted=24, slots=30), Tally(accepted=26, slots=30))
    assert counts.lost == 2
    assert counts.pending == 0


def test_slots_that_never_ran_stay_in_the_denominator() -> None:
    # 225 tests, of which two rows published only 223 and still divided by 225.
    counts = count(slots(*[(Outcome.ACCEPTED,)] * 139, *[(Outcome.REJECTED,)] * 84, (), ()))
    assert counts.all_scheduled.rate == Fraction(139, 225)
    assert counts.valid_execution.rate == Fraction(139, 223)
    assert counts.outcomes == {"accepted": 139, "rejected": 84, NOT_RUN: 2}


def test_a_replaced_slot_counts_by_its_first_trial_and_by_its_last() -> None:
    counts = count(slots((Outcome.PROVIDER_OUTAGE, Outcome.ACCEPTED), (Outcome.REJECTED,)))
    assert counts.all_scheduled == Tally(accepted=0, slots=2)
    assert counts.valid_execution == Tally(accepted=1, slots=2)
    assert counts.bounds == (Tally(accepted=1, slots=2), Tally(accepted=1, slots=2))
    assert counts.trials == 3
    assert counts.replacements == 1


def test_a_slot_whose_last_trial_is_not_valid_drops_out() -> None:
    counts = count(slots((Outcome.CANCELLED, Outcome.GRADER_FAILURE)))
    assert counts.valid_execution == Tally(accepted=0, slots=0)
    assert counts.valid_execution.rate is None
    assert counts.lost == 1


def test_a_slot_that_waits_for_a_person_is_neither_lost_nor_counted() -> None:
    counts = count(slots((Outcome.NEEDS_REVIEW,), (Outcome.ACCEPTED,)))
    assert counts.pending == 1
    assert counts.lost == 0
    assert counts.valid_execution == Tally(accepted=1, slots=1)
    assert counts.bounds == (Tally(accepted=1, slots=2), Tally(accepted=2, slots=2))


def test_nothing_scheduled_has_no_rate_and_no_bounds() -> None:
    counts = count([])
    assert counts.all_scheduled.rate is None
    assert counts.bounds is None


@pytest.mark.parametrize(
    ("one", "other", "fine"),
    [
        ((0, 30), (1, 30), True),  # one slot more is never enough
        ((0, 30), (2, 30), False),  # two slots and 6.7 points
        ((0, 100), (4, 100), True),  # four slots, but only 4 points
        ((0, 40), (2, 40), False),  # exactly two slots and 5 points
        ((1, 10), (2, 10), True),  # 10 points, but only one slot
        ((3, 30), (3, 30), True),
    ],
)
def test_a_clearly_different_loss_makes_valid_executions_incomparable(
    one: tuple[int, int], other: tuple[int, int], *, fine: bool
) -> None:
    assert comparable(lost(*one), lost(*other)) is fine
    assert comparable(lost(*other), lost(*one)) is fine


def test_a_configuration_without_slots_compares_with_nothing() -> None:
    assert not comparable(count([]), lost(0, 3))


@given(ENDINGS)
def test_counts_add_up(endings: list[tuple[Outcome, ...]]) -> None:
    counts = count(slots(*endings))
    assert sum(counts.outcomes.values()) == len(endings) == counts.all_scheduled.slots
    assert counts.valid_execution.slots + counts.missing == len(endings)
    assert counts.trials == sum(map(len, endings))
    assert counts.outcomes.get("accepted", 0) == counts.all_scheduled.accepted


@given(ENDINGS)
def test_the_bounds_hold_whatever_the_missing_slots_would_have_been(
    endings: list[tuple[Outcome, ...]],
) -> None:
    counts = count(slots(*endings))
    if counts.bounds is None:
        return
    low, high = counts.bounds
    assert high.accepted - low.accepted == counts.missing
    for missing in (Outcome.ACCEPTED, Outcome.REJECTED):
        filled = [e if e and e[-1].valid else (*e, missing) for e in endings]
        settled = count(slots(*filled)).valid_execution
        assert low.accepted <= settled.accepted <= high.accepted


@given(ENDINGS)
def test_without_reruns_the_lower_bound_is_the_all_scheduled_view(
    endings: list[tuple[Outcome, ...]],
) -> None:
    counts = count(slots(*[outcomes[:1] for outcomes in endings]))
    assert counts.bounds is None or counts.bounds[0] == counts.all_scheduled


@given(ENDINGS, st.randoms())
def test_the_order_of_records_changes_nothing(
    endings: list[tuple[Outcome, ...]], chance: random.Random
) -> None:
    schedule = [SlotKey("task", "current", number) for number in range(1, len(endings) + 1)]
    ended = [
        (slot, rerun, outcome)
        for slot, outcomes in zip(schedule, endings, strict=True)
        for rerun, outcome in enumerate(outcomes)
    ]
    chance.shuffle(ended)
    found = chains(schedule, [*ended, (SlotKey("other", "current", 1), 0, Outcome.ACCEPTED)])
    assert list(found) == slots(*endings)
