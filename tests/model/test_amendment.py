from __future__ import annotations

import itertools

import pytest

from trialbook.model.amendment import ONLY_JUDGED, OutcomeCorrection, correction_problem
from trialbook.model.outcome import Outcome

PAIRS = [(was, now) for was, now in itertools.product(Outcome, Outcome) if was is not now]
EVIDENCE = ("HTTP 529 in stderr.txt",)


def problem(was: Outcome, now: Outcome, evidence: tuple[str, ...] = ()) -> str | None:
    return correction_problem(OutcomeCorrection(was=was, now=now, evidence=evidence))


@pytest.mark.parametrize(("was", "now"), PAIRS)
def test_nothing_that_graders_say_can_be_said_by_an_amendment(was: Outcome, now: Outcome) -> None:
    said = problem(was, now, EVIDENCE)
    assert (said is not None) == (now in ONLY_JUDGED)


@pytest.mark.parametrize(("was", "now"), PAIRS)
def test_a_valid_execution_becomes_replaceable_only_with_evidence(
    was: Outcome, now: Outcome
) -> None:
    if now in ONLY_JUDGED:
        return
    takes_evidence = now.rerunnable and (was.valid or was is Outcome.NEEDS_REVIEW)
    assert (problem(was, now) is not None) == takes_evidence
    assert (problem(was, now, ("  ",)) is not None) == takes_evidence


@pytest.mark.parametrize("outcome", list(Outcome))
def test_an_outcome_is_not_corrected_to_itself(outcome: Outcome) -> None:
    assert "already" in (problem(outcome, outcome, EVIDENCE) or "")
