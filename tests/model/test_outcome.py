from __future__ import annotations

import pytest

from trialbook.model.outcome import Outcome

NEVER = {
    "policy_violation",
    "budget_exhausted",
    "agent_timeout",
    "agent_error",
    "no_change",
    "rejected",
    "accepted",
    "needs_review",
}


def test_the_vocabulary_is_closed() -> None:
    assert len(Outcome) == 12


@pytest.mark.parametrize("outcome", list(Outcome))
def test_what_the_agent_did_is_never_rerun(outcome: Outcome) -> None:
    assert outcome.rerunnable == (outcome.value not in NEVER)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_valid_execution_is_never_rerunnable(outcome: Outcome) -> None:
    assert not (outcome.valid and outcome.rerunnable)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_its_sentence(outcome: Outcome) -> None:
    assert outcome.meaning.endswith(".")
