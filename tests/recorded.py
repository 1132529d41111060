"""Ledgers with recorded runs, made by hand: what reports, pages and the terminal are tested on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.conftest import git
from trialbook.formats.records import from_json, to_json
from trialbook.model.change import ChangeRecord
from trialbook.model.digest import sha256
from trialbook.model.grade import Check, Finding, Grade, GradeStatus, GradeSummary
from trialbook.model.outcome import Outcome
from trialbook.model.plan import (
    Plan,
    PlannedConfiguration,
    PlannedSlot,
    PlannedTask,
    PluginUse,
    Runner,
    SlotKey,
    schedule,
)
from trialbook.model.suite import Limits, Network
from trialbook.model.trajectory import Event, EventKind, Trajectory
from trialbook.model.trial import (
    AgentRecord,
    Attempt,
    AuditRow,
    Isolation,
    ProcessEvidence,
    Stage,
    Trial,
    TrialBundle,
    WorkspaceRecord,
)
from trialbook.model.usage import Usage
from trialbook.reporting.report import render_report
from trialbook.reporting.results import RunResults, results_csv
from trialbook.storage.ledger import Ledger
from trialbook.system import System

TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
PATCH = b"""\
diff --git a/src/user_service.py b/src/user_service.py
index 1111111..2222222 100644
--- a/src/user_service.py
+++ b/src/user_service.py
@@ -1,4 +1,8 @@ class UserService:
 class UserService:
-    def create(self, name):
-        return name
+    def create(self, name: str) -> str:
+        self._validate(name)
+        return name
+
+    def _validate(self, name: str) -> None:
+        if not name: raise ValueError("a name is needed")
 # end
"""


def a_configuration(**changes: Any) -> PlannedConfiguration:
    """A planned configuration: the replaying agent, unless said otherwise."""
    plain = PlannedConfiguration(
        description="",
        agent="replay",
        agent_version="1",
        model=None,
        reasoning=None,
        instructions=None,
        approval=None,
        sandbox="none",
        network=Network(),
        environment={},
        pass_environment=(),
        secrets=(),
        limits=Limits(),
        parameters={},
        gives_reference=False,
        digest="c" * 64,
        files={},
        workspaces={},
    )
    return replace(plain, **changes)


def a_task(**changes: Any) -> PlannedTask:
    """A planned task."""
    plain = PlannedTask(
        category="small-fix",
        split="development",
        contamination="constructed",
        source="folder ../../snapshots/service",
        tree=TREE,
        brief_sha256="b" * 64,
        graders=[{"grader": "checks", "parameters": {"file": "checks.yaml"}}],
        limits=Limits(),
        no_change_expected=False,
        must_escalate=False,
        digest="d" * 64,
        files={},
    )
    return replace(plain, **changes)


def a_plan(
    configurations: Mapping[str, PlannedConfiguration],
    tasks: Sequence[str],
    *,
    repetitions: int = 3,
    **changes: Any,
) -> Plan:
    """A plan over these, in the order that its seed gives."""
    plain = Plan(
        run="20261130-151526-3f9c",
        suite="instruction-drift",
        protocol=1,
        status="locked",
        decision="Does one line in AGENTS.md change what comes out?",
        created="2026-11-30T15:15:26.123Z",
        seed="20261130",
        repetitions=repetitions,
        jobs=2,
        accept="checks",
        compare=None,
        rerun={"environment_failure": 1},
        limits_are_failures=True,
        runner=Runner(
            trialbook="0.1.0", python="3.11.7", platform="Linux x86_64", git="2.39.5", cpus=2
        ),
        plugins=(
            PluginUse(group="agents", name="replay", distribution="trialbook", version="0.1.0"),
        ),
        suite_digest="e" * 64,
        files={},
        configurations=dict(configurations),
        tasks={name: a_task() for name in tasks},
    )
    plan = replace(plain, **changes)
    slots = schedule(
        plan.seed, f"{plan.suite}@{plan.protocol}", list(tasks), list(configurations), repetitions
    )
    planned = tuple(
        PlannedSlot(task=s.task, configuration=s.configuration, repetition=s.repetition)
        for s in slots
    )
    return replace(plan, schedule=planned)


def a_grade(answers: Mapping[str, bool], **changes: Any) -> Grade:
    """A grade of the grader ``checks`` with one check for each answer."""
    passed = sum(answers.values())
    plain = Grade(
        grader="checks",
        version="1",
        status=GradeStatus.GRADED,
        accepted=passed == len(answers),
        passed=passed,
        total=len(answers),
        message=f"{passed} of {len(answers)} checks passed",
        checks=tuple(
            Check(
                id=name,
                question=f"Is {name.replace('-', ' ')} so?",
                passed=answer,
                message="found" if answer else "not found",
                evidence=(Finding(text="_validate", file="src/user_service.py", line=3),),
            )
            for name, answer in answers.items()
        ),
    )
    return replace(plain, **changes)


def a_trial(plan: Plan, slot: SlotKey, outcome: Outcome, **changes: Any) -> Trial:
    """A trial's record without grades and change."""
    plain = Trial(
        run=plan.run,
        suite=plan.suite,
        protocol=plan.protocol,
        status=plan.status,
        task=slot.task,
        configuration=slot.configuration,
        repetition=slot.repetition,
        outcome=outcome,
        reason=outcome.meaning,
        plan_commit="a" * 40,
        plan_sha256="a" * 64,
        started="2026-11-30T15:16:00.000Z",
        finished="2026-11-30T15:16:04.500Z",
        agent=AgentRecord(
            name="replay",
            distribution="trialbook",
            version="0.1.0",
            reported_version=None,
            model=None,
        ),
        isolation=Isolation(
            sandbox="none",
            isolated=False,
            network_declared="open",
            network_enforced=False,
            limits_enforced=("minutes",),
            limits_not_enforced=("memory_mb",),
        ),
        workspace=WorkspaceRecord(
            source="folder ../../snapshots/service",
            snapshot_tree=TREE,
            baseline_tree=TREE,
            baseline_commit="f" * 40,
            files=12,
            audit=(
                AuditRow(rule="one commit", ok=True),
                AuditRow(rule="no remote", ok=True, detail="none configured"),
            ),
        ),
        attempts=(
            Attempt(
                session=1,
                attempt=1,
                process=ProcessEvidence(
                    ended="exited",
                    exit_code=0,
                    signal=None,
                    seconds=4.2,
                    leftover_processes=0,
                    stdout_bytes=120,
                    stderr_bytes=0,
                    output_cut=False,
                    max_rss_bytes=12_000_000,
                ),
            ),
        ),
        stages=(
            Stage(name="prepare", started="2026-11-30T15:16:00.000Z", seconds=0.2),
            Stage(name="agent", started="2026-11-30T15:16:00.200Z", seconds=4.2),
            Stage(name="grade", started="2026-11-30T15:16:04.400Z", seconds=0.1),
        ),
    )
    return replace(plain, **changes)


def a_bundle(
    trial: Trial,
    *,
    patch: bytes | None = PATCH,
    grades: Iterable[Grade] = (),
    files: Mapping[str, bytes] | None = None,
) -> TrialBundle:
    """A trial with its files, its record completed by what the files say."""
    found = {
        "sessions/1/attempt-1/prompt.md": b"# Task\n\nNo user without a name.\n",
        "sessions/1/attempt-1/stdout.txt": b"\x1b[32mdone\x1b[0m: one file changed\n",
        "sessions/1/attempt-1/stderr.txt": b"",
    }
    found |= files or {}
    summaries = []
    for grade in grades:
        data = to_json(grade)
        found[f"grades/{grade.grader}.json"] = data
        summaries.append(
            GradeSummary(
                grader=grade.grader,
                status=grade.status.value,
                accepted=grade.accepted,
                passed=grade.passed,
                total=grade.total,
                sha256=sha256(data),
            )
        )
    change = None
    if patch is not None:
        found["change.patch"] = patch
        change = ChangeRecord(
            tree=TREE, patch_sha256=sha256(patch), files=1, insertions=6, deletions=2
        )
    record = replace(
        trial,
        grades=tuple(summaries),
        change=change,
        artifacts={name: sha256(data) for name, data in sorted(found.items())},
    )
    return TrialBundle(record=record, files=found)


def results_of(plan: Plan, bundles: Sequence[TrialBundle]) -> RunResults:
    """Results as they would be read from a ledger with these trials."""
    grades = {
        bundle.record.path: tuple(
            from_json(Grade, bundle.files[f"grades/{use.grader}.json"], use.grader)
            for use in bundle.record.grades
        )
        for bundle in bundles
    }
    trials = sorted((b.record for b in bundles), key=lambda trial: (*trial.slot, trial.rerun))
    return RunResults(plan=plan, trials=tuple(trials), grades=grades)


# --- whole runs ----------------------------------------------------------------------------------

DRIFT_TASKS = ("create-user", "deactivate-user", "rename-user")
_DRIFT_CHECKS: Mapping[str, Mapping[str, bool]] = {
    "create-user": {"service-uses-class": False, "validation-in-service": False, "typed": True},
    "deactivate-user": {"has-docstring": True, "tests-have-ac-markers": False, "typed": True},
    "rename-user": {"tests-reference-ac-ids": False, "no-print": True, "typed": True},
}


def drift_run() -> tuple[Plan, list[TrialBundle]]:
    """Two replayed configurations: 9/9 and 5/9 checks in each of three repetitions."""
    plan = a_plan({"baseline": a_configuration(), "candidate": a_configuration()}, DRIFT_TASKS)
    bundles = []
    for slot in plan.schedule:
        drifted = _DRIFT_CHECKS[slot.task]
        answers = dict.fromkeys(drifted, True) if slot.configuration == "baseline" else drifted
        grade = a_grade(answers)
        outcome = Outcome.ACCEPTED if grade.accepted else Outcome.REJECTED
        reason = f"checks: {grade.message}"
        trial = a_trial(plan, slot.key, outcome, reason=reason)
        bundles.append(a_bundle(trial, grades=[grade]))
    return plan, bundles


def mixed_run() -> tuple[Plan, list[TrialBundle]]:
    """An open run in which nearly everything happens: reruns, outages, reviews, gaps, spend."""
    live = a_configuration(
        agent="claude-code", agent_version="2.1", model="some-model", sandbox="bubblewrap"
    )
    control = a_configuration(agent="command", gives_reference=True, parameters={"argv": ["true"]})
    plan = a_plan(
        {"current": live, "reference": control},
        ["negative-amount", "refund-twice"],
        suite="refunds",
        run="20261201-080000-aaaa",
        status="draft",
        decision="Should small API fixes go to the current workflow?",
    )
    one = Usage(input_tokens=12_345, cost_usd="0.4200", basis="provider_reported", turns=7)
    endings: dict[SlotKey, list[Outcome]] = {
        SlotKey("negative-amount", "current", 1): [Outcome.ACCEPTED],
        SlotKey("negative-amount", "current", 2): [Outcome.ENVIRONMENT_FAILURE, Outcome.ACCEPTED],
        SlotKey("negative-amount", "current", 3): [Outcome.AGENT_TIMEOUT],
        SlotKey("refund-twice", "current", 1): [Outcome.PROVIDER_OUTAGE],
        SlotKey("refund-twice", "current", 2): [Outcome.NEEDS_REVIEW],
        SlotKey("negative-amount", "reference", 1): [Outcome.ACCEPTED],
        SlotKey("negative-amount", "reference", 2): [Outcome.ACCEPTED],
        SlotKey("negative-amount", "reference", 3): [Outcome.ACCEPTED],
        SlotKey("refund-twice", "reference", 1): [Outcome.GRADER_FAILURE],
        SlotKey("refund-twice", "reference", 2): [Outcome.ACCEPTED],
    }
    bundles = []
    for slot, outcomes in endings.items():
        for rerun, outcome in enumerate(outcomes):
            usage = one if slot.configuration == "current" and outcome.valid else Usage()
            trial = a_trial(plan, slot, outcome, rerun=rerun, usage=usage)
            if rerun:
                trial = replace(trial, replaces=slot.path, rerun_reason=outcomes[rerun - 1].value)
            graded = outcome in {Outcome.ACCEPTED, Outcome.NEEDS_REVIEW}
            grades = [a_grade({"validates": True, "typed": True})] if graded else []
            started = outcome is not Outcome.ENVIRONMENT_FAILURE
            bundles.append(a_bundle(trial, patch=PATCH if started else None, grades=grades))
    return plan, bundles


HOSTILE = (
    "<script>alert(1)</script> {{ 7*7 }} {% raw %} \x1b]52;c;aGk=\x07\x1b[31mred\x1b[0m \x00 "
    "\u202egnp.exe </pre> | ` [x](javascript:alert(1)) @everyone #1 http://evil.example/ "
    "\x9b31m \u2028 Outcome: accepted"
)
"""Text as an agent might leave it anywhere."""

HOSTILE_PATCH = (
    b"diff --git a/src/a.py b/src/a.py\n"
    b"new file mode 120000\n"
    b"--- /dev/null\n"
    b'+++ "b/<img src=x onerror=alert(1)>\\033[2J.py"\n'
    b"@@ -0,0 +1,3 @@\n"
    b"+diff --git a/x b/x\n"
    b"+" + HOSTILE.encode() + b"\n"
    b"+\xff\xfe \x00 </code></td></table><script>alert(2)</script>\n"
    b"\\ No newline at end of file\n"
)


def _hostile_trajectory() -> Trajectory:
    commands = ["git push --force " + HOSTILE, HOSTILE, HOSTILE]
    events = [
        Event(number=number, kind=EventKind.COMMAND, command=text, exit_code=1, call="same")
        for number, text in enumerate(commands, 1)
    ]
    return Trajectory(client=HOSTILE, model=HOSTILE, events=tuple(events))


def hostile_run() -> tuple[Plan, list[TrialBundle]]:
    """A run whose agent and whose authors put hostile text wherever there is room."""
    configuration = a_configuration(
        agent="command", description=HOSTILE, parameters={"argv": [HOSTILE]}
    )
    plan = a_plan(
        {"evil": configuration},
        ["task"],
        repetitions=1,
        suite="hostile",
        run="20261202-080000-bbbb",
        decision=HOSTILE,
    )
    plan = replace(
        plan,
        accept=HOSTILE,
        tasks={"task": a_task(category=HOSTILE, source=HOSTILE, contamination=HOSTILE)},
    )
    grade = a_grade({"one": False}, message=HOSTILE, log=HOSTILE)
    check = replace(
        grade.checks[0],
        question=HOSTILE,
        message=HOSTILE,
        evidence=(
            Finding(text=HOSTILE, file="../../../etc/passwd", line=1),
            Finding(text=HOSTILE, file='"<img src=x onerror=alert(1)>\\033[2J.py"', line=2),
        ),
    )
    trial = a_trial(
        plan,
        SlotKey("task", "evil", 1),
        Outcome.REJECTED,
        reason=HOSTILE,
        usage=Usage(cost_usd="NaN", basis=HOSTILE),
        agent=AgentRecord(
            name="command",
            distribution="trialbook",
            version="1",
            reported_version=HOSTILE,
            model=HOSTILE,
        ),
    )
    hostile = HOSTILE.encode()
    files = {
        "sessions/1/attempt-1/stdout.txt": hostile * 50,
        "sessions/1/attempt-1/stderr.txt": b"\xff\xfe\x00" + hostile,
        "sessions/1/attempt-1/<b>{{ 7*7 }}.txt": hostile,
        "sessions/1/attempt-1/index.html": b"<script>alert(3)</script>",
        "sessions/1/attempt-1/trajectory.json": to_json(_hostile_trajectory()),
        "sessions/2/attempt-1/trajectory.json": b"{" + hostile,
    }
    bundle = a_bundle(
        trial, patch=HOSTILE_PATCH, grades=[replace(grade, checks=(check,))], files=files
    )
    return plan, [bundle]


def fixed_system() -> System:
    """The outside world with a clock that stands still."""
    return System(now=lambda: datetime(2026, 11, 30, 15, 15, 26, tzinfo=UTC))


def new_ledger(folder: Path) -> Path:
    """A ledger without runs, in a git repository of its own."""
    (folder / "suites" / "instruction-drift").mkdir(parents=True)
    (folder / "suites" / "instruction-drift" / "suite.yaml").write_text("suite: x\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    return folder


def record_run(
    root: Path, plan: Plan, bundles: Sequence[TrialBundle], *, closed: bool = True
) -> None:
    """Commit a run as the program does: the plan, each trial, the results."""
    ledger = Ledger.open(root, fixed_system())
    base = f"runs/{plan.path}"
    ledger.commit({f"{base}/plan.json": to_json(plan)}, f"plan {plan.path}\n")
    for bundle in bundles:
        folder = f"{base}/{bundle.record.path}"
        files = {f"{folder}/{name}": data for name, data in bundle.files.items()}
        files[f"{folder}/trial.json"] = to_json(bundle.record)
        ledger.commit(files, f"trial {bundle.record.path}\n")
    if closed:
        results = results_of(plan, bundles)
        ledger.commit(
            {
                f"{base}/results.csv": results_csv(plan, results.trials),
                f"{base}/report.md": render_report(results),
            },
            f"results {plan.path}\n",
        )
    ledger.close()


def full_ledger(folder: Path) -> Path:
    """A ledger with all three runs; the mixed one is open."""
    root = new_ledger(folder)
    record_run(root, *drift_run())
    record_run(root, *mixed_run(), closed=False)
    record_run(root, *hostile_run())
    return root
