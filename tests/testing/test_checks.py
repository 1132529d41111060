"""The conformance checks pass what keeps its promises, and find each broken one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from trialbook.api import (
    AgentEnd,
    AgentResult,
    Assignment,
    Availability,
    Check,
    Command,
    Ended,
    Evidence,
    Grade,
    GradeStatus,
    Policy,
    Pool,
    Problem,
    ProcessResult,
    Spawn,
    TrialBundle,
    TrialSpec,
    Usage,
    Worker,
)
from trialbook.testing import (
    GradingCase,
    NotConforming,
    check_agent,
    check_executor,
    check_grader,
    check_sandbox,
)
from trialbook_agents.command import CommandAgent
from trialbook_agents.replay import ReplayAgent
from trialbook_executors.local import LocalExecutor, LocalPool
from trialbook_sandboxes.none import NoSandbox

READS = {"argv": ["/bin/sh", "-c", "cat > answer"]}


# --- agents ----------------------------------------------------------------------------------


def test_the_command_agent_conforms_whatever_way_its_prompt_comes(tmp_path: Path) -> None:
    check_agent(CommandAgent(), tmp_path / "stdin", parameters=READS)
    argv = ["/bin/sh", "-c", 'cat "$1" > answer', "sh", "{prompt_file}"]
    check_agent(CommandAgent(), tmp_path / "file", parameters={"argv": argv, "prompt": "file"})
    argv = ["/bin/sh", "-c", 'printf %s "$1" > answer', "sh", "{prompt}"]
    check_agent(CommandAgent(), tmp_path / "word", parameters={"argv": argv, "prompt": "argument"})


def test_the_replay_agent_conforms(tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    (recording / "overlay").mkdir(parents=True)
    (recording / "overlay" / "README.md").write_text("Changed.\n")
    check_agent(ReplayAgent(), tmp_path / "work", files=recording)


class Trusting(CommandAgent):
    """Takes every end for success."""

    def run(self, assignment: Assignment) -> AgentResult:
        result = super().run(assignment)
        return AgentResult(end=AgentEnd.FINISHED, message="done", process=result.process)


class Swallowing(CommandAgent):
    """Lets nothing through."""

    def run(self, assignment: Assignment) -> AgentResult:
        try:
            return super().run(assignment)
        except BaseException as error:  # noqa: BLE001 - that is the fault
            return AgentResult(end=AgentEnd.ERROR, message=repr(error))


class Meddling(CommandAgent):
    """Writes where it should not."""

    def run(self, assignment: Assignment) -> AgentResult:
        (assignment.workspace.parent / "notes.txt").write_text("x")
        return super().run(assignment)


class Forgetful(CommandAgent):
    """Changes the prompt."""

    def run(self, assignment: Assignment) -> AgentResult:
        result = super().run(assignment)
        assignment.prompt_file.write_text("something else")
        return result


class Guessing(CommandAgent):
    """Says a number where it knows none."""

    def run(self, assignment: Assignment) -> AgentResult:
        result = super().run(assignment)
        return AgentResult(end=result.end, message=result.message, usage=Usage(turns=-1))


class Silent(CommandAgent):
    """Says nothing."""

    def run(self, assignment: Assignment) -> AgentResult:
        return AgentResult(end=super().run(assignment).end, message="")


class Misnamed(CommandAgent):
    """Has a name that is none."""

    name = "My Agent"


class Loose(CommandAgent):
    """Takes any parameter."""

    parameters: Mapping[str, Any] = {"type": "object"}


class Unversioned(CommandAgent):
    """Has no version."""

    def version(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (Trusting, "its process ended not_started, and it made finished of it"),
        (Swallowing, "it must let a KeyboardInterrupt through"),
        (Meddling, "it left notes.txt outside its folders"),
        (Forgetful, "it must leave the prompt's file as it is"),
        (Guessing, "usage says turns = -1"),
        (Silent, "it must be one sentence"),
        (Misnamed, "`name` is 'My Agent'"),
        (Loose, "its schema takes unknown keys"),
        (Unversioned, "the version is ''"),
    ],
)
def test_a_broken_promise_of_an_agent_is_named(
    tmp_path: Path, agent: type[CommandAgent], said: str
) -> None:
    with pytest.raises(NotConforming) as raised:
        check_agent(agent(), tmp_path, parameters=READS)
    assert said in str(raised.value)


def test_an_agent_that_changes_its_files_is_named(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    argv = ["/bin/sh", "-c", 'echo x >> "$1/log"', "sh", "{files}"]
    with pytest.raises(NotConforming, match="must not change, but these did: log"):
        check_agent(CommandAgent(), tmp_path / "work", parameters={"argv": argv}, files=files)


def test_an_agent_that_does_not_finish_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotConforming, match="did not finish: error, the command exited with"):
        check_agent(CommandAgent(), tmp_path, parameters={"argv": ["false"]})
    with pytest.raises(NotConforming, match="its own schema refuses"):
        check_agent(CommandAgent(), tmp_path, parameters={"argv": []})


# --- sandboxes -------------------------------------------------------------------------------


class Leaking(NoSandbox):
    """Adds something to the environment."""

    def start(self, command: Command, policy: Policy, spawn: Spawn) -> ProcessResult:
        environment = {**command.environment, "API_KEY": "x"}
        return spawn(_with(command, environment=environment), policy.limits)


class Boasting(NoSandbox):
    """Claims what it does not do."""

    def __init__(self, **claims: Any) -> None:
        self.claims = claims

    def available(self, spawn: Spawn) -> Availability:
        return Availability(ok=True, **self.claims)


class Lenient(NoSandbox):
    """Forgets the limits."""

    def start(self, command: Command, policy: Policy, spawn: Spawn) -> ProcessResult:
        limits = policy.limits
        fields = {name: getattr(limits, name) for name in type(limits).__dataclass_fields__}
        return spawn(command, type(limits)(**{**fields, "output_mb": None}))


class Plain(NoSandbox):
    """Starts processes by itself, and leaves what they leave."""

    def start(self, command: Command, policy: Policy, spawn: Spawn) -> ProcessResult:
        with command.stdout.open("wb") as out, command.stderr.open("wb") as err:
            stdin = command.stdin.open("rb") if command.stdin else subprocess.DEVNULL
            try:
                child = subprocess.run(
                    list(command.argv),
                    cwd=command.cwd,
                    env=dict(command.environment),
                    stdin=stdin,
                    stdout=out,
                    stderr=err,
                    check=False,
                )
            except OSError as error:
                return ProcessResult(ended=Ended.NOT_STARTED, message=str(error))
            finally:
                if not isinstance(stdin, int):
                    stdin.close()
        code = child.returncode
        if code < 0:
            return ProcessResult(ended=Ended.SIGNALLED, signal=-code)
        return ProcessResult(ended=Ended.EXITED, exit_code=code)


class Shouting(NoSandbox):
    """Joins the arguments and splits them again."""

    def start(self, command: Command, policy: Policy, spawn: Spawn) -> ProcessResult:
        if len(command.argv) > 4:
            command = _with(command, argv=(*command.argv[:4], *command.argv[4:][0].split(" ")))
        return spawn(command, policy.limits)


def _with(command: Command, **changes: Any) -> Command:
    fields = {name: getattr(command, name) for name in Command.__dataclass_fields__}
    return Command(**{**fields, **changes})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sandbox", "said"),
    [
        (Leaking(), "these variables were not given: API_KEY"),
        (Boasting(limits=("minuets",)), "it claims limits that nobody knows: minuets"),
        (Boasting(isolated=True), "it claims isolation, but a file outside its policy can be read"),
        (Boasting(network=True), "it claims to hold the network, but a host was reached"),
        pytest.param(
            Boasting(limits=("processes",)),
            "more processes could run where 20 are allowed",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user is held to it"),
        ),
        (Boasting(limits=("memory_mb",)), "processes with 240 MB where 100 are allowed"),
        (Lenient(), "output over the limit must be said to be cut"),
        (Plain(), "left a daemon that still writes"),
        (Shouting(), "arguments must arrive as they are"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, NoSandbox) else "",
)
def test_a_broken_promise_of_a_sandbox_is_named(
    tmp_path: Path, sandbox: NoSandbox, said: str
) -> None:
    with pytest.raises(NotConforming) as raised:
        check_sandbox(sandbox, tmp_path)
    assert said in str(raised.value)


def test_a_sandbox_that_does_not_work_here_is_named(tmp_path: Path) -> None:
    class Absent(NoSandbox):
        def available(self, spawn: Spawn) -> Availability:
            return Availability(ok=False, reason="no such kernel")

    with pytest.raises(NotConforming, match="it does not work on this host: no such kernel"):
        check_sandbox(Absent(), tmp_path)


# --- executors -------------------------------------------------------------------------------


class Broken(LocalExecutor):
    """A local executor with another pool."""

    def __init__(self, pool: Callable[[Worker, int], Pool]) -> None:
        self._pool = pool

    def open(self, worker: Worker, jobs: int) -> Pool:
        return self._pool(worker, jobs)


class Crowded(LocalPool):
    def __init__(self, worker: Worker, jobs: int) -> None:
        super().__init__(worker, jobs * 3)


class Mixed(LocalPool):
    def submit(self, spec: TrialSpec) -> Future[TrialBundle]:
        self.first = getattr(self, "first", spec)
        return super().submit(self.first)


class Hiding(LocalPool):
    def __init__(self, worker: Worker, jobs: int) -> None:
        def safe(spec: TrialSpec) -> TrialBundle:
            try:
                return worker(spec)
            except RuntimeError:
                return TrialBundle(record=None, files={})  # type: ignore[arg-type]

        super().__init__(safe, jobs)


class Careless(LocalPool):
    def __init__(self, worker: Worker, jobs: int) -> None:
        super().__init__(worker, jobs)
        self._threads: ThreadPoolExecutor

    def close(self) -> None:
        self._threads.shutdown(wait=False)


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        (Crowded, "trials were worked on at once, where 2 are allowed"),
        (Mixed, "got the result of another trial"),
        (Hiding, "a worker that raised must not come out as a result"),
        (Careless, "futures are still open"),
    ],
)
def test_a_broken_promise_of_an_executor_is_named(
    tmp_path: Path, pool: Callable[[Worker, int], Pool], said: str
) -> None:
    with pytest.raises(NotConforming) as raised:
        check_executor(Broken(pool), tmp_path)
    assert said in str(raised.value)


# --- graders ---------------------------------------------------------------------------------


class WordGrader:
    """Accepts a candidate whose answer.txt has the word that the task's folder keeps."""

    name = "word"
    version = "1"
    shorthand = "word"
    parameters: Mapping[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["word"],
        "properties": {"word": {"type": "string"}},
    }

    def problems(self, parameters: Mapping[str, Any], task_folder: Path) -> Iterable[Problem]:
        return []

    def files(self, parameters: Mapping[str, Any], task_folder: Path) -> Iterable[Path]:
        return [task_folder / parameters["word"]]

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        word = (evidence.task_folder / parameters["word"]).read_text().strip()
        script = (
            "import sys; word, path = sys.argv[1:]\n"
            "try: text = open(path, errors='replace').read()\n"
            "except OSError: text = ''\n"
            "sys.exit(0 if word in text else 1)"
        )
        command = Command(
            argv=(evidence.python, "-c", script, word, str(evidence.candidate / "answer.txt")),
            cwd=evidence.scratch,
            environment={},
            stdout=evidence.scratch / "out",
            stderr=evidence.scratch / "err",
        )
        result = evidence.start(command, minutes=1)
        if result.ended is not Ended.EXITED:
            return self.made(GradeStatus.FAILED, None, "could not look")
        found = result.exit_code == 0
        return self.made(GradeStatus.GRADED, found, "looked for the word")

    def made(self, status: GradeStatus, found: bool | None, message: str) -> Grade:
        check = Check(id="word", question="Is it there?", passed=found, message=message)
        return Grade(
            grader=self.name,
            version=self.version,
            status=status,
            accepted=found,
            passed=int(bool(found)),
            total=1,
            message=message,
            checks=(check,),
        )


@pytest.fixture
def case(tmp_path: Path) -> GradingCase:
    for name, text in (("good", "the magic word"), ("bad", "nothing"), ("task", "magic")):
        (tmp_path / name).mkdir()
        (tmp_path / name / ("word.txt" if name == "task" else "answer.txt")).write_text(text)
    return GradingCase(
        task_folder=tmp_path / "task",
        good=tmp_path / "good",
        bad=tmp_path / "bad",
        parameters={"word": "word.txt"},
        python=sys.executable,
    )


def test_a_grader_that_keeps_its_promises_passes(tmp_path: Path, case: GradingCase) -> None:
    check_grader(WordGrader(), tmp_path / "work", case)


class Credulous(WordGrader):
    """Takes a process that failed for an answer."""

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        grade = super().grade(evidence, parameters)
        if grade.status is GradeStatus.FAILED:
            return self.made(GradeStatus.GRADED, True, "must be right then")
        return grade


class Blind(WordGrader):
    """Accepts everything."""

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        return self.made(GradeStatus.GRADED, True, "fine")


class Vague(WordGrader):
    """Accepts without having graded."""

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        return self.made(GradeStatus.VIOLATION, True, "hm")


class Fickle(WordGrader):
    """Judges by the number of times it was asked."""

    count = 0

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        self.count += 1
        return self.made(GradeStatus.GRADED, self.count % 2 == 1, "fine")


class Untidy(WordGrader):
    """Works in the candidate's folder."""

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        (evidence.candidate / "notes").write_text("x")
        return super().grade(evidence, parameters)


class Following(WordGrader):
    """Writes through the links of a candidate."""

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        if (evidence.candidate / "tests").is_dir():
            (evidence.candidate / "tests" / "test_private.py").write_text("x")
        return super().grade(evidence, parameters)


class Fragile(WordGrader):
    """Breaks on what it did not expect."""

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        for path in evidence.candidate.iterdir():
            path.read_text()
        return super().grade(evidence, parameters)


class Reaching(WordGrader):
    """Names a file that is not the task's."""

    def files(self, parameters: Mapping[str, Any], task_folder: Path) -> Iterable[Path]:
        return [Path("/etc/passwd")]


@pytest.mark.parametrize(
    ("grader", "said"),
    [
        (Credulous, "its process ended not_started, and it accepted all the same"),
        (Blind, "it accepted the wrong answer"),
        (Vague, "`accepted` is set exactly when it graded"),
        (Fickle, "it judged the same evidence in two ways"),
        (Untidy, "must not change, but these did: notes"),
        (Fragile, "a candidate that is full-of-links made it raise"),
        (Following, "what links of a candidate point to must not change"),
        (Reaching, "it names a file outside the task's folder: /etc/passwd"),
    ],
)
def test_a_broken_promise_of_a_grader_is_named(
    tmp_path: Path, case: GradingCase, grader: type[WordGrader], said: str
) -> None:
    with pytest.raises(NotConforming) as raised:
        check_grader(grader(), tmp_path / "work", case)
    assert said in str(raised.value)
