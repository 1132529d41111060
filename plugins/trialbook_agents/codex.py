"""The adapter for the Codex command line: headless, in a home of its own, judged by its records."""

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
    Denial,
    EnvironmentProblem,
    EventKind,
    JudgeReply,
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
    files_below,
    find_program,
    keep_copy,
    kept_by_looking,
    need_program,
    not_here,
    package_of,
)
from trialbook_agents.codex_record import read_codex
from trialbook_agents.codex_run import CodexRun, usage_of
from trialbook_agents.codex_stream import RECONNECTING
from trialbook_agents.jsonl import MOST_BYTES, Tail, parse_line, read_records
from trialbook_agents.judging import codex_asked, file_reply
from trialbook_agents.meter import Meter
from trialbook_agents.parameters import (
    ARGUMENTS,
    DOTTED,
    key_schema,
    program_schema,
    retries_of,
    retries_schema,
    schema,
    url_schema,
)
from trialbook_agents.shapes import mapping, one_line, text

CLIENT = "Codex"
INSTALL = "npm install --global @openai/codex"

_MODES = {"allow": "danger-full-access", "deny": "workspace-write"}
_OWN_MODES = ("read-only", "workspace-write", "danger-full-access")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
_PROVIDER = "trialbook"
_OPENAI = "https://api.openai.com/v1"
_KEY = "OPENAI_API_KEY"
_STATUS = re.compile(r"status:? (\d{3})\b")
_BROKEN_SANDBOX = re.compile(
    r"bwrap: |codex-linux-sandbox|.*execvp codex-linux-sandbox|error building bubblewrap command"
)

_INFO = {
    "usage_limit_exceeded": Trouble.BILLING,
    "server_overloaded": Trouble.OVERLOADED,
    "internal_server_error": Trouble.SERVER,
    "unauthorized": Trouble.AUTHENTICATION,
    "context_window_exceeded": Trouble.REQUEST,
    "bad_request": Trouble.REQUEST,
}
_WORDS = (
    ("ran out of room in the model's context", Trouble.REQUEST),
    ("quota exceeded", Trouble.BILLING),
    ("usage limit", Trouble.BILLING),
    ("missing environment variable", Trouble.AUTHENTICATION),
    ("high demand", Trouble.SERVER),
    ("does not exist", Trouble.MODEL),
    ("rate limit", Trouble.RATE_LIMIT),
    ("connection failed", Trouble.CONNECTION),
    ("error sending request", Trouble.CONNECTION),
    ("stream disconnected", Trouble.CONNECTION),
    ("timed out", Trouble.CONNECTION),
)


class CodexAgent:
    """Runs ``codex exec`` once; the prompt goes to its standard input, whatever its size."""

    name = "codex"
    parameters = schema(
        program=program_schema("codex"),
        base_url=url_schema(
            "Where the model is asked; it has to speak Responses.", default=_OPENAI
        ),
        key=key_schema(_KEY, "The environment variable, one of `secrets`, that holds the key."),
        login={
            "type": "boolean",
            "default": False,
            "description": (
                "Whether it uses the login in its home instead of a key; see `credential_files`."
            ),
        },
        trust={
            "type": "boolean",
            "default": False,
            "description": "Whether the settings and hooks of the workspace count.",
        },
        retries=retries_schema(),
        config=DOTTED,
        arguments=ARGUMENTS,
    )
    settings: Mapping[str, Any] = {
        "approval": {"enum": [*_MODES, *_OWN_MODES]},
        "reasoning": {"enum": list(_EFFORTS)},
    }

    def version(self) -> str:
        """The version of this adapter."""
        return "1"

    def client(self, parameters: Mapping[str, Any], spawn: Spawn) -> Client:
        """The client that is installed here."""
        return ask_version(_program(parameters), CLIENT, spawn, INSTALL)

    def readable(self, parameters: Mapping[str, Any]) -> Iterable[Path]:
        """Where it is installed."""
        program = need_program(_program(parameters), CLIENT, INSTALL)
        return (package_of(program, "codex-package.json"),)

    def enforces(self, model: str | None, prices: PriceTable | None) -> Iterable[str]:
        """Nothing is kept by the client; money is only where the model has a price."""
        return kept_by_looking(model, prices)

    def run(self, assignment: Assignment) -> AgentResult:
        """Run the client once."""
        try:
            program = need_program(_program(assignment.parameters), CLIENT, INSTALL)
        except EnvironmentProblem as problem:
            return not_here(problem)
        folder = assignment.home / ".codex"
        folder.mkdir(exist_ok=True)
        if assignment.parameters.get("trust"):
            _trust(folder, assignment.workspace)
        process = assignment.start(
            _argv(program, assignment),
            stdin=assignment.prompt_file,
            environment={"CODEX_HOME": str(folder)},
            stop_when=_Watch(assignment, folder),
        )
        return _result(assignment, process, folder)

    def judge(self, assignment: Assignment, schema: Mapping[str, Any]) -> JudgeReply:
        """Ask for one JSON value. The server is to enforce the form; the client does not."""
        asked, answer = codex_asked(assignment, schema)
        return file_reply(self.run(asked), answer, "its last message")


def _program(parameters: Mapping[str, Any]) -> Path | None:
    """The native program; what npm puts on the PATH only starts it."""
    found = find_program(parameters.get("program", "codex"))
    if found is None or found.suffix != ".js":
        return found
    for modules in list(found.parents)[:4]:
        for place in ("", "node_modules/@openai"):
            natives = sorted(modules.glob(f"{place}/codex-*/vendor/*/bin/codex".lstrip("/")))
            if natives:
                return natives[0]
    return found


def _argv(program: Path, assignment: Assignment) -> list[str]:
    parameters = assignment.parameters
    mode = assignment.approval or "allow"
    argv = [str(program), "exec", "--json", "--color", "never", "--skip-git-repo-check"]
    argv += ["--sandbox", _MODES.get(mode, mode)]
    if assignment.model:
        argv += ["--model", assignment.model]
    if parameters.get("trust"):
        # Its hooks would have to be reviewed one by one, by a person.
        argv += ["--dangerously-bypass-hook-trust"]
    for name, value in _config(assignment).items():
        argv += ["--config", f"{name}={json.dumps(value)}"]
    return [*argv, *parameters.get("arguments", ()), "-"]


def _config(assignment: Assignment) -> dict[str, Any]:
    parameters = assignment.parameters
    config: dict[str, Any] = {
        "check_for_update_on_startup": False,
        "analytics.enabled": False,
        # It fetches lists of plugins from several places, whatever the provider.
        "features.plugins": False,
        # What it starts beside itself, other runs would share.
        "features.daemon_auto_start": False,
        # Else it might look for its login in the operator's keyring.
        "cli_auth_credentials_store": "file",
    }
    # With a login it knows by itself where to ask, unless it is told.
    if "base_url" in parameters or not parameters.get("login"):
        config |= _provider(parameters)
    if assignment.reasoning:
        config["model_reasoning_effort"] = assignment.reasoning
    return config | dict(parameters.get("config", {}))


def _provider(parameters: Mapping[str, Any]) -> dict[str, Any]:
    provider = f"model_providers.{_PROVIDER}"
    config: dict[str, Any] = {
        "model_provider": _PROVIDER,
        f"{provider}.name": _PROVIDER,
        f"{provider}.base_url": parameters.get("base_url", _OPENAI),
        f"{provider}.wire_api": "responses",
        f"{provider}.request_max_retries": retries_of(parameters),
        f"{provider}.stream_max_retries": retries_of(parameters),
    }
    if parameters.get("login"):
        return config | {f"{provider}.requires_openai_auth": True}
    return config | {f"{provider}.env_key": parameters.get("key", _KEY)}


def _trust(folder: Path, workspace: Path) -> None:
    """Settings of its own, by which a workspace counts as one of the operator's projects."""
    # A JSON string is a TOML string, but for characters that no path of ours has.
    project = json.dumps(str(workspace))
    settings = f'[projects.{project}]\ntrust_level = "trusted"\n'
    (folder / "config.toml").write_text(settings, encoding="utf-8")


class _Watch:
    """Holds it to the limits, of which it knows none, and to trying again only so often."""

    def __init__(self, assignment: Assignment, folder: Path) -> None:
        self._meter = Meter(assignment)
        self._stream = Tail(assignment.output / "stdout.txt")
        self._sessions = folder / "sessions"
        self._rollouts: dict[Path, Tail] = {}
        self._waits = 0
        self._retries = retries_of(assignment.parameters)

    def __call__(self) -> str:
        for record in self._stream.more():
            waiting = text(record.get("message")).startswith(f"{RECONNECTING} waiting")
            self._waits = self._waits + 1 if waiting else 0
        # It waits longer each time, for ever, whatever number of retries it is given.
        if self._waits > self._retries:
            return f"{_NO_NETWORK}; it tried {self._waits} times, and would for ever"
        for path in files_below(self._sessions, "rollout-*.jsonl"):
            for record in self._rollouts.setdefault(path, Tail(path)).more():
                if record.get("type") == "token_usage_record":
                    said = mapping(mapping(record.get("payload")).get("usage"))
                    self._meter.call(str(self._meter.calls), usage_of(said))
        return self._meter.over()


_NO_NETWORK = "the model cannot be reached"


def _result(assignment: Assignment, process: ProcessResult, folder: Path) -> AgentResult:
    output = assignment.output
    stream = read_records(output / "stdout.txt")
    paths = _rollouts(folder, text(stream.items[0].get("thread_id")) if stream.items else "")
    for place, path in enumerate(paths):
        name = "rollout.jsonl" if place == 0 else f"rollout-{place + 1}.jsonl"
        keep_copy(path, output / name, MOST_BYTES)
    run = read_codex(
        stream, [read_records(path) for path in paths], assignment.prompt, assignment.workspace
    )
    ending = Ending(client=CLIENT, process=process)
    finish = ending.judged(lambda: _judged(run, ending, output), _lost)
    model = run.model or assignment.model
    return AgentResult(
        end=finish.end,
        message=finish.message,
        process=process,
        usage=run.usage,
        by_model={model: run.usage} if model else {},
        reported_version=run.version,
        trouble=finish.trouble,
        session_id=run.session,
        denied=tuple(
            Denial(tool=event.tool or "", detail=one_line(event.command or event.path or ""))
            for event in run.events
            if event.denied
        ),
        claims=claims_of(run.last_words),
        trajectory=Trajectory(
            client=CodexAgent.name,
            client_version=run.version,
            session_id=run.session,
            model=model,
            source="rollout.jsonl" if run.from_rollout else "stdout.txt",
            truncated=run.cut or process.output_cut or not (run.completed or run.failure),
            unknown_events=run.unknown,
            events=run.events,
        ),
    )


def _rollouts(folder: Path, session: str) -> list[Path]:
    """The session's own rollout first, then those of its sub-agents, in order of time."""
    found = files_below(folder / "sessions", "rollout-*.jsonl")
    return sorted(found, key=lambda path: (not session or session not in path.name, path.name))


def _lost(said: str) -> Trouble | None:
    return Trouble.CONNECTION if _NO_NETWORK in said else None


def _judged(run: CodexRun, ending: Ending, output: Path) -> Finish:
    """The table of what it printed; what is not known is an error."""
    if run.failure is not None:
        return ending.gave_up(_trouble(run), one_line(run.failure))
    if run.completed and ending.process.exit_code == 0:
        if broken := _broken_sandbox(run):
            why = f"the sandbox of {CLIENT} itself does not work here: {broken}"
            hint = "use `approval: allow` in a sandbox of trialbook"
            return Finish(end=AgentEnd.ENVIRONMENT, message=f"{why}; {hint}")
        return ending.finished()
    return ending.failed(", and no turn was completed", error_output(output))


def _broken_sandbox(run: CodexRun) -> str:
    """What its sandbox said, if that let no command at all through; else an empty text."""
    said = [event.output or "" for event in run.events if event.kind is EventKind.COMMAND]
    broken = [output for output in said if _BROKEN_SANDBOX.match(output)]
    return one_line(broken[0]) if broken and len(broken) == len(said) else ""


def _trouble(run: CodexRun) -> Trouble | None:
    """What kept the model from answering, by name, by status, or by words; None if nothing says."""
    info, failure = run.error_info, run.failure or ""
    if isinstance(info, str) and info in _INFO:
        return _INFO[info]
    status = _STATUS.search(failure)
    if status:
        return trouble_of_status(int(status[1]))
    if mapping(parse_line(failure.encode())).get("error"):
        return Trouble.REQUEST  # the answer to it as it came
    lowered = failure.lower()
    return next((trouble for words, trouble in _WORDS if words in lowered), None)
