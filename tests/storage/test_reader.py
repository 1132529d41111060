from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.storage.conftest import Git, make_plan, make_trial, run_files

from trialbook.errors import UserError
from trialbook.formats.records import RecordError, to_json
from trialbook.model.grade import Grade, GradeStatus
from trialbook.storage.ledger import Ledger
from trialbook.storage.reader import Reader, RunRef
from trialbook.system import System

FIRST = RunRef("demo", "first")
GRADE = Grade(
    grader="checks",
    version="1",
    status=GradeStatus.GRADED,
    accepted=True,
    passed=3,
    total=3,
    message="all passed",
)


@pytest.fixture
def ledger(git: Git, system: System) -> Iterator[Ledger]:
    ledger = Ledger.open(git.folder, system)
    yield ledger
    ledger.close()


@pytest.fixture
def plan_commit(ledger: Ledger) -> str:
    return ledger.commit(
        run_files() | {"runs/demo/first/plan.json": to_json(make_plan())}, "plan\n"
    )


def commit_trial(ledger: Ledger, *slot: object, **changes: object) -> str:
    trial = make_trial(*slot, **changes)  # type: ignore[arg-type]
    base = f"runs/demo/first/{trial.path}"
    files = {
        f"{base}/trial.json": to_json(trial),
        f"{base}/change.patch": b"patch\xff",
        f"{base}/grades/checks.json": to_json(GRADE),
        f"{base}/sessions/1/attempt-1/stdout.txt": b"out",
    }
    return ledger.commit(files, "trial\n")


def test_a_run_reads_back_as_it_was_written(git: Git, ledger: Ledger, plan_commit: str) -> None:
    trial_commit = commit_trial(ledger, "alpha", "current", 1)
    reader = Reader.open(git.folder)
    assert reader.head == trial_commit
    assert reader.runs() == [FIRST]
    assert reader.plan(FIRST) == make_plan()
    assert reader.plan_bytes(FIRST) == to_json(make_plan())
    assert reader.trials(FIRST) == [make_trial()]
    assert reader.trial(FIRST, "alpha/current/r1") == make_trial()
    assert reader.grade(FIRST, "alpha/current/r1", "checks") == GRADE
    assert reader.file(FIRST, "alpha/current/r1/change.patch") == b"patch\xff"
    assert reader.file(FIRST, "alpha/current/r1") is None
    assert reader.file(FIRST, "alpha/../alpha/current/r1/change.patch") is None
    assert reader.files(FIRST, "alpha/current/r1") == [
        "change.patch", "grades/checks.json", "sessions/1/attempt-1/stdout.txt", "trial.json"
    ]  # fmt: skip
    assert reader.commit_of(FIRST, "plan.json") == plan_commit
    assert reader.commit_of(FIRST, "alpha/current/r1/trial.json") == trial_commit
    assert reader.commit_of(FIRST, "nothing") is None
    assert reader.resolve("fir") == FIRST
    assert reader.resolve("demo/fi/alpha/current/r1") == (FIRST, "alpha/current/r1")


def test_trials_come_in_the_order_of_their_slots(
    git: Git, ledger: Ledger, plan_commit: str
) -> None:
    slots = [("beta", "current", 1), ("alpha", "current", 10), ("alpha", "current", 2),
             ("alpha", "candidate", 1)]  # fmt: skip
    for slot in slots:
        commit_trial(ledger, *slot)
    commit_trial(ledger, "alpha", "current", 2, rerun=1, replaces="alpha/current/r2")
    paths = [trial.path for trial in Reader.open(git.folder).trials(FIRST)]
    assert paths == [
        "alpha/candidate/r1", "alpha/current/r2", "alpha/current/r2.rerun1",
        "alpha/current/r10", "beta/current/r1",
    ]  # fmt: skip


def test_a_run_is_closed_by_its_results(git: Git, ledger: Ledger, plan_commit: str) -> None:
    assert not Reader.open(git.folder).is_closed(FIRST)
    ledger.commit({"runs/demo/first/results.csv": b"a\n"}, "results\n")
    assert Reader.open(git.folder).is_closed(FIRST)


def test_foreign_files_below_runs_are_passed_over(
    git: Git, ledger: Ledger, plan_commit: str
) -> None:
    commit_trial(ledger, "alpha", "current", 1)
    foreign = [
        "README.md", "file", "demo/README.md", "demo/empty/notes.md", "demo/first/notes/a/b/c.txt",
        "demo/first/alpha/notes.md", "demo/first/alpha/current/r0/trial.json",
        "demo/first/alpha/current/r2/notes.md", "demo/first/alpha/current/rx/trial.json",
        "demo/first/alpha/current/r1.rerun0/trial.json", "demo/first/incidents/one.yaml",
        "demo/second/plan.json/not-a-plan", "umläut/rün/x",
    ]  # fmt: skip
    for name in foreign:
        path = git.folder / "runs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("foreign\n")
    raw = bytes(git.folder / "runs/demo/first/alpha/current/r1") + b"/\xff\n"
    with open(raw, "wb") as file:  # noqa: PTH123 - a name that is no text
        file.write(b"odd")
    (git.folder / "runs/link").symlink_to("demo")
    git("add", "-A")
    git("commit", "-q", "-m", "foreign")
    reader = Reader.open(git.folder)
    assert reader.runs() == [FIRST]
    assert reader.trial_paths(FIRST) == ["alpha/current/r1"]
    assert reader.trials(FIRST) == [make_trial()]
    assert "\udcff\n" in reader.files(FIRST, "alpha/current/r1")
    assert reader.file(FIRST, "alpha/current/r1/\udcff\n") == b"odd"
    assert reader.commit_of(FIRST, "alpha/current/r1/\udcff\n") == reader.head


def test_a_broken_record_is_named(git: Git, ledger: Ledger, plan_commit: str) -> None:
    ledger.commit({"runs/demo/first/alpha/current/r1/trial.json": b"{}\n"}, "broken\n")
    reader = Reader.open(git.folder)
    with pytest.raises(RecordError, match=r"r1/trial\.json: not a"):
        reader.trials(FIRST)


def test_what_is_not_there_is_the_users_mistake(git: Git, ledger: Ledger, plan_commit: str) -> None:
    reader = Reader.open(git.folder)
    with pytest.raises(UserError, match="there is no run demo/other"):
        reader.plan(RunRef("demo", "other"))
    with pytest.raises(UserError, match=r"has no alpha/current/r1/grades/checks\.json"):
        reader.grade(FIRST, "alpha/current/r1", "checks")
    assert reader.trials(RunRef("demo", "other")) == []
    with pytest.raises(UserError, match="there is no run 'x'"):
        reader.resolve("x")
    with pytest.raises(UserError, match="there is no trial"):
        reader.resolve_run("first/alpha/current/r1")


def test_a_trial_where_a_run_is_asked_for_is_refused(
    git: Git, ledger: Ledger, plan_commit: str
) -> None:
    commit_trial(ledger, "alpha", "current", 1)
    with pytest.raises(UserError, match="is a trial, and a run is asked for") as caught:
        Reader.open(git.folder).resolve_run("first/alpha/current/r1")
    assert caught.value.hint == "its run is demo/first"


class TestWhere:
    def test_an_unborn_branch_has_no_runs(self, tmp_path: Path) -> None:
        Git(tmp_path)("init", "-q", "-b", "main")
        for ref in (None, "HEAD", "refs/heads/main"):
            reader = Reader.open(tmp_path, ref)
            assert (reader.head, reader.runs()) == ("", [])
            assert reader.commit_of(FIRST, "plan.json") is None
            assert reader.file(FIRST, "plan.json") is None

    def test_any_branch_tag_or_commit_can_be_read(
        self, git: Git, ledger: Ledger, plan_commit: str
    ) -> None:
        git("branch", "team/kept")
        git("tag", "v1")
        git("tag", "-a", "v2", "-m", "with words")
        commit_trial(ledger, "alpha", "current", 1)
        for ref in ("team/kept", "refs/heads/team/kept", "v1", plan_commit):
            assert Reader.open(git.folder, ref).head == plan_commit
        with pytest.raises(UserError, match=r"v2 .* is no commit"):
            Reader.open(git.folder, "v2")
        for ref in ("missing", "a//b", "a..b", "config", "index", "-x", "f" * 40):
            with pytest.raises(UserError):
                Reader.open(git.folder, ref)

    def test_a_subfolder_is_read_by_itself(self, git: Git, system: System) -> None:
        root = git.folder / "teams/eväls"
        root.mkdir(parents=True)
        ledger = Ledger.open(root, system)
        commit = ledger.commit(run_files(), "plan\n")
        assert Reader.open(root).runs() == [FIRST]
        assert Reader.open(root).commit_of(FIRST, "plan.json") == commit
        assert Reader.open(git.folder).runs() == []
        ledger.close()

    def test_a_bare_clone_is_read_without_any_git_executable(
        self, git: Git, ledger: Ledger, plan_commit: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commit_trial(ledger, "alpha", "current", 1)
        git("clone", "-q", "--bare", ".", "../bare.git")
        monkeypatch.setenv("PATH", "")
        reader = Reader.open(git.folder.parent / "bare.git")
        assert reader.trials(FIRST) == [make_trial()]
        assert reader.commit_of(FIRST, "plan.json") == plan_commit

    def test_the_work_tree_does_not_matter(
        self, git: Git, ledger: Ledger, plan_commit: str
    ) -> None:
        (git.folder / "runs/demo/first/plan.json").write_text("edited, not committed\n")
        assert Reader.open(git.folder).plan(FIRST) == make_plan()

    def test_a_reader_keeps_seeing_its_commit(
        self, git: Git, ledger: Ledger, plan_commit: str
    ) -> None:
        reader = Reader.open(git.folder)
        commit_trial(ledger, "alpha", "current", 1)
        git("gc", "-q", "--prune=now")
        assert reader.trials(FIRST) == []
        assert reader.plan(FIRST) == make_plan()

    def test_reading_twice_opens_no_object_twice(
        self, git: Git, ledger: Ledger, plan_commit: str
    ) -> None:
        commit_trial(ledger, "alpha", "current", 1)
        reader = Reader.open(git.folder)
        first = reader.trials(FIRST)
        for path in (git.folder / ".git/objects").rglob("*/*"):
            path.unlink()
        assert reader.trials(FIRST) == first
        assert reader.runs() == [FIRST]
