"""A plan against itself: its place, its schedule, and the digests that it states."""

from __future__ import annotations

from trialbook.model.digest import digest_of_files
from trialbook.model.plan import SCHEDULE_METHOD, Plan, schedule
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings


def check_plan(plan: Plan, run: str, path: str, findings: Findings) -> bool:
    """Check a plan by itself; gives whether its schedule is the one that its seed gives.

    Args:
        plan: The plan.
        run: ``<suite>/<run>``, as its folder is named.
        path: The plan's file, for faults.
        findings: Where faults go.
    """
    if plan.path != run:
        findings.fault(Code.PLAN_MISPLACED, f"it is the plan of {plan.path}", path=path)
    _check_digests(plan, path, findings)
    problem = _schedule_problem(plan)
    if problem is not None:
        findings.fault(Code.SCHEDULE_DIFFERS, problem, path=path)
    return problem is None


def _schedule_problem(plan: Plan) -> str | None:
    """Where the schedule is not what its seed gives, in words, or None."""
    if plan.schedule_method != SCHEDULE_METHOD:
        return f"the method {plan.schedule_method!r} is not known here"
    size = len(plan.tasks) * len(plan.configurations) * max(plan.repetitions, 0)
    if size != len(plan.schedule):
        return f"the seed gives {size} slots, the plan has {len(plan.schedule)}"
    wanted = schedule(
        plan.seed,
        f"{plan.suite}@{plan.protocol}",
        list(plan.tasks),
        list(plan.configurations),
        plan.repetitions,
    )
    pairs = enumerate(zip(plan.schedule, wanted, strict=True), start=1)
    place = next((number for number, (one, other) in pairs if one.key != other), None)
    return None if place is None else f"the seed gives another order from slot {place} on"


def _check_digests(plan: Plan, path: str, findings: Findings) -> None:
    everything = dict(plan.files)
    parts = {f"configuration {name}": part for name, part in plan.configurations.items()}
    parts |= {f"task {name}": part for name, part in plan.tasks.items()}  # type: ignore[misc]
    for what, part in parts.items():
        everything |= part.files
        _check_digest(what, part.digest, part.files, path, findings)
    _check_digest("suite", plan.suite_digest, everything, path, findings)


def _check_digest(
    what: str, digest: str, files: dict[str, str], path: str, findings: Findings
) -> None:
    made = digest_of_files(files)
    if made != digest:
        detail = f"the digest of the {what} is {digest}, its files give {made}"
        findings.fault(Code.SUITE_DIGEST_DIFFERS, detail, path=path)
