"""A plan against itself: its place, its schedule, and the digests that it states."""

from __future__ import annotations

from trialbook.model.digest import digest_of_files
from trialbook.model.plan import SCHEDULE_METHOD, Plan, PlannedSlot, schedule
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings


def check_plan(plan: Plan, run: str, path: str, findings: Findings) -> None:
    """Check a plan by itself.

    Args:
        plan: The plan.
        run: ``<suite>/<run>``, as its folder is named.
        path: The plan's file, for faults.
        findings: Where faults go.
    """
    if plan.path != run:
        findings.fault(Code.PLAN_MISPLACED, f"it is the plan of {plan.path}", path=path)
    _check_schedule(plan, path, findings)
    _check_digests(plan, path, findings)


def _check_schedule(plan: Plan, path: str, findings: Findings) -> None:
    if plan.schedule_method != SCHEDULE_METHOD:
        detail = f"the method {plan.schedule_method!r} is not known here"
        findings.fault(Code.SCHEDULE_DIFFERS, detail, path=path)
        return
    wanted = tuple(
        PlannedSlot(task=slot.task, configuration=slot.configuration, repetition=slot.repetition)
        for slot in schedule(
            plan.seed,
            f"{plan.suite}@{plan.protocol}",
            list(plan.tasks),
            list(plan.configurations),
            plan.repetitions,
        )
    )
    if plan.schedule == wanted:
        return
    pairs = enumerate(zip(plan.schedule, wanted, strict=False))
    shorter = min(len(plan.schedule), len(wanted))
    place = next((number for number, (one, other) in pairs if one != other), shorter)
    detail = (
        f"the seed {plan.seed} gives {len(wanted)} slots, the plan has {len(plan.schedule)}; they "
        f"differ from slot {place + 1} on"
    )
    findings.fault(Code.SCHEDULE_DIFFERS, detail, path=path)


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
