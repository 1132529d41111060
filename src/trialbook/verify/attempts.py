"""The attempts of a trial against the plan, against each other, and against what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialbook.model.agent import OUTCOME_OF_END, AgentEnd
from trialbook.model.escalation import conditions_held
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan, PlannedConfiguration, PlannedEscalation, PlannedTask
from trialbook.model.trial import Attempt, Trial
from trialbook.model.usage import Usage, added

_MOST = 2
# What a trial may end as wherever it was when it ended.
_ANYWHERE = frozenset({Outcome.CANCELLED, Outcome.ENVIRONMENT_FAILURE})
_LIMITS = frozenset({Outcome.AGENT_TIMEOUT, Outcome.BUDGET_EXHAUSTED})
_BY_END_ALONE = frozenset({*OUTCOME_OF_END.values(), Outcome.NO_CHANGE}) - _ANYWHERE


def attempt_faults(plan: Plan, trial: Trial) -> Iterator[str]:
    """What cannot be as it is in the record's attempts, one sentence each."""
    yield from _sum(trial)
    yield from _ends(trial)
    planned = plan.configurations.get(trial.configuration)
    if planned is None or not trial.attempts:
        return
    if planned.escalation is None:
        numbers = [(one.session, one.attempt) for one in trial.attempts]
        more = any(number > 1 for _, number in numbers) or len(set(numbers)) < len(numbers)
        if more or any(one.after is not None for one in trial.attempts):
            yield "it has more than one attempt, and the plan allows one"
        return
    if trial.agent != trial.attempts[-1].agent:
        yield "its agent is not that of its last attempt"
    for session in sorted({one.session for one in trial.attempts}):
        group = [one for one in trial.attempts if one.session == session]
        yield from _escalated(plan, trial, planned, group)


def _escalated(
    plan: Plan, trial: Trial, planned: PlannedConfiguration, group: Sequence[Attempt]
) -> Iterator[str]:
    """The attempts of one session of a configuration that may make two."""
    if planned.escalation is None:
        return
    if [one.attempt for one in group] not in ([1], [1, 2]):
        yield f"it has {len(group)} attempts, and the plan allows {_MOST}"
        return
    named = [
        (trial.configuration, planned.agent, planned.model),
        (planned.escalation.to.name, planned.escalation.to.agent, planned.escalation.to.model),
    ]
    for attempt, (name, agent, model) in zip(group, named, strict=False):
        ran = attempt.agent
        said = (attempt.configuration, ran and ran.name, ran and ran.model)
        if said != (name, agent, model):
            yield f"attempt {attempt.attempt} ran {said}, planned is {(name, agent, model)}"
    yield from _decision(plan, trial, planned.escalation, group)


def _sum(trial: Trial) -> Iterator[str]:
    """What the trial used is what its attempts used; older records do not tell them apart."""
    parts = [one.usage for one in trial.attempts if one.usage is not None]
    whole = bool(parts) and len(parts) == len(trial.attempts)
    if any(one.interrupted for one in trial.sessions):
        parts.append(Usage())
    if whole and added(parts) != trial.usage:
        yield "its usage is not the sum of what its attempts used"


def _ends(trial: Trial) -> Iterator[str]:
    for attempt in trial.attempts:
        known = attempt.end is not None and attempt.started is not None
        if not known or attempt.end not in list(AgentEnd):
            continue
        end = AgentEnd(attempt.end or "")
        allowed: Sequence[Outcome | None] = [OUTCOME_OF_END.get(end)]
        if end is AgentEnd.FINISHED:
            allowed = [None, Outcome.NO_CHANGE]
        # A trial that was stopped while a change was looked at has none yet.
        if trial.outcome in _ANYWHERE:
            allowed = [*allowed, None]
        if attempt.outcome not in allowed:
            yield f"attempt {attempt.attempt} ended as {end.value}, and is {attempt.outcome}"
    yield from _last(trial)


def _last(trial: Trial) -> Iterator[str]:
    """How the trial ended, against how its last attempt did."""
    last = trial.attempts[-1] if trial.attempts else None
    if last is None or last.started is None or trial.outcome in _ANYWHERE:
        return
    if trial.outcome is Outcome.POLICY_VIOLATION:
        return
    if trial.sessions and {last.outcome, trial.outcome} & {Outcome.NO_CHANGE}:
        return  # The last session's change is not that of the series.
    if last.outcome is None and trial.outcome in _BY_END_ALONE:
        yield f"it is {trial.outcome.value}, and its last attempt came to its end"
    fixed = last.outcome is not None and last.outcome not in _LIMITS
    if fixed and last.outcome is not trial.outcome:
        yield f"it is {trial.outcome.value}, and its last attempt is {last.outcome}"


def _decision(
    plan: Plan, trial: Trial, planned: PlannedEscalation, group: Sequence[Attempt]
) -> Iterator[str]:
    """Whether a second attempt was called for, and made, as the plan has it."""
    first, second = group[0], group[1] if group[1:] else None
    after = first.after
    if after is None:
        if second is not None or trial.outcome not in _ANYWHERE:
            yield "it does not say whether a second attempt was called for"
        return
    task = plan.tasks.get(trial.task)
    visible = () if task is None else _visible(task, first.session)
    hidden = [one.grader for one in after.checks if one.grader not in visible]
    if hidden:
        yield f"a grader that agents may not know of decided about an attempt: {hidden[0]}"
    held = conditions_held(planned.when, first.outcome, [one.accepted for one in after.checks])
    if held != after.held:
        yield (f"conditions that held are {_said(after.held)}, and the attempt gives {_said(held)}")
    if after.escalated and not held:
        yield "a second attempt was called for, and none of what was declared held"
    if after.escalated is not (second is not None) and not (
        after.escalated and trial.outcome in _ANYWHERE
    ):
        made = "was" if second is not None else "was not"
        yield f"a second attempt {made} made, and the decision says otherwise"
    if second is not None:
        yield from _second(first, second, planned)


def _visible(task: PlannedTask, session: int) -> Sequence[str]:
    """The graders whose checks an agent may know of in a session."""
    if not task.sessions:
        return task.visible
    if session > len(task.sessions):
        return ()
    return list(task.sessions[session - 1].graders.get("checks", {}))


def _second(first: Attempt, second: Attempt, planned: PlannedEscalation) -> Iterator[str]:
    if second.workspace != planned.workspace:
        yield f"its second workspace is {second.workspace}, planned is {planned.workspace}"
    if first.change is None:
        yield "what its first attempt left is not on record"
    if second.after is not None:
        yield "its second attempt speaks of a third one"


def _said(conditions: Sequence[str]) -> str:
    return ", ".join(conditions) or "none"
