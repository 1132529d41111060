"""The adapter for opencode: headless, with settings of its own, judged by what it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trialbook.api import (
    AgentEnd,
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
    trouble_of_status,
)
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
    package_of,
)
from trialbook_agents.jsonl import MOST_BYTES, Lines, Tail, read_records
from trialbook_agents.meter import Meter
from trialbook_agents.opencode_stream import (
    OpencodeRun,
    calls_kept,
    failure_text,
    read_opencode,
    usage_of,
    version_kept,
)
from trialbook_agents.parameters import (
    key_schema,
    program_schema,
    retries_of,
    retries_schema,
    schema,
    url_schema,
)
from trialbook_agents.shapes import count, mapping, one_line, text

CLIENT = "opencode"
INSTALL = "npm install --global opencode-ai"

_PROVIDER = "trialbook"
_KEY = "OPENAI_API_KEY"
_PACKAGES = {"chat": "@ai-sdk/openai-compatible", "messages": "@ai-sdk/anthropic"}
_GAVE_UP = "the model answered with an error"
_FAILED = re.compile(rb'level=ERROR [^\n]*message="stream error" [^\n]*small=false[^\n]*')
_REASON = re.compile(rb'error\.error="([^"\n]*)')
_QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_SHARE": "1",
    "OPENCODE_DISABLE_TERMINAL_TITLE": "1",
}
_NAMES = {
    "ContextOverflowError": Trouble.REQUEST,
    "MessageOutputLengthError": Trouble.REQUEST,
    "ProviderAuthError": Trouble.AUTHENTICATION,
    "ProviderModelNotFoundError": Trouble.MODEL,
}
_WORDS = (
    ("model not found", Trouble.MODEL),
    ("rate limit", Trouble.RATE_LIMIT),
    ("too many requests", Trouble.RATE_LIMIT),
    ("overloaded", Trouble.OVERLOADED),
    ("api key is missing", Trouble.AUTHENTICATION),
    ("unable to connect", Trouble.CONNECTION),
    ("cannot connect", Trouble.CONNECTION),
    ("connection", Trouble.CONNECTION),
    ("timed out", Trouble.CONNECTION),
)


class OpencodeAgent:
    """Runs ``opencode run`` once; the prompt goes to its standard input, whatever its size."""

    name = "opencode"
    parameters = schema(
        program=program_schema("opencode"),
        base_url=url_schema(
            "Where the model is asked. Without it, `model` is `provider/model` as the client "
            "knows it."
        ),
        protocol={
            "enum": list(_PACKAGES),
            "default": "chat",
            "description": (
                "What the server at `base_url` speaks: OpenAI's chat completions, or Anthropic's "
                "messages."
            ),
        },
        key=key_schema(
            _KEY, "The environment variable, one of `secrets`, that holds the key for `base_url`."
        ),
        context_tokens={
            "type": "integer",
            "minimum": 1,
            "default": 128_000,
            "description": "How much a model at `base_url` can read.",
        },
        output_tokens={
            "type": "integer",
            "minimum": 1,
            "default": 16_000,
            "description": "How much a model at `base_url` can write in one answer.",
        },
        project={
            "type": "boolean",
            "default": True,
            "description": "Whether the workspace's own settings of the client count.",
        },
        retries=retries_schema(),
        config={
            "type": "object",
            "description": "More settings of the client, as in its `opencode.json`.",
        },
    )
    settings: Mapping[str, Any] = {
        "approval": {"enum": ["allow", "deny", "plan"]},
        "reasoning": {"enum": ["none", "minimal", "low", "medium", "high", "xhigh", "max"]},
    }

    def version(self) -> str:
        """The version of this adapter."""
        return "1"

    def client(self, parameters: Mapping[str, Any], spawn: Spawn) -> Client:
        """The client that is installed here."""
        return ask_version(_program(parameters), CLIENT, spawn, INSTALL)

    def readable(self, parameters: Mapping[str, Any]) -> Iterable[Path]:
        """Where it is installed."""
        return (package_of(need_program(_program(parameters), CLIENT, INSTALL)),)

    def enforces(self, model: str | None, prices: PriceTable | None) -> Iterable[str]:
        """All by looking on; money only where the model has a price."""
        return kept_by_looking(model, prices)

    def run(self, assignment: Assignment) -> AgentResult:
        """Run the client once."""
        try:
            program = need_program(_program(assignment.parameters), CLIENT, INSTALL)
        except EnvironmentProblem as problem:
            return not_here(problem)
        data = assignment.home / ".opencode-data"
        process = assignment.start(
            _argv(program, assignment),
            stdin=assignment.prompt_file,
            environment=_environment(assignment, data),
            stop_when=_Watch(assignment, data / "opencode"),
        )
        return _result(assignment, process, data / "opencode")


def _program(parameters: Mapping[str, Any]) -> Path | None:
    return find_program(parameters.get("program", "opencode"))


def _argv(program: Path, assignment: Assignment) -> list[str]:
    # A title of its own keeps it from asking a model for one.
    argv = [str(program), "run", "--format", "json", "--title", "trial"]
    if assignment.approval == "allow":
        argv += ["--auto"]
    elif assignment.approval == "plan":
        argv += ["--agent", "plan"]
    if model := _model(assignment):
        argv += ["--model", model]
    if assignment.reasoning:
        argv += ["--variant", assignment.reasoning]
    return argv


def _model(assignment: Assignment) -> str:
    """The model as the client names it."""
    if "base_url" in assignment.parameters and assignment.model:
        return f"{_PROVIDER}/{assignment.model}"
    return assignment.model or ""


def _environment(assignment: Assignment, data: Path) -> dict[str, str]:
    environment = {
        **_QUIET,
        # These settings go before those of the workspace.
        "OPENCODE_CONFIG_CONTENT": json.dumps(_config(assignment)),
        "XDG_DATA_HOME": str(data),
    }
    if not assignment.parameters.get("project", True):
        environment["OPENCODE_DISABLE_PROJECT_CONFIG"] = "1"
    return environment


def _config(assignment: Assignment) -> dict[str, Any]:
    parameters = assignment.parameters
    config: dict[str, Any] = {
        "share": "disabled",
        "autoupdate": False,
        # It would copy the whole workspace for each step, to be able to undo it.
        "snapshot": False,
        # Else it stops, with status 0, at the first thing that it is not permitted.
        "experimental": {"continue_loop_on_deny": True},
    }
    if "base_url" in parameters and assignment.model:
        config["small_model"] = f"{_PROVIDER}/{assignment.model}"
        config["provider"] = {
            _PROVIDER: {
                "npm": _PACKAGES[parameters.get("protocol", "chat")],
                "options": {
                    "baseURL": parameters["base_url"],
                    "apiKey": f"{{env:{parameters.get('key', _KEY)}}}",
                },
                "models": {assignment.model: _model_settings(parameters)},
            }
        }
    return config | dict(parameters.get("config", {}))


def _model_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tool_call": True,
        "limit": {
            "context": parameters.get("context_tokens", 128_000),
            "output": parameters.get("output_tokens", 16_000),
        },
    }


class _Watch:
    """Holds it to the limits, of which it knows none, and to trying again only so often."""

    def __init__(self, assignment: Assignment, data: Path) -> None:
        self._meter = Meter(assignment)
        self._stream = Tail(assignment.output / "stdout.txt")
        self._log = Lines(data / "log" / "opencode.log")
        self._failures = 0
        self._most = retries_of(assignment.parameters)

    def __call__(self) -> str:
        for record in self._stream.more():
            if record.get("type") == "step_finish":
                part = mapping(record.get("part"))
                self._meter.call(text(part.get("id")), usage_of(mapping(part.get("tokens"))))
                self._failures = 0
        for line in self._log.added():
            self._failures += _FAILED.search(line) is not None
            if self._failures > self._most:
                said = _REASON.search(line)
                why = one_line(said[1].decode("utf-8", "replace")) if said else ""
                return f"{_GAVE_UP} {self._failures} times, and it tries for ever: {why}"
        return self._meter.over()


def _result(assignment: Assignment, process: ProcessResult, data: Path) -> AgentResult:
    output = assignment.output
    keep_copy(data / "log" / "opencode.log", output / "opencode.log", MOST_BYTES)
    model = _model(assignment)
    run = read_opencode(
        read_records(output / "stdout.txt"),
        calls_kept(data / "opencode.db"),
        assignment.prompt,
        assignment.workspace,
        model,
    )
    version = version_kept(data / "opencode.db")
    ending = Ending(client=CLIENT, process=process)
    finish = ending.judged(lambda: _judged(run, ending, output), _lost)
    prefix = f"{_PROVIDER}/"
    return AgentResult(
        end=finish.end,
        message=finish.message,
        process=process,
        usage=run.usage,
        by_model={name.removeprefix(prefix): used for name, used in run.by_model.items()},
        reported_version=version,
        trouble=finish.trouble,
        session_id=run.session,
        denied=run.denied,
        claims=claims_of(run.last_words),
        trajectory=Trajectory(
            client=OpencodeAgent.name,
            client_version=version,
            session_id=run.session,
            model=model.removeprefix(prefix) or None,
            source="stdout.txt",
            truncated=run.cut or process.output_cut or not (run.failure or _ended(run)),
            unknown_events=run.unknown,
            events=run.events,
        ),
    )


def _ended(run: OpencodeRun) -> bool:
    """Whether its last answer asked for nothing more."""
    return run.reason not in {"", "tool-calls"}


def _lost(said: str) -> Trouble | None:
    return (_by_words(said) or Trouble.SERVER) if _GAVE_UP in said else None


def _judged(run: OpencodeRun, ending: Ending, output: Path) -> Finish:
    """The table of what it printed; what is not known is an error."""
    if run.failure:
        return ending.gave_up(_trouble(run.failure), failure_text(run.failure))
    exited = ending.process.exit_code == 0
    if exited and run.reason == "stop":
        return ending.finished()
    if exited and run.denied and run.reason == "tool-calls":
        what = run.denied[-1]
        why = f"it stopped because it was not permitted: {what.tool} {what.detail}"
        return Finish(end=AgentEnd.ERROR, message=f"{CLIENT} ended {ending.after}: {why}")
    last = f", and its last answer ended with {run.reason!r}" if run.reason else ", with no answer"
    return ending.failed(last, error_output(output))


def _trouble(failure: Mapping[str, Any]) -> Trouble | None:
    """What kept the model from answering, by name, by status, or by words; None if nothing says."""
    name = text(failure.get("name"))
    if name in _NAMES:
        return _NAMES[name]
    status = count(mapping(failure.get("data")).get("statusCode"))
    if status is not None:
        return trouble_of_status(status)
    return _by_words(failure_text(failure))


def _by_words(said: str) -> Trouble | None:
    lowered = said.lower()
    return next((trouble for words, trouble in _WORDS if words in lowered), None)
