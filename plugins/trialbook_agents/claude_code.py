"""The adapter for Claude Code: headless, in a home of its own, judged by what it prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trialbook.api import (
    AgentResult,
    Assignment,
    Client,
    EnvironmentProblem,
    JudgeReply,
    PriceTable,
    ProcessResult,
    Spawn,
    StopWhen,
    Trajectory,
    Trouble,
    claims_of,
    trouble_of_status,
)
from trialbook_agents.claude_stream import ClaudeRun, read_claude, usage_of
from trialbook_agents.clients import (
    Ending,
    Finish,
    ask_version,
    error_output,
    files_below,
    find_program,
    keep_copy,
    need_program,
    not_here,
    package_of,
)
from trialbook_agents.jsonl import MOST_BYTES, Tail, read_records
from trialbook_agents.judging import claude_asked, claude_reply
from trialbook_agents.meter import Meter
from trialbook_agents.parameters import (
    ARGUMENTS,
    NAMES,
    program_schema,
    retries_of,
    retries_schema,
    schema,
    url_schema,
)
from trialbook_agents.shapes import Json, count, listed, mapping, one_line, text

CLIENT = "Claude Code"
INSTALL = "npm install --global @anthropic-ai/claude-code"

_ASK = "deny"
_MODES = {_ASK: "acceptEdits", "allow": "bypassPermissions"}
_OWN_MODES = ("acceptEdits", "auto", "bypassPermissions", "dontAsk", "manual", "plan")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")

_QUIET = {
    # Each on its own keeps it from calling home; together they say what is meant.
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    # Root may have its permissions only where this says that there is a sandbox.
    "IS_SANDBOX": "1",
}
_TROUBLES = {
    "authentication_failed": Trouble.AUTHENTICATION,
    "billing_error": Trouble.BILLING,
    "model_not_found": Trouble.MODEL,
    "rate_limit": Trouble.RATE_LIMIT,
    "overloaded": Trouble.OVERLOADED,
}


class ClaudeCodeAgent:
    """Runs ``claude -p`` once; the prompt goes to its standard input, whatever its size."""

    name = "claude-code"
    parameters = schema(
        program=program_schema("claude"),
        base_url=url_schema(),
        allowed_tools={
            **NAMES,
            "default": ["Bash"],
            "description": "Tools, or rules for them, that may be used without being asked.",
        },
        disallowed_tools={
            **NAMES,
            "description": "Tools, or rules for them, that may not be used.",
        },
        settings={
            "type": "array",
            "items": {"enum": ["project", "local"]},
            "default": ["project", "local"],
            "description": (
                "Which settings, hooks, instruction files and skills of the workspace count. "
                "Without any of them, the workspace gives the agent none."
            ),
        },
        retries=retries_schema(),
        answer_minutes={
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "How long the client waits for an answer of the model.",
        },
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
        return (package_of(need_program(_program(parameters), CLIENT, INSTALL)),)

    def enforces(self, model: str | None, prices: PriceTable | None) -> Iterable[str]:
        """The client keeps turns and money itself, tokens are kept by looking on."""
        del model, prices
        return ("turns", "usd", "tokens")

    def run(self, assignment: Assignment) -> AgentResult:
        """Run the client once."""
        try:
            program = need_program(_program(assignment.parameters), CLIENT, INSTALL)
            argv = _argv(program, assignment)
        except EnvironmentProblem as problem:
            return not_here(problem)
        folder = assignment.home / ".claude"
        temporary = assignment.home / "t"
        for made in (folder, temporary):
            made.mkdir(exist_ok=True)
        process = assignment.start(
            argv,
            stdin=assignment.prompt_file,
            environment=_environment(assignment, folder, temporary),
            stop_when=_token_watch(assignment, folder),
        )
        return _result(assignment, process, folder)

    def judge(self, assignment: Assignment, schema: Mapping[str, Any]) -> JudgeReply:
        """Ask for one JSON value; the client has the model call a tool with it."""
        result = self.run(claude_asked(assignment, schema))
        return claude_reply(result, read_records(assignment.output / "stdout.txt"))


def _program(parameters: Mapping[str, Any]) -> Path | None:
    return find_program(parameters.get("program", "claude"))


def _argv(program: Path, assignment: Assignment) -> list[str]:
    parameters, limits = assignment.parameters, assignment.limits
    mode = assignment.approval or _ASK
    argv = [str(program), "-p", "--output-format", "stream-json", "--verbose"]
    argv += ["--permission-mode", _MODES.get(mode, mode)]
    argv += ["--setting-sources", ",".join(["user", *parameters.get("settings", _SETTINGS)])]
    if assignment.model:
        argv += ["--model", assignment.model]
    if assignment.reasoning:
        argv += ["--effort", assignment.reasoning]
    if limits.turns is not None:
        argv += ["--max-turns", str(limits.turns)]
    if limits.usd is not None:
        argv += ["--max-budget-usd", f"{limits.usd:.6f}"]
    if allowed := parameters.get("allowed_tools", ["Bash"]):
        argv += ["--allowedTools", *allowed]
    if disallowed := parameters.get("disallowed_tools"):
        argv += ["--disallowedTools", *disallowed]
    # The lists of tools take every word up to the next option.
    return [*argv, "--no-chrome", *parameters.get("arguments", ())]


_SETTINGS = ("project", "local")


def _environment(assignment: Assignment, folder: Path, temporary: Path) -> dict[str, str]:
    parameters = assignment.parameters
    environment = {
        **_QUIET,
        "CLAUDE_CONFIG_DIR": str(folder),
        # It makes sockets below, whose paths have to be short.
        "CLAUDE_CODE_TMPDIR": str(temporary),
        "CLAUDE_CODE_MAX_RETRIES": str(retries_of(parameters)),
    }
    if "base_url" in parameters:
        environment["ANTHROPIC_BASE_URL"] = parameters["base_url"]
    if "answer_minutes" in parameters:
        environment["API_TIMEOUT_MS"] = str(int(parameters["answer_minutes"] * 60_000))
    return environment


def _token_watch(assignment: Assignment, folder: Path) -> StopWhen | None:
    """Counts the tokens of finished calls while it works, where their number is limited."""
    if assignment.limits.tokens is None:
        return None
    meter = Meter(assignment, ("tokens",))
    tails: dict[Path, Tail] = {}

    def look() -> str:
        for path in files_below(folder / "projects", "*.jsonl"):
            for record in tails.setdefault(path, Tail(path)).more():
                message = mapping(record.get("message"))
                if record.get("type") == "assistant":
                    meter.call(text(message.get("id")), usage_of(mapping(message.get("usage"))))
        return meter.over()

    return look


def _result(assignment: Assignment, process: ProcessResult, folder: Path) -> AgentResult:
    output = assignment.output
    paths = _transcripts(folder)
    for path in paths:
        keep_copy(path, output / _copy_name(path, paths[0]), MOST_BYTES)
    stream = read_records(output / "stdout.txt")
    run = read_claude(
        stream, [read_records(path) for path in paths], assignment.prompt, assignment.workspace
    )
    ending = Ending(client=CLIENT, process=process)
    finish = ending.judged(lambda: _judged(run, ending, output))
    return AgentResult(
        end=finish.end,
        message=finish.message,
        process=process,
        usage=run.usage,
        by_model=run.by_model,
        reported_version=run.version,
        trouble=finish.trouble,
        session_id=run.session,
        denied=run.denied,
        claims=claims_of(run.last_words),
        trajectory=Trajectory(
            client=ClaudeCodeAgent.name,
            client_version=run.version,
            session_id=run.session,
            model=run.model,
            source="stdout.txt",
            truncated=run.cut or process.output_cut or run.result is None,
            unknown_events=run.unknown,
            events=run.events,
        ),
    )


def _transcripts(folder: Path) -> list[Path]:
    """The session's own transcript first, then those of its sub-agents."""
    found = files_below(folder / "projects", "*.jsonl")
    return sorted(found, key=lambda path: (path.name.startswith("agent-"), str(path)))


def _copy_name(path: Path, first: Path) -> str:
    return "transcript.jsonl" if path == first else f"transcript-{path.name}"


_BUDGETS = {
    "error_max_turns": "the limit of turns was reached",
    "error_max_budget_usd": "the limit of money was reached",
}


def _judged(run: ClaudeRun, ending: Ending, output: Path) -> Finish:
    """The table of what it printed; what is not known is an error."""
    result = run.result
    if result is None:
        return ending.failed(" without a result", error_output(output))
    subtype = text(result.get("subtype"))
    if subtype in _BUDGETS:
        return ending.stopped(_BUDGETS[subtype])
    if result.get("is_error") is False and ending.process.exit_code == 0:
        return ending.finished()
    said = one_line(text(result.get("result")) or "; ".join(map(str, listed(result.get("errors")))))
    trouble = _trouble(run, result)
    if trouble is not None:
        status = count(result.get("api_error_status"))
        return ending.gave_up(trouble, said, "" if status is None else f", HTTP {status}")
    reason = text(result.get("terminal_reason")) or text(result.get("stop_reason")) or subtype
    return ending.failed(f": {reason}", said)


def _trouble(run: ClaudeRun, result: Json) -> Trouble | None:
    """What kept the model from answering, if that is why it ended."""
    if result.get("terminal_reason") == "prompt_too_long":
        return Trouble.REQUEST
    if result.get("terminal_reason") != "api_error":
        return None
    word, status = text(run.error.get("error")), count(result.get("api_error_status"))
    if word in _TROUBLES:
        return _TROUBLES[word]
    if status is not None:
        return trouble_of_status(status)
    said = text(result.get("result")).lower()
    if "not logged in" in said or "/login" in said:
        return Trouble.AUTHENTICATION
    lost = text(result.get("api_error")) == "connection_failed"
    lost = lost or any(words in said for words in ("timed out", "timeout", "connection"))
    return Trouble.CONNECTION if lost else None
