"""Records of two attempts that do not agree with their plan, their files or each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.recorded import a_configuration, a_grade, a_plan, a_task, a_trial

from trialbook.model.change import AttemptChange
from trialbook.model.escalation import Condition
from trialbook.model.grade import GradeSummary
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan, PlannedEscalation, PlannedStage
from trialbook.model.trial import AfterAttempt, AgentRecord, Attempt, Trial
from trialbook.model.usage import Usage
from trialbook.verify.attempts import attempt_faults

CHEAP = AgentRecord(
    name="replay", distribution="d 1", version="1", reported_version=None, model="small"
)
STRONG = replace(CHEAP, model="large")
SAID_NO = GradeSummary(
    grader="checks", status="graded", accepted=False, passed=0, total=1, sha256="0" * 64
)


def plan(*when: Condition) -> Plan:
    to = PlannedStage(
        name="strong",
        agent="replay",
        agent_version="1",
        model="large",
        reasoning=None,
        approval=None,
        environment={},
        pass_environment=(),
        secrets=(),
        limits={},
        parameters={},
    )
    escalation = PlannedEscalation(
        when=when, workspace="carried", tell=None, first_limits={}, to=to
    )
    made = a_plan({"chain": a_configuration(model="small", escalation=escalation)}, ["t"])
    return replace(made, tasks={"t": a_task(visible=("checks",))})


def an_attempt(number: int, **more: Any) -> Attempt:
    plain = Attempt(
        session=1,
        attempt=number,
        process=None,
        end="finished",
        usage=Usage(turns=number),
        started="2026-11-30T15:16:00.000Z",
        seconds=1.0,
        configuration="chain" if number == 1 else "strong",
        agent=CHEAP if number == 1 else STRONG,
        workspace=None if number == 1 else "carried",
    )
    return replace(plain, **more)


FIRST = an_attempt(
    1,
    change=AttemptChange(tree="0" * 40, files=1, insertions=1, deletions=0),
    after=AfterAttempt(
        escalated=True,
        held=(Condition.CHECKS_FAIL,),
        reason="visible checks fail",
        checks=(SAID_NO,),
    ),
)


def trial(made: Plan, *attempts: Attempt, **more: Any) -> Trial:
    record = a_trial(made, made.schedule[0].key, Outcome.ACCEPTED)
    record = replace(
        record,
        attempts=attempts,
        agent=attempts[-1].agent,
        usage=Usage(turns=len(attempts) * 2 - 1),
    )
    return replace(record, **more)


def faults(*attempts: Attempt, **more: Any) -> list[str]:
    made = plan(Condition.CHECKS_FAIL, Condition.AGENT_ERROR)
    return list(attempt_faults(made, trial(made, *attempts, **more)))


def after(**more: Any) -> Attempt:
    assert FIRST.after is not None
    return replace(FIRST, after=replace(FIRST.after, **more))


def test_an_honest_record_has_no_faults() -> None:
    assert faults(FIRST, an_attempt(2)) == []
    quiet = after(escalated=False, held=(), checks=(replace(SAID_NO, accepted=True),))
    assert faults(replace(quiet, change=None)) == []


HIDDEN = replace(SAID_NO, grader="acceptance")


@pytest.mark.parametrize(
    ("attempts", "more", "told"),
    [
        ((FIRST, an_attempt(2)), {"usage": Usage(turns=2)}, "not the sum"),
        ((FIRST, an_attempt(2)), {"agent": CHEAP}, "not that of its last attempt"),
        ((FIRST,), {"usage": Usage(turns=1)}, "a second attempt was not made"),
        ((after(escalated=False), an_attempt(2)), {}, "a second attempt was made"),
        ((after(held=()), an_attempt(2)), {}, "conditions that held are none"),
        ((after(held=(Condition.NO_CHANGE,)), an_attempt(2)), {}, "held are no_change"),
        ((after(checks=(replace(SAID_NO, accepted=True),)), an_attempt(2)), {}, "gives none"),
        ((after(checks=(HIDDEN,)), an_attempt(2)), {}, "may not know of decided"),
        ((replace(FIRST, after=None), an_attempt(2)), {}, "does not say whether"),
        ((replace(FIRST, change=None), an_attempt(2)), {}, "left is not on record"),
        ((FIRST, an_attempt(2, workspace="fresh")), {}, "workspace is fresh, planned is carried"),
        ((FIRST, an_attempt(2, agent=CHEAP)), {}, "planned is ('strong', 'replay', 'large')"),
        ((FIRST, an_attempt(2, configuration="x")), {}, "attempt 2 ran ('x'"),
        ((FIRST, an_attempt(2, after=FIRST.after)), {}, "speaks of a third one"),
        ((FIRST, an_attempt(2), an_attempt(3)), {"usage": Usage(turns=6)}, "the plan allows 2"),
        ((FIRST, an_attempt(2, end="error")), {}, "ended as error, and is None"),
        (
            (FIRST, an_attempt(2, end="error", outcome=Outcome.AGENT_ERROR)),
            {},
            "it is accepted, and its last attempt is agent_error",
        ),
        ((FIRST, an_attempt(2)), {"outcome": Outcome.NO_CHANGE}, "came to its end"),
    ],
)
def test_what_contradicts_itself_is_a_fault(
    attempts: tuple[Attempt, ...], more: dict[str, Any], told: str
) -> None:
    assert any(told in one for one in faults(*attempts, **more)), faults(*attempts, **more)


def test_a_second_attempt_that_nobody_planned_is_a_fault() -> None:
    made = a_plan({"chain": a_configuration()}, ["t"])
    assert list(attempt_faults(made, trial(made, FIRST, an_attempt(2)))) == [
        "it has more than one attempt, and the plan allows one"
    ]


@pytest.mark.parametrize("outcome", [Outcome.CANCELLED, Outcome.ENVIRONMENT_FAILURE])
def test_a_trial_may_be_cut_off_anywhere(outcome: Outcome) -> None:
    cut: list[Callable[[], list[str]]] = [
        lambda: faults(FIRST, usage=Usage(turns=1), outcome=outcome),
        lambda: faults(
            replace(FIRST, after=None, change=None), usage=Usage(turns=1), outcome=outcome
        ),
    ]
    assert [look() for look in cut] == [[], []]


def test_records_of_older_versions_are_not_held_against_what_they_do_not_have() -> None:
    made = a_plan({"chain": a_configuration()}, ["t"])
    old = Attempt(session=1, attempt=1, process=None)
    record = replace(trial(made, old), agent=CHEAP, usage=Usage(turns=9))
    assert list(attempt_faults(made, record)) == []
    assert a_grade({"a": True}).accepted
