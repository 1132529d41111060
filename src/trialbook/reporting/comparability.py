"""Which runs may be set side by side: what measured them has to be the same, and to be fixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from trialbook.model.incident import Decision
from trialbook.model.plan import DRAFT, Plan
from trialbook.reporting.results import RunResults
from trialbook.reporting.wording import listed

Key = TypeVar("Key")


def obstacles(plans: Sequence[Plan]) -> list[str]:
    """Why the numbers of some runs do not compare, one sentence each; empty if they do.

    A draft compares with nothing. The others have to be of one suite and one protocol number,
    locked by the same lock, and to have the same tasks.
    """
    found = [
        f"{plan.path} is a draft" + (f": {plan.draft_because}" if plan.draft_because else "")
        for plan in plans
        if plan.status == DRAFT
    ]
    suites = {plan.suite for plan in plans}
    if len(suites) > 1:
        return [*found, f"they are of different suites: {listed(sorted(suites))}"]
    protocols = _runs_by(plans, lambda plan: plan.protocol)
    if len(protocols) > 1:
        told = listed(f"{number} ({listed(runs)})" for number, runs in sorted(protocols.items()))
        return [*found, f"they are of different protocol numbers: {told}"]
    locks = _runs_by([plan for plan in plans if plan.lock], _lock_of)
    if len(locks) > 1:
        told = listed(f"{digest[:12]} ({listed(runs)})" for digest, runs in sorted(locks.items()))
        found.append(f"the same number was locked more than once: {told}")
    every = {task for plan in plans for task in plan.tasks}
    left_out = {plan.path: sorted(every - plan.tasks.keys()) for plan in plans}
    found += [f"{path} leaves out {listed(tasks)}" for path, tasks in left_out.items() if tasks]
    return found


def invalidated(runs: Sequence[RunResults]) -> list[str]:
    """The runs whose protocol number was invalidated by an incident, one sentence each."""
    return [
        f"{run.plan.path} was invalidated by the incident {incident.id}"
        for run in runs
        for incident in run.incidents
        if incident.decision is Decision.INVALIDATE
    ]


def graded_apart(runs: Sequence[RunResults]) -> list[str]:
    """That runs were graded with different files, if they were: some of them again and others not.

    One sentence, or none.
    """
    found: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for run in runs:
        digests = {task: planned.digest for task, planned in run.plan.tasks.items()}
        if run.regrades:
            digests |= run.regrades[-1].tasks
        found.setdefault(tuple(sorted(digests.items())), []).append(run.plan.run)
    if len(found) < 2 or not any(run.regrades for run in runs):  # noqa: PLR2004 - two ways
        return []
    told = listed(listed(names) for names in found.values())
    return [f"their grades come from different files, some graded again later: {told}"]


def _lock_of(plan: Plan) -> str:
    return plan.lock.sha256 if plan.lock else ""


def _runs_by(plans: Sequence[Plan], key: Callable[[Plan], Key]) -> dict[Key, list[str]]:
    found: dict[Key, list[str]] = {}
    for plan in plans:
        found.setdefault(key(plan), []).append(plan.run)
    return found
