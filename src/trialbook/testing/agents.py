"""Exercises an agent adapter: whether it keeps the promises of its seam."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbook.api import (
    Agent,
    AgentEnd,
    AgentResult,
    Assignment,
    Ended,
    EnvironmentProblem,
    JudgeReply,
    Limits,
    ProcessResult,
    Start,
    StopWhen,
    TrialbookError,
    Usage,
)
from trialbook.model.process import Desk
from trialbook.process import run
from trialbook.supervision.stopping import stoppable
from trialbook.testing.claims import (
    claim,
    claim_name,
    claim_parameters,
    claim_sentence,
    claim_unchanged,
    claim_version,
    contents,
)

_PROMPTS = {
    "plain": "Fix the rounding.\n",
    "unicode": "Größe \u202e x\u007f \U0001f40d 数 \u2028 end without a newline",
    "like options and placeholders": "--help {workspace} {{x}} %s $HOME `id` \\\n-rf",
    "empty": "",
}
_HUGE = "a line of a huge prompt, größe\n" * 160_000

# What an adapter may make of a process that ended so. An exit status alone decides nothing.
_MEANINGS = {
    Ended.NOT_STARTED: {AgentEnd.ENVIRONMENT},
    Ended.TIMED_OUT: {AgentEnd.TIMED_OUT},
    Ended.CANCELLED: {AgentEnd.CANCELLED},
    Ended.STOPPED: set(AgentEnd) - {AgentEnd.FINISHED, AgentEnd.CANCELLED},
    Ended.SIGNALLED: set(AgentEnd) - {AgentEnd.FINISHED, AgentEnd.CANCELLED},
    Ended.LOST: set(AgentEnd) - {AgentEnd.FINISHED, AgentEnd.CANCELLED},
    Ended.EXITED: set(AgentEnd),
}
_FORM = {
    "type": "object",
    "properties": {"fine": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["fine"],
    "additionalProperties": False,
}
_HOSTILE = b'\x1b]52;c;x\x07 \x00\xff {{ 7*7 }} </script>\n{"cut off": [1, 2'


def check_agent(
    agent: Agent,
    folder: Path,
    *,
    parameters: Mapping[str, Any] | None = None,
    files: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Exercise an agent adapter: any prompt, any end of its process, twice the same.

    Args:
        agent: The adapter.
        folder: An empty folder to work in.
        parameters: With these it comes to its end on any prompt.
        files: Its read-only folder, if it needs one.
        environment: What its process needs; a PATH by default.

    Raises:
        NotConforming: it breaks a promise.
    """
    bench = _Bench(agent, folder, dict(parameters or {}), files, environment)
    claim_name(agent.name)
    claim_version(agent.version())
    claim(agent.version() == agent.version(), "the version must not change from call to call")
    claim_parameters(agent.parameters, bench.parameters)
    _check_prompts(bench)
    _check_endings(bench)
    _check_judging(bench)
    _check_interruption(bench)


@dataclass(slots=True)
class _Bench:
    agent: Agent
    folder: Path
    parameters: dict[str, Any]
    files: Path | None
    environment: Mapping[str, str] | None
    count: int = 0

    def assignment(
        self, prompt: str, start: Callable[[Assignment], Start] | None = None
    ) -> Assignment:
        """An assignment in folders of its own."""
        self.count += 1
        here = self.folder / str(self.count)
        for name in ("workspace", "home", "output"):
            (here / name).mkdir(parents=True)
        (here / "workspace" / "README.md").write_text("A project.\n")
        prompt_file = here / "prompt.md"
        prompt_file.write_bytes(prompt.encode())
        made = Assignment(
            task="some-task",
            repetition=self.count,
            workspace=here / "workspace",
            prompt=prompt,
            prompt_file=prompt_file,
            home=here / "home",
            output=here / "output",
            files=self.files,
            model="some-model",
            reasoning="medium",
            approval="deny",
            parameters=self.parameters,
            limits=Limits(minutes=1.0),
            start=_never,
        )
        return _with_start(made, (start or self._really)(made))

    def run(self, assignment: Assignment) -> AgentResult:
        """Run it, and claim what holds of every result."""
        result = self.agent.run(assignment)
        claim(isinstance(result, AgentResult), f"run() gave {result!r}, not an AgentResult")
        claim_sentence(result.message, f"a result that is {result.end}")
        claim_usage(result.usage)
        return result

    def _really(self, assignment: Assignment) -> Start:
        environment = self.environment or {"PATH": "/usr/local/bin:/usr/bin:/bin"}
        desk = Desk(
            cwd=assignment.workspace,
            environment={**environment, "HOME": str(assignment.home)},
            output=assignment.output,
        )
        return desk.start(
            lambda command, stop: stoppable(
                lambda cancel: run(command, assignment.limits, cancel=cancel), stop
            )
        )


def claim_usage(usage: Usage) -> None:
    """Numbers that are known are not negative; what is not known is None."""
    claim(isinstance(usage, Usage), f"`usage` is {usage!r}, not a Usage")
    for name in Usage.__dataclass_fields__:
        value = getattr(usage, name)
        if isinstance(value, int):
            claim(value >= 0, f"usage says {name} = {value}; what is not known is None")


def _check_prompts(bench: _Bench) -> None:
    files = contents(bench.files) if bench.files else {}
    for kind, prompt in _PROMPTS.items():
        assignment = bench.assignment(prompt)
        result = bench.run(assignment)
        claim(
            result.end is AgentEnd.FINISHED,
            f"with a prompt that is {kind} it did not finish: {result.end}, {result.message}",
        )
        _check_traces(assignment, prompt)
    assignment = bench.assignment(_HUGE)
    result = bench.run(assignment)
    claim(
        result.end in (AgentEnd.FINISHED, AgentEnd.ENVIRONMENT),
        f"a prompt of {len(_HUGE.encode())} bytes must arrive, or be our problem and say so; "
        f"it was {result.end}: {result.message}",
    )
    _check_traces(assignment, _HUGE)
    if bench.files:
        claim_unchanged(files, bench.files, "the agent's `files` folder")


def _check_traces(assignment: Assignment, prompt: str) -> None:
    around = {path.name for path in assignment.workspace.parent.iterdir()}
    strange = around - {"workspace", "home", "output", "prompt.md"}
    claim(not strange, f"it left {', '.join(sorted(strange))} outside its folders")
    same = assignment.prompt_file.read_bytes() == prompt.encode()
    claim(same, "it must leave the prompt's file as it is")


def _check_endings(bench: _Bench) -> None:
    for ended, allowed in _MEANINGS.items():
        for text in (b"", _HOSTILE):
            asked: list[object] = []
            result = bench.run(bench.assignment("Do it.\n", _ends(ended, text, asked)))
            claim(
                not asked or result.end in allowed,
                f"its process ended {ended.value}, and it made {result.end.value} of it; right is "
                f"{' or '.join(sorted(end.value for end in allowed))}",
            )


def _check_judging(bench: _Bench) -> None:
    """One that judges never makes an answer of what is none, and passes on how it ended."""
    judge = getattr(bench.agent, "judge", None)
    if judge is None:
        return
    for ended, allowed in _MEANINGS.items():
        for text in (b"", _HOSTILE):
            asked: list[object] = []
            reply = judge(bench.assignment("Judge it.\n", _ends(ended, text, asked)), _FORM)
            claim(isinstance(reply, JudgeReply), f"judge() gave {reply!r}, not a JudgeReply")
            end = reply.result.end
            claim(
                not asked or end in allowed,
                f"its process ended {ended.value}, and its judging made {end.value} of it",
            )
            claim(reply.answer is None, f"it made the answer {reply.answer!r} of {text!r}")
            silent = end is AgentEnd.FINISHED and not reply.missing
            claim(not silent, "where there is no answer, `missing` has to say what there was")


def _ends(ended: Ended, text: bytes, asked: list[object]) -> Callable[[Assignment], Start]:
    """A start that runs nothing: the process has ended so, and left such output."""

    def of(assignment: Assignment) -> Start:
        def start(
            argv: Sequence[str],
            *,
            stdin: Path | None = None,
            environment: Mapping[str, str] | None = None,
            name: str = "",
            stop_when: StopWhen | None = None,
        ) -> ProcessResult:
            del stdin, environment, stop_when
            asked.append(argv)
            prefix = f"{name}." if name else ""
            if ended is not Ended.NOT_STARTED:
                for stream in ("stdout", "stderr"):
                    (assignment.output / f"{prefix}{stream}.txt").write_bytes(text)
            return ProcessResult(
                ended=ended,
                exit_code=0 if ended in (Ended.EXITED, Ended.TIMED_OUT) else None,
                signal=9 if ended is Ended.SIGNALLED else None,
                stdout_bytes=len(text),
                stderr_bytes=len(text),
                message="no such program" if ended is Ended.NOT_STARTED else "",
            )

        return start

    return of


def _check_interruption(bench: _Bench) -> None:
    asked: list[object] = []
    try:
        bench.agent.run(bench.assignment("Do it.\n", _raises(KeyboardInterrupt(), asked)))
    except KeyboardInterrupt:
        pass
    else:
        claim(not asked, "it must let a KeyboardInterrupt through")
    asked.clear()
    problem = EnvironmentProblem("the sandbox is broken")
    try:
        result = bench.run(bench.assignment("Do it.\n", _raises(problem, asked)))
    except TrialbookError:
        return
    claim(
        not asked or result.end is AgentEnd.ENVIRONMENT,
        f"a broken sandbox is our problem, not {result.end.value}",
    )


def _raises(error: BaseException, asked: list[object]) -> Callable[[Assignment], Start]:
    def of(assignment: Assignment) -> Start:
        del assignment

        def start(argv: Sequence[str], **_: object) -> ProcessResult:
            asked.append(argv)
            raise error

        return start

    return of


def _never(argv: Sequence[str], **_: object) -> ProcessResult:
    raise NotImplementedError(f"no way to start {argv}")


def _with_start(assignment: Assignment, start: Start) -> Assignment:
    fields = {name: getattr(assignment, name) for name in Assignment.__dataclass_fields__}
    return Assignment(**{**fields, "start": start})
