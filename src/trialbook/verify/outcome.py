"""Whether an outcome follows from a trial's grades and the runner's evidence."""

from __future__ import annotations

from trialbook.model.acceptance import PolicyError
from trialbook.model.deciding import COUNTS_AFTER_LIMIT
from trialbook.model.evidence import violations
from trialbook.model.outcome import GOES_BEFORE_VIOLATIONS, Outcome
from trialbook.model.plan import Plan
from trialbook.model.process import Ended
from trialbook.model.trial import Trial
from trialbook.verify.rules import Grades, Rules

_LIMITS = frozenset({Outcome.AGENT_TIMEOUT, Outcome.BUDGET_EXHAUSTED})
_JUDGED = frozenset({Outcome.ACCEPTED, Outcome.REJECTED, Outcome.NEEDS_REVIEW})


def outcome_problem(plan: Plan, trial: Trial, grades: Grades, rules: Rules) -> str | None:
    """Why the outcome cannot be what it is, in words, or None.

    Args:
        plan: The run's plan.
        trial: The record.
        grades: Its grades by grader, as their files say.
        rules: How grades decide.
    """
    if violations(trial.sightings) and trial.outcome not in GOES_BEFORE_VIOLATIONS:
        # What was seen goes before what the graders say.
        problem = None
        if trial.outcome is not Outcome.POLICY_VIOLATION:
            problem = f"it is {trial.outcome.value}, and it has sightings that are violations"
    elif grades:
        problem = _by_grades(plan, trial, grades, rules)
    else:
        problem = _without_grades(trial)
    return problem or _by_evidence(plan, trial)


def _by_grades(plan: Plan, trial: Trial, grades: Grades, rules: Rules) -> str | None:
    try:
        decided = rules.decide(plan.accept, grades)
    except PolicyError as error:
        return f"the plan's acceptance expression cannot be read: {error}"
    if not trial.graded_anyway:
        cut_off = trial.outcome is Outcome.CANCELLED and decided is Outcome.GRADER_FAILURE
        if trial.outcome is decided or cut_off:
            return None
        return f"it is {trial.outcome.value}, and the grades give {decided.value}"
    allowed = set(_LIMITS)
    passes = decided in COUNTS_AFTER_LIMIT and not plan.limits_are_failures
    if decided is Outcome.POLICY_VIOLATION or passes:
        allowed = {decided}
    if trial.outcome in allowed:
        return None
    names = " or ".join(sorted(outcome.value for outcome in allowed))
    return f"it is {trial.outcome.value}, and after a limit the grades give {names}"


def _without_grades(trial: Trial) -> str | None:
    if trial.outcome in _JUDGED:
        return f"it is {trial.outcome.value} without any grade"
    if trial.graded_anyway:
        return "it is said to be graded after a limit, without any grade"
    return None


def _by_evidence(plan: Plan, trial: Trial) -> str | None:
    """What the evidence rules out. What only the agent's adapter knew is believed."""
    task = plan.tasks.get(trial.task)
    asks_for_change = task is not None and not task.no_change_expected
    change = trial.change
    nothing = change is not None and change.by_agent.files == 0 and not change.omitted
    if trial.outcome is Outcome.NO_CHANGE and not nothing:
        return "it is no_change, and files are changed"
    if trial.outcome in _JUDGED and nothing and asks_for_change:
        return f"it is {trial.outcome.value}, and nothing is changed where a change is asked for"
    # Of several attempts the last one says how the trial ended.
    ends = {one.process.ended for one in trial.attempts[-1:] if one.process is not None}
    if trial.outcome in _JUDGED and not trial.graded_anyway and Ended.TIMED_OUT.value in ends:
        return f"it is {trial.outcome.value}, and its process was ended by the time limit"
    return None
