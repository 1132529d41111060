"""A ledger that grew: gates that fail and pass, an alarm, a rule, a changed configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.conftest import git, write_files
from tests.recorded import drift_run, fixed_system, new_ledger, record_run

from trialbook.model.alarm import AlarmKind
from trialbook.model.plan import PlannedGate
from trialbook.model.rule import RuleKind
from trialbook.model.suite import Split
from trialbook.reporting.findings import findings
from trialbook.storage.reader import Reader
from trialbook.storage.shipped_rubrics import shipped_rubrics
from trialbook.workflow.alarming import AlarmRequest, tell_alarm
from trialbook.workflow.resolving import ResolveRequest, resolve

SUITE = "instruction-drift"
BOTH = PlannedGate(baseline="baseline", candidate="candidate")
SWAPPED = PlannedGate(baseline="candidate", candidate="baseline")
INSTRUCTIONS = f"suites/{SUITE}/instructions/new/AGENTS.md"


def name(number: int) -> str:
    """The run of a number: they sort by it."""
    return f"2026113{number}-151526-3f9c"


def record(root: Path, number: int, gate: PlannedGate | None = None, *, model: str = "m1") -> None:
    """The run of `drift_run` under another name; the candidate has this model."""
    plan, bundles = drift_run()
    candidate = replace(plan.configurations["candidate"], model=model, digest=model * 32)
    plan = replace(
        plan,
        run=name(number),
        gate=gate,
        configurations=plan.configurations | {"candidate": candidate},
    )
    record_run(
        root, plan, [replace(one, record=replace(one.record, run=plan.run)) for one in bundles]
    )


def open_held_out(root: Path, number: int) -> None:
    """A run for a decision, in which a task is held out."""
    plan, bundles = drift_run()
    tasks = dict(plan.tasks)
    tasks["rename-user"] = replace(tasks["rename-user"], split=Split.HELD_OUT.value)
    plan = replace(plan, run=name(number), kind="decision", held_out_opened=1, tasks=tasks)
    record_run(
        root, plan, [replace(one, record=replace(one.record, run=plan.run)) for one in bundles]
    )


def grown_ledger(folder: Path) -> Path:
    """The whole of it."""
    root = new_ledger(folder)
    write_files(root, shipped_rubrics())
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "rubrics")
    record(root, 0, BOTH)
    record(root, 1, SWAPPED)
    record(root, 2, replace(SWAPPED, after=(f"{SUITE}/{name(1)}",)))
    record(root, 3, BOTH, model="m2")
    open_held_out(root, 4)
    system = fixed_system()
    because = "twenty <b>more</b> trials pass"
    request = AlarmRequest(run=name(0), kind=AlarmKind.FALSE, because=because, author="Ann <a@x>")
    tell_alarm(root, system, request)
    group = findings(Reader.open(root)).groups[0]
    wish = ResolveRequest(
        group=group.id, kind=RuleKind.RUBRIC, link="rubrics/merge/v1.md", author="Ann <a@x>"
    )
    resolve(root, system, wish)
    return root
