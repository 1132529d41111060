from __future__ import annotations

import pytest

from trialbook.model.acceptance import parse_policy
from trialbook.model.deciding import Answer, decided
from trialbook.model.outcome import Outcome
from trialbook.model.trust import TrustLevel


def suite(accepted: bool | None) -> Answer:
    status = "failed" if accepted is None else "graded"
    said = f"acceptance {4 if accepted else 3}/4"
    return Answer(
        grader="acceptance", status=status, accepted=accepted, said=said, message="it broke"
    )


def judge(verdict: str | None, trust: TrustLevel = TrustLevel.GATING) -> Answer:
    return Answer(
        grader="judge-strict",
        status="failed" if verdict is None else "graded",
        accepted=None if verdict is None else verdict == "MERGE",
        said=f"judge-strict {verdict}",
        message="no verdict: a tie",
        verdict=verdict,
        trust=trust,
    )


LOW, MIDDLE = TrustLevel.UNCALIBRATED, TrustLevel.ADVISORY
FOUR = "acceptance 4/4"
BOTH = "acceptance and judge-strict:merge"


@pytest.mark.parametrize(
    ("policy", "answers", "review", "outcome", "reason"),
    [
        (
            BOTH,
            [suite(True), judge("MERGE")],
            None,
            "accepted",
            "acceptance 4/4; judge-strict MERGE",
        ),
        (BOTH, [suite(True), judge("FIX")], None, "rejected", "acceptance 4/4; judge-strict FIX"),
        (BOTH, [suite(False), judge("MERGE", LOW)], None, "rejected", "acceptance 3/4"),
        (
            BOTH,
            [suite(True), judge("MERGE", MIDDLE)],
            None,
            "needs_review",
            "acceptance 4/4; judge-strict MERGE, which does not count while the judge is advisory",
        ),
        (
            BOTH,
            [suite(True), judge(None)],
            None,
            "needs_review",
            "acceptance 4/4; judge-strict gave no usable answer: no verdict: a tie",
        ),
        (
            BOTH,
            [suite(True)],
            None,
            "needs_review",
            "acceptance 4/4; judge-strict has not judged it",
        ),
        (BOTH, [suite(None), judge("MERGE")], None, "grader_failure", "acceptance: it broke"),
        (BOTH, [judge("MERGE")], None, "grader_failure", "no grade from acceptance"),
        ("acceptance or judge-strict:merge", [suite(True)], None, "accepted", "acceptance 4/4"),
        (
            "acceptance and not judge-strict:reject",
            [suite(True), judge("FIX")],
            None,
            "accepted",
            "acceptance 4/4; judge-strict FIX",
        ),
        (
            "acceptance and review:merge",
            [suite(True)],
            None,
            "needs_review",
            "acceptance 4/4; people have not agreed on it yet",
        ),
        (
            "acceptance and review:merge",
            [suite(True)],
            "MERGE",
            "accepted",
            "acceptance 4/4; review MERGE",
        ),
        (
            "acceptance and review:merge",
            [suite(True)],
            "FIX",
            "rejected",
            "acceptance 4/4; review FIX",
        ),
        (
            "acceptance and (judge-strict:merge or review:merge)",
            [suite(True), judge("MERGE", LOW)],
            "MERGE",
            "accepted",
            "acceptance 4/4; review MERGE",
        ),
        ("acceptance", [suite(True), judge("REJECT")], None, "accepted", "acceptance 4/4"),
    ],
)
def test_who_decides_and_what_is_said_of_it(
    policy: str, answers: list[Answer], review: str | None, outcome: str, reason: str
) -> None:
    assert decided(parse_policy(policy), answers, review) == (Outcome(outcome), reason)
