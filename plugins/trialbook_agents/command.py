"""The agent-neutral adapter: any executable that works in a folder on a prompt."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trialbook.api import (
    AgentEnd,
    AgentResult,
    Assignment,
    Ended,
    EnvironmentProblem,
    JudgeReply,
    ProcessResult,
)
from trialbook_agents.clients import error_output
from trialbook_agents.judging import cut_off, file_reply

PLACEHOLDERS = (
    "workspace",
    "prompt_file",
    "prompt",
    "files",
    "home",
    "task",
    "repetition",
    "model",
    "python",
)

# What Linux takes as one argument, however much there is room for in all.
_LONGEST_ARGUMENT = 32 * 4096 - 1

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_PLAIN = r"(?:[^{}]|\{\{|\}\}|\{[^{}]*\})*"
_KNOWN = rf"^(?:[^{{}}]|\{{\{{|\}}\}}|\{{(?:{'|'.join(PLACEHOLDERS)})\}})*$"
_HAS_PROMPT = {"pattern": rf"^{_PLAIN}\{{prompt\}}"}
_HAS_PROMPT_FILE = {"pattern": rf"^{_PLAIN}\{{prompt_file\}}"}


def _when(way: str, then: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {"properties": {"prompt": {"const": way}}, "required": ["prompt"]}
    return {"if": chosen, "then": {"properties": {"argv": then}}}


class CommandAgent:
    """Runs a command in the workspace and takes its exit status for the end of the work.

    Whether it did the work is for the change and the graders to say: silence with status 0 is an
    end like any other.
    """

    name = "command"
    parameters: Mapping[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["argv"],
        "properties": {
            "argv": {
                "description": (
                    "The program and its arguments. Placeholders: "
                    + ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
                    + "; literal braces are doubled."
                ),
                "type": "array",
                "minItems": 1,
                "prefixItems": [{"minLength": 1}],
                "items": {
                    "type": "string",
                    "pattern": _KNOWN,
                    "errorMessage": "has a placeholder that is not known, or a lone brace; known: "
                    + ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
                    + " (write {{ and }} for braces)",
                },
            },
            "prompt": {
                "description": "How the command gets the prompt.",
                "enum": ["stdin", "file", "argument"],
                "default": "stdin",
            },
            "success_codes": {
                "description": "The exit statuses that mean that the agent came to its end.",
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "items": {"type": "integer", "minimum": 0, "maximum": 255},
                "default": [0],
            },
        },
        "allOf": [
            _when(
                "argument",
                {
                    "contains": _HAS_PROMPT,
                    "errorMessage": "has no {prompt}; `prompt: argument` puts the prompt there",
                },
            ),
            _when(
                "file",
                {
                    "contains": _HAS_PROMPT_FILE,
                    "errorMessage": "has no {prompt_file}; `prompt: file` puts its path there",
                },
            ),
        ],
    }

    def version(self) -> str:
        """The version of this adapter."""
        return "1"

    def longest_prompt(self, parameters: Mapping[str, Any]) -> int | None:
        """How many bytes of a prompt the arguments can hold; None where it is not among them."""
        most = []
        for part in parameters["argv"]:
            times = sum(match.group() == "{prompt}" for match in _TOKEN.finditer(part))
            if times:
                rest = len(part.encode()) - times * len("{prompt}")
                most.append(max(0, _LONGEST_ARGUMENT - rest) // times)
        return min(most, default=None)

    def run(self, assignment: Assignment) -> AgentResult:
        """Run the command once."""
        parameters = assignment.parameters
        way = parameters.get("prompt", "stdin")
        try:
            argv = fill(parameters["argv"], _values(assignment))
        except EnvironmentProblem as problem:
            return AgentResult(end=AgentEnd.ENVIRONMENT, message=problem.message)
        process = assignment.start(argv, stdin=assignment.prompt_file if way == "stdin" else None)
        return judge(process, parameters.get("success_codes", [0]))

    def judge(self, assignment: Assignment, schema: Mapping[str, Any]) -> JudgeReply:
        """Ask for one JSON value: the whole of what the command prints; the prompt has the form."""
        del schema
        result = self.run(assignment)
        said = error_output(assignment.output)
        if result.end is AgentEnd.ERROR and said:
            result = replace(result, message=f"{result.message}: {said}")
        if cut_off(result):
            return JudgeReply(result=result, missing="what it printed was cut at the limit")
        return file_reply(result, assignment.output / "stdout.txt", "what it printed")


def fill(template: list[str], values: Mapping[str, str | None]) -> list[str]:
    """The arguments with every placeholder replaced, in one pass: values are not looked into.

    Raises:
        EnvironmentProblem: a placeholder that is not known, or that has no value in this trial.
    """

    def value(match: re.Match[str]) -> str:
        token, name = match.group(), match.group(1)
        if token in ("{{", "}}"):
            return token[0]
        if name not in values:
            raise EnvironmentProblem(f"argv has {token!r}, which is no placeholder")
        found = values[name]
        if found is None:
            raise EnvironmentProblem(f"argv uses {token}, but the configuration sets no `{name}`")
        return found

    return [_TOKEN.sub(value, part) for part in template]


def judge(process: ProcessResult, success_codes: list[int]) -> AgentResult:
    """What the way in which a process ended says about the agent's work."""
    end, message = _END[process.ended]
    if process.ended is Ended.EXITED and process.exit_code in success_codes:
        end = AgentEnd.FINISHED
    message = message.format(
        code=process.exit_code, signal=_signal_name(process.signal), seconds=process.seconds
    )
    if process.leftover_processes:
        message += f"; {process.leftover_processes} of its processes had to be killed"
    if process.message:
        message += f": {process.message}"
    return AgentResult(end=end, message=message, process=process)


_END = {
    Ended.EXITED: (AgentEnd.ERROR, "the command exited with status {code} after {seconds:.1f} s"),
    Ended.SIGNALLED: (AgentEnd.ERROR, "the command was ended by {signal} after {seconds:.1f} s"),
    Ended.TIMED_OUT: (AgentEnd.TIMED_OUT, "the command was stopped after {seconds:.1f} s"),
    Ended.CANCELLED: (AgentEnd.CANCELLED, "the command was cancelled after {seconds:.1f} s"),
    Ended.STOPPED: (AgentEnd.BUDGET, "the command was stopped after {seconds:.1f} s"),
    Ended.NOT_STARTED: (AgentEnd.ENVIRONMENT, "the command could not be started"),
    Ended.LOST: (AgentEnd.ERROR, "the command's end was not seen"),
}


def _signal_name(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def _values(assignment: Assignment) -> dict[str, str | None]:
    return {
        "workspace": str(assignment.workspace),
        "prompt_file": str(assignment.prompt_file),
        "prompt": assignment.prompt,
        "files": str(assignment.files) if assignment.files else None,
        "home": str(assignment.home),
        "task": assignment.task,
        "repetition": str(assignment.repetition),
        "model": assignment.model,
        "python": assignment.python,
    }
