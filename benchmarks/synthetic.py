"""Ledgers of any size that look like real ones, and verify: made from numbers, always the same.

A trial has the files, and about the sizes, of those that the suites shipped with trialbook commit:
a record of 6 kB, a patch of 2 kB to two of the thirteen files of a small service, the grades of two
graders (3 kB and 1.5 kB), a brief of 1 kB, little output. Every trial has its own patch, final
state, times and messages. Agents that write long transcripts make more bytes of the same number of
objects, which is less work for trialbook beside what git has to do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import run
from trialbook.formats.records import to_json
from trialbook.grading.accept import decide
from trialbook.model.acceptance import parse_policy
from trialbook.model.digest import digest_of_files, sha256
from trialbook.model.grade import Check, Grade, GradeStatus
from trialbook.model.plan import (
    Plan,
    PlannedConfiguration,
    PlannedSlot,
    PlannedTask,
    Runner,
    SlotKey,
    schedule,
)
from trialbook.model.suite import Limits, Network
from trialbook.model.trial import (
    AgentRecord,
    Attempt,
    AuditRow,
    ChangeRecord,
    GradeSummary,
    Isolation,
    ProcessEvidence,
    Stage,
    Trial,
    TrialBundle,
    Usage,
    WorkspaceRecord,
)
from trialbook.storage.folders import IdsOnly
from trialbook.storage.ledger import RUN_ATTRIBUTES
from trialbook.storage.objects import DIRECTORY, REGULAR, TreeEntry, blob_oid

TASKS, CONFIGURATIONS, REPETITIONS = 100, ("candidate", "current"), 5
TRIALS_PER_RUN = TASKS * len(CONFIGURATIONS) * REPETITIONS

_RULES = re.findall(
    r"\w+",
    "git_folder head refs packed_refs tags remote_branches stash notes replacements alternates "
    "shallow reflogs stray_heads other_folders commit_graph hooks remotes rewrites credentials "
    "includes config special_files files baseline objects extra_files tree links",
)
_WORDS = re.findall(
    r"\w+",
    "the a value list order check price total refund negative amount service returns raises test "
    "before after when user account empty string number parse write line file path error",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One trial as the ledger takes it."""

    record: Trial
    files: Mapping[str, bytes]
    message: str


def start(folder: Path) -> Path:
    """A bare repository with a suite in it and no runs."""
    seed = folder.with_name(folder.name + "-start")
    for path, data in _BASELINE.items():
        source = seed / "suites/refunds/snapshots/service" / path
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_bytes(data)
    (seed / "suites/refunds/suite.yaml").write_bytes(_SUITE)
    run("git", "init", "-q", "-b", "main", cwd=seed)
    run("git", "add", "-A", cwd=seed)
    identity = ("-c", "user.name=x", "-c", "user.email=x@localhost")
    run("git", *identity, "commit", "-q", "-m", "start", cwd=seed)
    run("git", "clone", "-q", "--bare", str(seed), str(folder), cwd=folder.parent)
    return folder


def plan_of(number: int) -> Plan:
    """The plan of the run with this number."""
    limits = Limits()
    files = {"suites/refunds/suite.yaml": sha256(_SUITE)}
    seed = str(number)
    names = _task_names()
    slots = schedule(seed, "refunds@3", names, list(CONFIGURATIONS), REPETITIONS)
    return Plan(
        run=f"202611{1 + number // 24 % 28:02}T{number % 24:02}0000Z-{number:06x}",
        suite="refunds",
        protocol=3,
        status="draft",
        decision="Should small fixes go to the candidate?",
        created="2026-11-30T15:00:00.000Z",
        seed=seed,
        repetitions=REPETITIONS,
        jobs=2,
        accept="acceptance and checks",
        compare=None,
        rerun={},
        limits_are_failures=True,
        runner=Runner(trialbook="0", python="3.11", platform="linux", git=None, cpus=2),
        plugins=(),
        suite_digest=digest_of_files(files),
        files=files,
        configurations={name: _configuration(limits) for name in CONFIGURATIONS},
        tasks={name: _task(name, limits) for name in names},
        schedule=tuple(
            PlannedSlot(
                task=slot.task, configuration=slot.configuration, repetition=slot.repetition
            )
            for slot in slots
        ),
    )


def plan_files(plan: Plan) -> dict[str, bytes]:
    """What the first commit of a run holds."""
    base = f"runs/{plan.path}"
    return {f"{base}/plan.json": to_json(plan), f"{base}/.gitattributes": RUN_ATTRIBUTES}


def entries(plan: Plan, commit: str) -> Iterator[Entry]:
    """Every trial of a run whose plan a commit added, in the order of its schedule."""
    digest = sha256(to_json(plan))
    for slot in plan.schedule:
        yield _entry(plan, slot.key, (commit, digest))


def _task_names() -> list[str]:
    return [f"{_hex(str(number), 6)}-{_WORDS[number % len(_WORDS)]}" for number in range(TASKS)]


def _entry(plan: Plan, slot: SlotKey, planned: tuple[str, str]) -> Entry:
    bundle = _bundle(plan, slot, planned, f"{plan.run}/{slot.trial_path(0)}")
    base = f"runs/{plan.path}/{bundle.record.path}"
    files = {f"{base}/{name}": data for name, data in bundle.files.items()}
    files[f"{base}/trial.json"] = to_json(bundle.record)
    outcome = bundle.record.outcome
    return Entry(
        record=bundle.record,
        files=files,
        message=f"trial {slot.task} {slot.configuration} r{slot.repetition}: {outcome}\n\n"
        f"Run: {plan.path}\nSlot: {slot.trial_path(0)}\nOutcome: {outcome}\n",
    )


def _bundle(plan: Plan, slot: SlotKey, planned: tuple[str, str], seed: str) -> TrialBundle:
    minute = _number(seed + "m", 60)
    patch, tree = _change(seed)
    grades = tuple(_grade(name, seed, total) for name, total in _CHECKS.items())
    files = {f"grades/{grade.grader}.json": to_json(grade) for grade in grades}
    files["change.patch"] = patch
    files["sessions/1/attempt-1/prompt.md"] = _brief(slot.task)
    files["sessions/1/attempt-1/stdout.txt"] = f"{_prose(seed, 80)}\n".encode()
    by_name = {grade.grader: grade for grade in grades}
    outcome, reason = decide(parse_policy(plan.accept), by_name)
    record = Trial(
        run=plan.run,
        suite=plan.suite,
        protocol=plan.protocol,
        status=plan.status,
        task=slot.task,
        configuration=slot.configuration,
        repetition=slot.repetition,
        outcome=outcome,
        reason=reason,
        plan_commit=planned[0],
        plan_sha256=planned[1],
        started=f"2026-11-30T15:{minute:02}:00.{_number(seed, 1000):03}Z",
        finished=f"2026-11-30T16:{minute:02}:30.{_number(seed + 'f', 1000):03}Z",
        agent=AgentRecord(
            name="command",
            distribution="trialbook 0",
            version="1",
            reported_version="2.1",
            model="model",
        ),
        isolation=_ISOLATION,
        workspace=WorkspaceRecord(
            source=_SOURCE,
            snapshot_tree=_TREE,
            baseline_tree=_TREE,
            baseline_commit=_hex("baseline", 40),
            files=len(_BASELINE),
            audit=tuple(AuditRow(rule=rule, ok=True) for rule in _RULES),
        ),
        attempts=(Attempt(session=1, attempt=1, process=_process(seed)),),
        usage=Usage(
            input_tokens=_number(seed + "i", 90_000),
            output_tokens=_number(seed + "o", 9_000),
            cost_usd=f"{_number(seed + '$', 300) / 100:.2f}",
            basis="client",
        ),
        change=ChangeRecord(
            tree=tree,
            patch_sha256=sha256(patch),
            files=len(_CHANGED),
            insertions=_ADDED * len(_CHANGED),
            deletions=0,
        ),
        grades=tuple(_summary(grade) for grade in grades),
        stages=tuple(
            Stage(
                name=name, started="2026-11-30T15:00:00.000Z", seconds=_number(seed + name, 9) / 9
            )
            for name in ("prepare", "agent", "capture", "grade")
        ),
        artifacts={name: sha256(data) for name, data in sorted(files.items())},
    )
    return TrialBundle(record=record, files=files)


_ISOLATION = Isolation(
    sandbox="none",
    isolated=False,
    network_declared="open",
    network_enforced=False,
    limits_enforced=("minutes", "output_mb"),
    limits_not_enforced=("memory_mb",),
)


def _process(seed: str) -> ProcessEvidence:
    return ProcessEvidence(
        ended="exited",
        exit_code=0,
        signal=None,
        seconds=_number(seed + "s", 900) / 7,
        leftover_processes=0,
        stdout_bytes=500,
        stderr_bytes=0,
        output_cut=False,
        max_rss_bytes=_number(seed + "r", 90_000_000),
    )


def _grade(name: str, seed: str, total: int) -> Grade:
    """One in four trials passes everything."""
    passed = _number(seed, 4)
    passed = total if passed == 3 else passed  # noqa: PLR2004 - the last of the four
    checks = tuple(
        Check(
            id=f"check-{number}",
            question=f"Is {_prose(name + str(number), 10)}?",
            passed=number < passed,
            message=_prose(seed + name + str(number), 24),
        )
        for number in range(total)
    )
    return Grade(
        grader=name,
        version="1",
        status=GradeStatus.GRADED,
        accepted=passed == len(checks),
        passed=passed,
        total=len(checks),
        message=f"{passed} of {len(checks)}",
        checks=checks,
    )


def _summary(grade: Grade) -> GradeSummary:
    return GradeSummary(
        grader=grade.grader,
        status=grade.status.value,
        accepted=grade.accepted,
        passed=grade.passed,
        total=grade.total,
        sha256=sha256(to_json(grade)),
    )


def _change(seed: str) -> tuple[bytes, str]:
    """A patch that adds lines to the ends of some files, and the tree that it gives."""
    files, parts = dict(_BASELINE), []
    for path in _CHANGED:
        lines = [f"    # {_prose(f'{seed}{path}{number}', 7)}\n" for number in range(_ADDED)]
        old = _BASELINE[path]
        files[path] = new = old + "".join(lines).encode()
        before = [f" {line}\n" for line in old.decode().splitlines()]
        at = len(before) - 2
        head = (
            f"diff --git a/{path} b/{path}\nindex {blob_oid(old)}..{blob_oid(new)} 100644\n"
            f"--- a/{path}\n+++ b/{path}\n@@ -{at},3 +{at},{3 + _ADDED} @@\n"
        )
        parts += [head, *before[-3:], *(f"+{line}" for line in lines)]
    return "".join(parts).encode(), _tree(files)


def _tree(files: Mapping[str, bytes]) -> str:
    """The id of a tree with these files."""
    entries = []
    inside: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        name, slash, rest = path.partition("/")
        if slash:
            inside.setdefault(name, {})[rest] = data
        else:
            entries.append(TreeEntry(name.encode(), REGULAR, blob_oid(data)))
    folders = ((name.encode(), _tree(below)) for name, below in inside.items())
    entries += [TreeEntry(name, DIRECTORY, oid) for name, oid in folders]
    return IdsOnly().add_tree(entries)


def _brief(task: str) -> bytes:
    return f"# {task}\n\n{_prose(task, 180)}\n".encode()


def _configuration(limits: Limits) -> PlannedConfiguration:
    return PlannedConfiguration(
        description="",
        agent="command",
        agent_version="1",
        model="model",
        reasoning=None,
        instructions=None,
        approval=None,
        sandbox="none",
        network=Network(),
        environment={},
        pass_environment=(),
        secrets=(),
        limits=limits,
        parameters={},
        gives_reference=False,
        digest=digest_of_files({}),
        files={},
        workspaces=dict.fromkeys(_task_names(), _TREE),
    )


def _task(name: str, limits: Limits) -> PlannedTask:
    return PlannedTask(
        category="small-fix",
        split="development",
        contamination="private",
        source=_SOURCE,
        tree=_TREE,
        brief_sha256=sha256(_brief(name)),
        graders=[],
        limits=limits,
        no_change_expected=False,
        must_escalate=False,
        digest=digest_of_files({}),
        files={},
    )


def _hex(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def _number(text: str, below: int) -> int:
    return int(_hex(text, 12), 16) % below


def _prose(seed: str, words: int) -> str:
    digest = hashlib.shake_128(seed.encode()).digest(words)
    return " ".join(_WORDS[byte % len(_WORDS)] for byte in digest)


_SUITE = b"suite: refunds\nprotocol: 3\n"
_CHECKS = {"acceptance": 9, "checks": 4}
"""How many checks each grader has."""

_ADDED = 14
_CHANGED = ("src/refunds/service.py", "tests/test_service.py")
_BASELINE = {
    path: "".join(f"value_{number} = {number}  # {path}\n" for number in range(40)).encode()
    for path in (
        *("README.md", "pyproject.toml", "docs/index.md", "docs/usage.md"),
        *(f"src/refunds/{name}.py" for name in ("__init__", "service", "orders", "money", "mail")),
        *(f"tests/{name}.py" for name in ("conftest", "test_service", "test_orders", "test_money")),
    )
}
_SOURCE = "folder ../../snapshots/service"
_TREE = _tree(_BASELINE)
