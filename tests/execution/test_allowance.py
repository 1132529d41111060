from __future__ import annotations

from typing import Any

import pytest

from trialbook.execution.allowance import allowance
from trialbook.model.suite import GivenLimits, Limits
from trialbook.model.trial import Attempt
from trialbook.model.usage import Usage


def an_attempt(seconds: float | None = 60.0, **usage: Any) -> Attempt:
    return Attempt(
        session=1, attempt=1, process=None, seconds=seconds, usage=Usage(**usage) if usage else None
    )


def test_a_first_attempt_has_the_trials_limits_and_its_own_within_them() -> None:
    trial = Limits(minutes=10, usd=2.0, turns=None)
    own: GivenLimits = {"minutes": 3, "usd": 5, "turns": 7}
    limits = allowance(trial, own, ()).limits
    assert (limits.minutes, limits.usd, limits.turns) == (3.0, 2.0, 7)
    assert allowance(trial, None, ()).limits == trial


def test_a_second_attempt_has_what_the_first_one_left() -> None:
    trial = Limits(minutes=10, usd=0.3, turns=10, tokens=1000)
    first = an_attempt(90.0, cost_usd="0.1", turns=4, input_tokens=300, output_tokens=100)
    found = allowance(trial, {"turns": 20, "tokens": 50}, [first])
    assert found.limits == Limits(minutes=8.5, usd=0.2, turns=6, tokens=50)
    assert (found.unknown, found.used_up) == ((), "")


@pytest.mark.parametrize(
    ("limits", "first", "told"),
    [
        (Limits(minutes=1), an_attempt(60.0), "the trial's 1 minutes are used up"),
        (Limits(minutes=1), an_attempt(59.5), "the trial's 1 minutes are used up"),
        (Limits(usd=0.1), an_attempt(cost_usd="0.1"), "the trial's 0.1 US dollars are used up"),
        (Limits(turns=3), an_attempt(model_calls=4), "the trial's 3 turns are used up"),
    ],
)
def test_a_limit_that_is_used_up_leaves_no_second_attempt(
    limits: Limits, first: Attempt, told: str
) -> None:
    assert allowance(limits, None, [first]).used_up == told


def test_of_what_is_not_known_nobody_says_what_is_left() -> None:
    trial = Limits(minutes=10, usd=1.0, tokens=100)
    found = allowance(trial, None, [an_attempt(input_tokens=5)])
    assert found.unknown == ("usd", "tokens")
    assert (found.limits.usd, found.limits.tokens) == (1.0, 100)


def test_without_ceilings_there_is_nothing_to_share() -> None:
    trial = Limits(minutes=None)
    assert allowance(trial, None, [an_attempt(None)]).limits == trial
