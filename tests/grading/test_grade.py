from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from trialbook.api import (
    ChangedFile,
    Check,
    Command,
    Evidence,
    Grade,
    GradeStatus,
    Limits,
    Policy,
    ProcessResult,
    TrialbookError,
)
from trialbook.grading.grade import FolderSubject, Subject, grade_artifacts, grade_folder
from trialbook.model.grader_use import GraderUse
from trialbook.model.suite import Snapshot, SnapshotKind, Task
from trialbook.process import run
from trialbook.registry import Plugin, Registry
from trialbook.storage.repository import DIRECTORY, REGULAR, Store, TreeEntry

GOOD = Grade(
    grader="probe",
    version="1",
    status=GradeStatus.GRADED,
    accepted=True,
    passed=1,
    total=1,
    message="fine",
    checks=(Check(id="a", question="?", passed=True, message="yes"),),
)


class Probe:
    """A grader that does what the test tells it to."""

    name = "probe"
    version = "1"
    parameters: Mapping[str, Any] = {}
    shorthand = ""
    said: Any = GOOD
    seen: Evidence | None = None

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Any:
        type(self).seen = evidence
        (evidence.scratch / "mine").write_text("x")
        if isinstance(self.said, BaseException):
            raise self.said
        return self.said(evidence) if callable(self.said) else self.said


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The graders of this interpreter, and the probe."""

    class Entry:
        name, value, group = "probe", "tests:Probe", "trialbook.graders"

        def load(self) -> type[Probe]:
            return Probe

    monkeypatch.setattr(Probe, "said", GOOD)
    monkeypatch.setattr(Probe, "seen", None)
    probe = Plugin(
        group="graders",
        name="probe",
        distribution="tests",
        version="1",
        entry_point=Entry(),  # type: ignore[arg-type]
    )
    return Registry([*Registry().all(), probe])


def start(command: Command, policy: Policy) -> ProcessResult:
    return run(command, policy.limits)


def make_tree(store: Store, files: dict[str, str]) -> str:
    folders: dict[str, list[TreeEntry]] = {"": []}
    for name, text in files.items():
        folder, _, leaf = name.rpartition("/")
        entry = TreeEntry(leaf.encode(), REGULAR, store.add_blob(text.encode()))
        folders.setdefault(folder, []).append(entry)
    top = folders.pop("")
    top += [
        TreeEntry(name.encode(), DIRECTORY, store.add_tree(inside))
        for name, inside in folders.items()
    ]
    return store.add_tree(top)


def grade(
    tmp_path: Path,
    registry: Registry,
    *uses: GraderUse,
    base: dict[str, str] | None = None,
    candidate: dict[str, str] | None = None,
    limits: Limits | None = None,
) -> tuple[Grade, ...]:
    store = Store.at(tmp_path / "objects")
    task_folder = tmp_path / "task"
    task_folder.mkdir(exist_ok=True)
    subject = Subject(
        task=Task(
            name="task",
            folder="suites/s/tasks/task",
            brief="Do it.\n",
            snapshot=Snapshot(kind=SnapshotKind.FOLDER, location="snapshot"),
            graders=uses or (GraderUse(grader="probe"),),
        ),
        task_folder=task_folder,
        baseline_tree=make_tree(store, base or {"a.txt": "old\n"}),
        candidate_tree=make_tree(store, candidate or {"a.txt": "new\n"}),
        patch=b"patch",
        changed=(ChangedFile(status="modified", path="a.txt", insertions=1, deletions=1),),
        python=sys.executable,
        limits=limits or Limits(minutes=1.0),
    )
    work = tmp_path / "work"
    found = grade_artifacts(subject, store=store, registry=registry, start=start, work=work)
    assert list(work.iterdir()) == []
    return found


def test_a_grader_sees_fresh_copies_that_are_gone_afterwards(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, str]] = []

    def look(evidence: Evidence) -> Grade:
        assert evidence.baseline is not None
        read.append(
            ((evidence.baseline / "a.txt").read_text(), (evidence.candidate / "a.txt").read_text())
        )
        (evidence.candidate / "a.txt").write_text("spoiled")
        return GOOD

    monkeypatch.setattr(Probe, "said", staticmethod(look))
    twice = (GraderUse(grader="probe"), GraderUse(grader="probe"))
    assert grade(tmp_path, registry, *twice) == (GOOD, GOOD)
    assert read == [("old\n", "new\n")] * 2
    assert Probe.seen is not None
    assert Probe.seen.brief == "Do it.\n"
    assert not Probe.seen.candidate.exists()


def test_a_grader_that_only_looks_has_no_folder_written_for_it(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(evidence: Evidence) -> Grade:
        view = evidence.view
        assert view is not None
        assert view.kinds() == {"a.txt": "file", "src": "folder"}
        assert view.kinds("src") == {"b.txt": "file"}
        assert view.kinds("a.txt") == view.kinds("none/there") == view.kinds("\ud800") == {}
        assert view.read("src/b.txt", 100) == b"inside\n"
        assert view.read("src/b.txt", 2) == b"ins"
        assert view.read("src", 2) is view.read("none", 2) is view.read("a.txt/x", 2) is None
        assert [path.name for path in evidence.scratch.parent.iterdir()] == ["scratch"]
        return GOOD

    monkeypatch.setattr(Probe, "said", staticmethod(look))
    files = {"a.txt": "new\n", "src/b.txt": "inside\n"}
    assert grade(tmp_path, registry, candidate=files) == (GOOD,)
    assert Probe.seen is not None
    assert not Probe.seen.candidate.exists(), "nor is it for who asks too late"
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (ValueError("boom"), "the grader broke: ValueError: boom"),
        (SystemExit(0), "the grader broke: SystemExit"),
        (RecursionError(), "the grader broke: RecursionError"),
        (TrialbookError("no luck", hint="try again"), "no luck; try again"),
        (None, "no grade but NoneType"),
        ("9/9", "no grade but str"),
        ({"passed": 9}, "no grade but dict"),
    ],
)
def test_a_grader_that_breaks_fails_and_no_trial_does(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch, said: Any, words: str
) -> None:
    monkeypatch.setattr(Probe, "said", said)
    [found] = grade(tmp_path, registry)
    assert (found.status, found.accepted) == (GradeStatus.FAILED, None)
    assert (found.grader, found.version) == ("probe", "1")
    assert words in found.message


@pytest.mark.parametrize(
    "changes",
    [
        {"passed": float("nan")},
        {"passed": float("inf"), "total": float("inf")},
        {"passed": 0.5},
        {"passed": True},
        {"passed": None},
        {"passed": 2},
        {"passed": -1},
        {"passed": 0},
        {"total": 3},
        {"accepted": None},
        {"accepted": float("nan")},
        {"accepted": "yes"},
        {"status": "great"},
        {"status": GradeStatus.FAILED},
        {"status": GradeStatus.VIOLATION},
        {"grader": "other"},
        {"message": 7},
        {"message": "\ud800"},
        {"checks": (Check(id="a", question="?", passed=False, message="no"),), "passed": 0},
        {"checks": (Check(id="a", question="?", passed=None, message="?"),), "passed": 0},
        {"checks": ("a",)},
    ],
    ids=str,
)
def test_a_grade_that_cannot_be_right_is_the_graders_failure(
    tmp_path: Path,
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
) -> None:
    values = {name: getattr(GOOD, name) for name in GOOD.__dataclass_fields__}
    monkeypatch.setattr(Probe, "said", Grade(**values | changes))
    [found] = grade(tmp_path, registry)
    assert (found.status, found.accepted) == (GradeStatus.FAILED, None)
    assert (found.passed, found.total) == (0, 0)


def test_one_broken_grader_leaves_the_others_alone(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Probe, "said", ValueError("boom"))
    (tmp_path / "task").mkdir()
    (tmp_path / "task/checks.yaml").write_text(
        "checks:\n  - {id: a, type: file_contains, file: a.txt, pattern: ^new$}\n"
        "  - {id: b, type: changed_only, paths: [a.txt]}\n"
    )
    uses = (
        GraderUse(grader="probe"),
        GraderUse(grader="checks", parameters={"file": "checks.yaml"}),
        GraderUse(grader="nobody"),
    )
    found = grade(tmp_path, registry, *uses)
    assert [one.status.value for one in found] == ["failed", "graded", "failed"]
    assert (found[1].passed, found[1].total, found[1].accepted) == (2, 2, True)


def test_commands_of_graders_get_no_network_and_only_what_they_name(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies: list[Policy] = []

    def record(command: Command, policy: Policy) -> ProcessResult:
        policies.append(policy)
        return run(command, policy.limits)

    def use(evidence: Evidence) -> Grade:
        out = evidence.scratch / "out"
        command = Command(
            argv=("true",), cwd=evidence.scratch, environment={}, stdout=out, stderr=out
        )
        evidence.start(command, minutes=0.5, writable=(evidence.scratch,))
        return GOOD

    monkeypatch.setattr(Probe, "said", staticmethod(use))
    subject = FolderSubject(
        name="t",
        brief="",
        folder=tmp_path,
        graders=(GraderUse(grader="probe"),),
        task_folder=tmp_path,
        python=sys.executable,
        limits=Limits(minutes=9.0, memory_mb=100),
    )
    assert grade_folder(subject, registry=registry, start=record, work=tmp_path / "w") == (GOOD,)
    [policy] = policies
    assert policy.network.mode == "none"
    assert (policy.limits.minutes, policy.limits.memory_mb) == (0.5, 100)
    assert [path.name for path in policy.writable] == [policy.writable[0].name]
    assert policy.readable[0] == Path(sys.executable).parent.parent


def test_a_folder_is_graded_as_it_is_and_stays_so(tmp_path: Path, registry: Registry) -> None:
    folder = tmp_path / "folder"
    (folder / "src").mkdir(parents=True)
    (folder / "src/a.py").write_text("x = 1\n")
    (folder / "empty").mkdir()
    checks = tmp_path / "checks.yaml"
    checks.write_text(
        "checks:\n"
        "  - {id: a, type: file_exists, path: src/a.py}\n"
        "  - {id: b, type: directory_exists, path: empty}\n"
        "  - {id: c, type: command_succeeds, run: rm -r src}\n"
        "  - {id: d, type: max_changed_files, count: 3}\n"
    )
    subject = FolderSubject(
        name="t",
        brief="",
        folder=folder,
        graders=(GraderUse(grader="checks", parameters={"file": "checks.yaml"}),),
        task_folder=tmp_path,
        python=sys.executable,
        limits=Limits(minutes=1.0),
    )
    [found] = grade_folder(subject, registry=registry, start=start, work=tmp_path / "w")
    assert [check.passed for check in found.checks] == [True, True, True, None]
    assert found.status is GradeStatus.FAILED
    assert (folder / "src/a.py").read_text() == "x = 1\n"


# --- a whole task in the golden form: a package with a bug, tests that call it from outside ------

PACKAGE = """\
def middle(items):
    return sorted(items)[len(items) // 2]
"""
FIXED = """\
def middle(items):
    items = sorted(items)
    half = len(items) // 2
    return items[half] if len(items) % 2 else (items[half - 1] + items[half]) / 2
"""
NEAR_MISS = """\
def middle(items):
    items.sort()
    half = len(items) // 2
    return items[half] if len(items) % 2 else (items[half - 1] + items[half]) / 2
"""
TESTS = """\
import json, os, secrets, subprocess, sys, tempfile

ROOT = os.environ["GOLDEN_PACKAGE_ROOT"]

def candidate(body):
    mark = "@@" + secrets.token_hex(8) + " "
    code = f"import sys, json; sys.path.insert(0, {ROOT!r})\\nfrom stats import middle\\n"
    code += f"def out(value): print({mark!r} + json.dumps(value))\\n" + body
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [sys.executable, "-I", "-B", "-c", code], capture_output=True, timeout=8, cwd=scratch
        )
    lines = [x for x in done.stdout.decode().splitlines() if x.startswith(mark)]
    return json.loads(lines[0][len(mark):]) if len(lines) == 1 else None

def test_sentinel_must_fail():
    assert False, "sentinel"

def test_example():
    assert candidate("out(middle([1, 2, 3, 4]))") == 2.5

def test_odd_regression():
    assert candidate("out(middle([3, 1, 2]))") == 2

def test_argument_is_left_alone():
    assert candidate("a = [3, 1, 2]; middle(a); out(a)") == [3, 1, 2]
"""
EXPECTED = {
    "passed": [
        "test_private::test_argument_is_left_alone",
        "test_private::test_example",
        "test_private::test_odd_regression",
    ],
    "must_fail": ["test_private::test_sentinel_must_fail"],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "accepted", "wrong"),
    [
        (FIXED, True, []),
        (PACKAGE, False, ["test_example"]),
        (NEAR_MISS, False, ["test_argument_is_left_alone"]),
    ],
    ids=["reference", "untouched", "near miss"],
)
def test_a_golden_task_accepts_the_reference_and_nothing_else(
    tmp_path: Path, registry: Registry, source: str, accepted: bool, wrong: list[str]
) -> None:
    private = tmp_path / "task/private"
    (private / "tests").mkdir(parents=True)
    (private / "tests/test_private.py").write_text(TESTS)
    (private / "expected.json").write_text(json.dumps(EXPECTED))
    use = GraderUse(
        grader="acceptance",
        parameters={
            "run": "pytest",
            "tests": "private/tests",
            "expect": "private/expected.json",
            "environment": {"GOLDEN_PACKAGE_ROOT": "{candidate}"},
        },
    )
    files = {"stats/__init__.py": source, "README.md": "stats\n"}
    base = files | {"stats/__init__.py": PACKAGE}
    [found] = grade(tmp_path, registry, use, base=base, candidate=files)
    assert (found.status, found.accepted) == (GradeStatus.GRADED, accepted), found
    names = [check.id.partition("::")[2] for check in found.checks if not check.passed]
    assert names == wrong


def test_the_first_party_graders_are_found_by_entry_point() -> None:
    names = {entry.name for entry in metadata.entry_points(group="trialbook.graders")}
    assert {"checks", "acceptance"} <= names
