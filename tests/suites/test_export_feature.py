"""The two suites of recorded series: what comes out of each session, played on plain git."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git, trialbook
from tests.suites.conftest import evaluated, records_of

from trialbook.formats.authored import read_document

SUITES = Path(__file__).resolve().parents[2] / "suites"
AGENTS = ("steady", "reviser")
PLANTED = "planted"


@dataclass(frozen=True)
class Project:
    """What the tests have to know of one suite. ``changed`` is the session with the conflict."""

    suite: str
    task: str
    snapshot: str
    package: str
    changed: str
    red: int

    @property
    def folder(self) -> Path:
        return SUITES / self.suite

    @property
    def task_folder(self) -> Path:
        return self.folder / "tasks" / self.task

    @property
    def sessions(self) -> tuple[str, ...]:
        return ("core", "settings", self.changed, "repair")

    def written(self) -> dict[str, Any]:
        document, problems = read_document(self.task_folder / "task.yaml", "task.yaml")
        assert document is not None, problems
        assert not problems
        data: dict[str, Any] = document.data
        return data

    def regression(self) -> dict[str, Any]:
        regression: dict[str, Any] = self.written()["sessions"][-1]["regression"]
        return regression

    def recording(self, agent: str, session: str) -> Path:
        return self.folder / "recordings" / agent / self.task / session

    def expected(self, session: str) -> list[str]:
        text = (self.task_folder / "private" / session / "expected.json").read_text()
        passed: list[str] = json.loads(text)["passed"]
        return passed


PROJECTS = (
    Project("export-feature", "export", "worklog", "worklog", "grouped", red=4),
    Project("rotation-feature", "compress", "rotor", "rotor", "dated", red=4),
)
each_project = pytest.mark.parametrize("project", PROJECTS, ids=lambda one: one.suite)
each_agent = pytest.mark.parametrize("agent", AGENTS)


class Played:
    """Series that were played once, as folders: one after each session, and one after planting."""

    def __init__(self, top: Path) -> None:
        self._top = top

    def state(self, project: Project, agent: str, after: str) -> Path:
        place = self._top / project.suite / agent
        if not place.exists():
            self._play(project, agent, place)
        return place / after

    def _play(self, project: Project, agent: str, place: Path) -> None:
        work = place / "work"
        shutil.copytree(project.folder / "snapshots" / project.snapshot, work, ignore=_CACHES)
        git(work, "init", "-q", ".")
        git(work, "add", "-A")
        git(work, "commit", "-q", "-m", "Baseline")
        for session in project.sessions:
            if session == "repair":
                git(
                    work,
                    "apply",
                    "--index",
                    str(project.task_folder / "private/plant/integration.patch"),
                )
                git(work, "commit", "-q", "-m", project.regression()["plant"]["message"])
                shutil.copytree(work, place / PLANTED, ignore=_GIT)
            recording = project.recording(agent, session)
            shutil.copytree(recording / "overlay", work, dirs_exist_ok=True)
            git(work, "add", "-A")
            git(work, "commit", "-q", "-F", str(recording / "message.txt"))
            shutil.copytree(work, place / session, ignore=_GIT)


_CACHES = shutil.ignore_patterns("__pycache__")
_GIT = shutil.ignore_patterns(".git")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return Played(tmp_path_factory.mktemp("played"))


def outcomes(argv: list[str], folder: Path, report: Path, **environment: str) -> dict[str, bool]:
    """Whether each test passed, by its id, in a process of its own."""
    subprocess.run(
        [
            *(sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *argv),
            *(f"--junitxml={report}", "--tb=no"),
        ],
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    return {
        f"{case.get('classname')}::{case.get('name')}": not len(case)
        for case in ET.parse(report).iter("testcase")
    }


def private(project: Project, session: str, candidate: Path, report: Path) -> dict[str, bool]:
    tests = project.task_folder / "private" / session
    where = ["-c", "/dev/null", f"--rootdir={tests}", f"--confcutdir={tests}", str(tests)]
    found = outcomes(where, tests, report, TRIALBOOK_CANDIDATE=str(candidate))
    assert sorted(found) == sorted(project.expected(session))
    return found


def own(candidate: Path, report: Path, *paths: str) -> dict[str, bool]:
    return outcomes(list(paths), candidate, report)


@pytest.mark.slow
@each_project
@each_agent
def test_private_tests_come_out_as_the_readme_says(
    project: Project, agent: str, played: Played, tmp_path: Path
) -> None:
    regression = project.regression()
    for session in project.sessions:
        state = played.state(project, agent, session)
        found = private(project, session, state, tmp_path / f"{session}.xml")
        red = {one for one, passed in found.items() if not passed}
        said = f"{len(found) - len(red)}/{len(found)}"
        if session == "repair":
            assert red == (set(regression["siblings"]) if agent == "steady" else set())
        else:
            unfinished = agent == "reviser" and session == "settings"
            assert len(red) == (project.red if unfinished else 0)
            assert said in (project.folder / "README.md").read_text()


@pytest.mark.slow
@each_project
@each_agent
def test_nothing_that_was_asked_before_is_lost_in_the_end(
    project: Project, agent: str, played: Played, tmp_path: Path
) -> None:
    state = played.state(project, agent, "repair")
    for session in project.sessions[:-1]:
        found = private(project, session, state, tmp_path / f"{session}.xml")
        assert all(found.values()), session


@pytest.mark.slow
@each_project
@each_agent
def test_own_tests_are_green_but_where_the_reviser_says_that_they_are_not(
    project: Project, agent: str, played: Played, tmp_path: Path
) -> None:
    for after in (*project.sessions, PLANTED):
        found = own(played.state(project, agent, after), tmp_path / f"{after}.xml")
        red = {one.partition("::")[2].partition("[")[0] for one, ok in found.items() if not ok}
        if (agent, after) != ("reviser", "settings"):
            assert red == set(), after
            continue
        (name,) = red
        notes = (played.state(project, agent, after) / "NOTES.md").read_text()
        message = (project.recording(agent, after) / "message.txt").read_text()
        assert name in notes
        assert name in message


@pytest.mark.slow
@each_project
@each_agent
def test_the_merge_breaks_the_reported_test_and_its_siblings(
    project: Project, agent: str, played: Played, tmp_path: Path
) -> None:
    regression = project.regression()
    wanted = {*regression["reported"], *regression["siblings"]}
    assert len(regression["siblings"]) >= 3
    before = private(
        project, "repair", played.state(project, agent, project.changed), tmp_path / "before.xml"
    )
    after = private(
        project, "repair", played.state(project, agent, PLANTED), tmp_path / "after.xml"
    )
    assert wanted == set(before)
    assert all(before.values())
    assert not any(after.values())


def holds(project: Project, checks: str, state: Path, room: Path) -> bool:
    """Whether every command of a file of properties succeeds in a copy of a state."""
    document, _ = read_document(project.task_folder / checks, checks)
    assert document is not None
    commands = [one["run"] for one in document.data["checks"] if one["type"] == "command_succeeds"]
    for number, command in enumerate(commands):
        tree = shutil.copytree(state, room / str(number))
        argv = [sys.executable if word == "{python}" else word for word in command]
        done = subprocess.run(argv, cwd=tree, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        if done.returncode:
            return False
    return True


@pytest.mark.slow
@each_project
@each_agent
def test_properties_of_decisions_hold_where_they_should(
    project: Project, agent: str, played: Played, tmp_path: Path
) -> None:
    sessions = project.written()["sessions"]
    against, once = (one["id"] for one in sessions[0]["decisions"][:2])
    (last,) = (one["id"] for one in sessions[2]["decisions"])
    assert sessions[2]["conflicts_with"] == against
    found = {}
    for place, session in enumerate(sessions):
        for decision in (
            one for begun in sessions[: place + 1] for one in begun.get("decisions", ())
        ):
            if checks := decision["property"].get("checks"):
                name, state = session["session"], played.state(project, agent, session["session"])
                room = tmp_path / f"{name}-{decision['id']}"
                found[decision["id"], name] = holds(project, checks, state, room)
    revised = agent == "reviser"
    for (decision, name), held in found.items():
        after = name in (project.changed, "repair")
        expected = {against: not after, once: revised or not after, last: revised}
        assert held == expected.get(decision, True), (decision, name)


@pytest.mark.slow
@each_project
def test_the_tests_of_the_revisers_fix_fail_without_it(
    project: Project, played: Played, tmp_path: Path
) -> None:
    overlay = project.recording("reviser", "repair") / "overlay"
    tests = [str(path.relative_to(overlay)) for path in overlay.glob("tests/test_*.py")]
    planted = tmp_path / "planted"
    shutil.copytree(played.state(project, "reviser", PLANTED), planted)
    shutil.copytree(overlay / "tests", planted / "tests", dirs_exist_ok=True)
    assert not all(own(planted, tmp_path / "before.xml", *tests).values())
    repaired = played.state(project, "reviser", "repair")
    assert all(own(repaired, tmp_path / "after.xml", *tests).values())


@each_project
def test_only_the_reviser_touches_the_cause_and_names_the_decision(project: Project) -> None:
    decision = project.written()["sessions"][2]["conflicts_with"]
    document, _ = read_document(project.task_folder / "private/key.yaml", "key.yaml")
    assert document is not None
    (cause,) = document.data["component"]
    for agent in AGENTS:
        message = (project.recording(agent, project.changed) / "message.txt").read_text()
        listed = project.recording(agent, project.changed) / "overlay/docs/decisions.md"
        fixed = project.recording(agent, "repair") / "overlay" / cause
        is_reviser = agent == "reviser"
        assert (decision in message) == is_reviser
        assert listed.is_file() == is_reviser
        assert fixed.is_file() == is_reviser


@each_project
def test_only_the_steady_one_has_a_branch_for_the_reported_input(project: Project) -> None:
    literal = {"export-feature": '"2026-W14"', "rotation-feature": '"0.25M"'}[project.suite]
    for agent in AGENTS:
        overlay = project.recording(agent, "repair") / "overlay" / project.package
        found = [path.name for path in overlay.rglob("*.py") if literal in path.read_text()]
        assert len(found) == (1 if agent == "steady" else 0)


@each_project
def test_the_faulty_lines_are_those_of_the_cause(project: Project, played: Played) -> None:
    (place,) = project.regression()["plant"]["faulty"]
    path, _, span = place.partition(":")
    first, _, last = span.partition("-")
    lines = (played.state(project, "steady", PLANTED) / path).read_text().splitlines()
    faulty = "\n".join(lines[int(first) - 1 : int(last)])
    told = {"export-feature": "monthrange(", "rotation-feature": 'match["digits"]'}[project.suite]
    assert told in faulty


@each_project
def test_the_reference_is_the_revisers_work_before_the_merge(
    project: Project, played: Played, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(project.folder / "snapshots" / project.snapshot, tree, ignore=_CACHES)
    git(tree, "init", "-q", ".")
    git(tree, "apply", str(project.task_folder / "private/reference.patch"))
    shutil.rmtree(tree / ".git")
    assert _files(tree) == _files(played.state(project, "reviser", project.changed))


@each_project
def test_private_tests_of_all_sessions_ask_in_the_same_way(project: Project) -> None:
    texts = {
        (project.task_folder / "private" / session / "conftest.py").read_bytes()
        for session in project.sessions
    }
    assert len(texts) == 1


@each_project
def test_briefs_and_houserules_disclose_what_is_asked_of_people(project: Project) -> None:
    rules = (project.folder / "snapshots" / project.snapshot / "CONTRIBUTING.md").read_text()
    for told in (
        "who\n  changes one says so",
        "What is replaced goes",
        "NOTES.md",
        "removes the cause",
    ):
        assert told in rules
    for session in project.sessions:
        brief = (project.task_folder / "sessions" / session / "brief.md").read_text()
        assert "CONTRIBUTING.md" in brief, session


@pytest.mark.slow
@pytest.mark.index
@each_project
def test_the_merge_is_planted_fairly(project: Project, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    shutil.copytree(project.folder, ledger / "suites" / project.suite, ignore=_CACHES)
    git(tmp_path, "init", "-q", str(ledger))
    said = json.loads(trialbook(ledger, "plant", "check", project.suite, "--json").stdout)
    (plant,) = said["plants"]
    assert plant["fair"] is True
    assert {rule["status"] for rule in plant["rules"]} == {"kept"}


@pytest.mark.slow
@pytest.mark.index
@each_project
def test_both_series_run_to_their_end(project: Project, tmp_path: Path) -> None:
    ledger = evaluated(project.folder, tmp_path / "ledger")
    records = {record["configuration"]: record for record in records_of(ledger).values()}
    assert sorted(records) == sorted(AGENTS)
    for agent, record in records.items():
        assert record["outcome"] == "accepted"
        assert [one["name"] for one in record["sessions"]] == list(project.sessions)
        ended = [one["outcome"] for one in record["sessions"][:3]]
        unfinished = "rejected" if agent == "reviser" else "accepted"
        assert ended == ["accepted", unfinished, "accepted"]
    assert git(ledger, "status", "--porcelain") == ""


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
