from __future__ import annotations

import pytest

from trialbook.model.escalation import Condition, conditions_held
from trialbook.model.outcome import Outcome

ALL = tuple(Condition)


@pytest.mark.parametrize("outcome", [*Outcome, None])
def test_only_ends_that_are_the_agents_own_call_for_anything(outcome: Outcome | None) -> None:
    wanted = {
        Outcome.AGENT_ERROR: (Condition.AGENT_ERROR,),
        Outcome.NO_CHANGE: (Condition.NO_CHANGE,),
        Outcome.AGENT_TIMEOUT: (Condition.LIMIT_REACHED,),
        Outcome.BUDGET_EXHAUSTED: (Condition.LIMIT_REACHED,),
    }
    assert conditions_held(ALL, outcome, ()) == (wanted.get(outcome, ()) if outcome else ())


def test_checks_call_for_it_where_one_grader_says_no_and_not_where_it_has_no_answer() -> None:
    assert conditions_held(ALL, None, [True, False]) == (Condition.CHECKS_FAIL,)
    assert conditions_held(ALL, None, [True, None]) == ()
    both = (Condition.CHECKS_FAIL, Condition.LIMIT_REACHED)
    assert conditions_held(ALL, Outcome.AGENT_TIMEOUT, [False]) == both


def test_what_is_not_declared_does_not_hold() -> None:
    assert conditions_held([Condition.NO_CHANGE], Outcome.AGENT_ERROR, [False]) == ()
