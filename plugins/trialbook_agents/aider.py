"""The adapter for aider: one message without questions, judged by its logs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trialbook.api import (
    AgentResult,
    Assignment,
    Client,
    EnvironmentProblem,
    PriceTable,
    ProcessResult,
    Spawn,
    Trajectory,
    Trouble,
    claims_of,
)
from trialbook_agents.aider_chat import AiderRun, is_answer, read_aider, usage_of
from trialbook_agents.clients import (
    Ending,
    Finish,
    ask_version,
    error_output,
    find_program,
    keep_copy,
    kept_by_looking,
    need_program,
    not_here,
)
from trialbook_agents.jsonl import MOST_BYTES, Lines, Tail, read_records
from trialbook_agents.litellm_errors import trouble_of_exception
from trialbook_agents.meter import Meter
from trialbook_agents.parameters import (
    ARGUMENTS,
    program_schema,
    retries_of,
    retries_schema,
    schema,
    url_schema,
)
from trialbook_agents.python_clients import ask_package, places_of

CLIENT = "aider"
INSTALL = "pipx install aider-chat"

_PACKAGE = "aider-chat"
_MAP_TOKENS = 1024
_GAVE_UP = "the model answered with an error"
_RETRY = b"Retrying in "
_CACHE = ".aider.tags.cache.v4"
_FILES = {"type": "array", "items": {"type": "string", "pattern": "^[^/-][^\\x00]*$"}}


class AiderAgent:
    """Runs ``aider`` with one message, which it reads from a file, whatever its size."""

    name = "aider"
    parameters = schema(
        program=program_schema("aider"),
        base_url=url_schema("Where a model `openai/...` is asked, if not at OpenAI."),
        files={**_FILES, "description": "Files of the workspace that are in the chat."},
        read={**_FILES, "description": "Files of the workspace that it reads only."},
        edit_format={
            "type": "string",
            "pattern": "^[a-z-]+$",
            "description": "How the model tells its edits; its own choice if not given.",
        },
        map_tokens={
            "type": "integer",
            "minimum": 0,
            "default": _MAP_TOKENS,
            "description": "How long the map of the workspace is that the model is shown.",
        },
        test_command={
            "type": "string",
            "minLength": 1,
            "description": "A command that it runs after edits, to have failures repaired.",
        },
        retries=retries_schema(),
        arguments=ARGUMENTS,
    )
    settings: Mapping[str, Any] = {
        "approval": {"enum": ["allow"]},
        "reasoning": {"enum": ["none", "minimal", "low", "medium", "high", "xhigh"]},
    }

    def version(self) -> str:
        """The version of this adapter."""
        return "1"

    def client(self, parameters: Mapping[str, Any], spawn: Spawn) -> Client:
        """The client that is installed here."""
        program = _program(parameters)
        try:
            question = ask_package(program, _PACKAGE) if program else ()
        except EnvironmentProblem as problem:
            return Client(program=str(program), reason=problem.message, hint=problem.hint)
        return ask_version(program, CLIENT, spawn, INSTALL, question)

    def readable(self, parameters: Mapping[str, Any]) -> Iterable[Path]:
        """Where it is installed: its virtual environment, and the interpreter that this is of."""
        return places_of(need_program(_program(parameters), CLIENT, INSTALL))

    def enforces(self, model: str | None, prices: PriceTable | None) -> Iterable[str]:
        """All by looking on; money only where the model has a price."""
        return kept_by_looking(model, prices)

    def run(self, assignment: Assignment) -> AgentResult:
        """Run the client once."""
        try:
            program = need_program(_program(assignment.parameters), CLIENT, INSTALL)
        except EnvironmentProblem as problem:
            return not_here(problem)
        folder = assignment.home / ".aider"
        _prepare(folder)
        cache = assignment.workspace / _CACHE
        before = cache.is_symlink() or cache.exists()
        process = assignment.start(
            _argv(program, assignment, folder),
            environment=_environment(assignment),
            stop_when=_Watch(assignment, folder),
        )
        if not before and not cache.is_symlink():
            # The client's own cache of the map; it knows no other place for it.
            shutil.rmtree(cache, ignore_errors=True)
        return _result(assignment, process, folder)


def _program(parameters: Mapping[str, Any]) -> Path | None:
    return find_program(parameters.get("program", "aider"))


def _prepare(folder: Path) -> None:
    """A home in which it finds what it would fetch at every start."""
    caches = folder / "caches"
    caches.mkdir(parents=True, exist_ok=True)
    prices = caches / "model_prices_and_context_window.json"
    # An empty one counts as none.
    prices.write_text(json.dumps({"sample_spec": {}}), encoding="utf-8")


def _argv(program: Path, assignment: Assignment, folder: Path) -> list[str]:
    parameters = assignment.parameters
    argv = [str(program), "--message-file", str(assignment.prompt_file), "--yes-always"]
    argv += ["--no-auto-commits", "--no-gitignore", "--no-pretty", "--no-stream"]
    argv += ["--no-check-update", "--analytics-disable", "--no-show-release-notes"]
    argv += ["--no-show-model-warnings", "--no-suggest-shell-commands", "--no-detect-urls"]
    argv += ["--map-tokens", str(parameters.get("map_tokens", _MAP_TOKENS))]
    argv += ["--analytics-log", str(folder / "events.jsonl")]
    argv += ["--chat-history-file", str(folder / "chat.md")]
    argv += ["--input-history-file", str(folder / "input")]
    argv += ["--llm-history-file", str(folder / "model.log")]
    if assignment.model:
        argv += ["--model", assignment.model]
    if assignment.reasoning:
        argv += ["--reasoning-effort", assignment.reasoning]
    if "edit_format" in parameters:
        argv += ["--edit-format", parameters["edit_format"]]
    if "test_command" in parameters:
        argv += ["--test-cmd", parameters["test_command"], "--auto-test"]
    for name in parameters.get("read", ()):
        argv += ["--read", name]
    return [*argv, *parameters.get("arguments", ()), *parameters.get("files", ())]


def _environment(assignment: Assignment) -> dict[str, str]:
    environment = {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "PYTHONDONTWRITEBYTECODE": "1",
        # What it says of errors has to be seen while it works.
        "PYTHONUNBUFFERED": "1",
    }
    if "base_url" in assignment.parameters:
        environment["OPENAI_API_BASE"] = assignment.parameters["base_url"]
    return environment


class _Watch:
    """Holds it to the limits, of which it knows none, and to trying again only so often."""

    def __init__(self, assignment: Assignment, folder: Path) -> None:
        self._meter = Meter(assignment)
        self._log = Tail(folder / "events.jsonl")
        self._printed = Lines(assignment.output / "stdout.txt")
        self._retries = 0
        self._most = retries_of(assignment.parameters)

    def __call__(self) -> str:
        for line in self._printed.added():
            self._retries += line.startswith(_RETRY)
        for record in self._log.more():
            if is_answer(record):
                self._meter.call(str(self._meter.calls), usage_of(record))
                self._retries = 0
        if self._retries > self._most:
            return f"{_GAVE_UP} {self._retries} times"
        return self._meter.over()


def _result(assignment: Assignment, process: ProcessResult, folder: Path) -> AgentResult:
    for name in ("events.jsonl", "chat.md", "model.log"):
        keep_copy(folder / name, assignment.output / f"aider-{name}", MOST_BYTES)
    run = read_aider(
        read_records(folder / "events.jsonl"),
        folder / "chat.md",
        folder / "model.log",
        assignment.prompt,
        assignment.workspace,
    )
    finish = _finish(run, process, assignment.output)
    model = assignment.model
    return AgentResult(
        end=finish.end,
        message=finish.message,
        process=process,
        usage=run.usage,
        reported_version=run.version,
        by_model={model: run.usage} if model else {},
        trouble=finish.trouble,
        claims=claims_of(run.last_words),
        trajectory=Trajectory(
            client=AiderAgent.name,
            client_version=run.version,
            model=model,
            source="aider-chat.md",
            truncated=run.cut or not run.exited,
            unknown_events=run.unknown,
            events=run.events,
        ),
    )


def _finish(run: AiderRun, process: ProcessResult, output: Path) -> Finish:
    """The table: how its process ended, then its logs; its exit status says nothing."""
    failure = ": ".join(run.failure or ())
    trouble = trouble_of_exception(*run.failure) if run.failure else None

    def gave_up(said: str) -> Trouble | None:
        return (trouble or Trouble.SERVER) if _GAVE_UP in said else None

    ending = Ending(client=CLIENT, process=process)
    finish = ending.judged(lambda: _judged(run, trouble, ending, output), gave_up)
    if failure and failure not in finish.message:
        finish = replace(finish, message=f"{finish.message}: {failure}")
    return finish


def _judged(run: AiderRun, trouble: Trouble | None, ending: Ending, output: Path) -> Finish:
    if run.failure is not None:
        return ending.gave_up(trouble, ": ".join(run.failure))
    if run.stuck:
        done = f"{run.edits} edits were made" if run.edits else "no edit was made"
        return ending.gave_up(None, f"{done}: {run.stuck}")
    if ending.process.exit_code == 0 and run.answers:
        return ending.finished()
    return ending.failed(
        "" if run.answers else ", with no answer of the model", error_output(output)
    )
