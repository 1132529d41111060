"""The adapter for Gemini CLI: headless, in a home of its own, judged by what it prints."""

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
    StopWhen,
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
    error_tail,
    files_below,
    find_program,
    keep_copy,
    kept_by_looking,
    need_program,
    not_here,
    package_of,
)
from trialbook_agents.gemini_stream import GeminiRun, answer_of, read_gemini
from trialbook_agents.jsonl import MOST_BYTES, Tail, read_object, read_records
from trialbook_agents.meter import Meter
from trialbook_agents.parameters import (
    ARGUMENTS,
    program_schema,
    retries_of,
    retries_schema,
    schema,
    url_schema,
)
from trialbook_agents.shapes import mapping, one_line, text

CLIENT = "Gemini CLI"
INSTALL = "npm install --global @google/gemini-cli"

_MODES = {"allow": "yolo", "deny": "auto_edit"}
_OWN_MODES = ("default", "auto_edit", "yolo", "plan")
# It reads no more than this from its standard input.
_LONGEST_PROMPT = 8 * 1024 * 1024
_SYSTEM = Path("/usr")
_STATUS = re.compile(r"^\s*(?:status|code): (\d{3}),?$", re.MULTILINE)
_FIRST_STATUS, _LAST_STATUS, _BYTE = 400, 599, 256
_TURNS = "FatalTurnLimitedError"
_WORDS = (
    ("terminalquotaerror", Trouble.BILLING),
    ("exhausted your", Trouble.BILLING),
    ("must specify the gemini_api_key", Trouble.AUTHENTICATION),
    ("set an auth method", Trouble.AUTHENTICATION),
    ("fetch failed", Trouble.CONNECTION),
    ("econnrefused", Trouble.CONNECTION),
    ("econnreset", Trouble.CONNECTION),
    ("etimedout", Trouble.CONNECTION),
)


class GeminiCliAgent:
    """Runs ``gemini`` once; the prompt goes to its standard input."""

    name = "gemini-cli"
    parameters = schema(
        program=program_schema("gemini"),
        base_url=url_schema(),
        retries=retries_schema(most=9),
        trust={
            "type": "boolean",
            "default": True,
            "description": (
                "Whether the workspace's settings, hooks and instruction files count. Without "
                "that, it cannot be headless with approval."
            ),
        },
        config={
            "type": "object",
            "description": "More settings of the client, as in its `settings.json`.",
        },
        arguments=ARGUMENTS,
    )
    settings: Mapping[str, Any] = {
        "approval": {"enum": [*_MODES, *_OWN_MODES]},
        "reasoning": {"enum": ["minimal", "low", "medium", "high"]},
    }

    def version(self) -> str:
        """The version of this adapter."""
        return "1"

    def longest_prompt(self, parameters: Mapping[str, Any]) -> int | None:
        """How many bytes it reads from its standard input."""
        del parameters
        return _LONGEST_PROMPT

    def client(self, parameters: Mapping[str, Any], spawn: Spawn) -> Client:
        """The client that is installed here."""
        program = _program(parameters)
        question = () if program is None else (*_runner(program), "--version")
        return ask_version(program, CLIENT, spawn, INSTALL, question)

    def readable(self, parameters: Mapping[str, Any]) -> Iterable[Path]:
        """Where it is installed, what it uses beside it, and the interpreter that it runs in."""
        program = need_program(_program(parameters), CLIENT, INSTALL)
        package = package_of(program)
        places = [package, *_beside(package)]
        node = Path(_runner(program)[0])
        if node != program and not node.is_relative_to(_SYSTEM):
            places.append(node.parent.parent)
        return places

    def enforces(self, model: str | None, prices: PriceTable | None) -> Iterable[str]:
        """The client keeps turns; tokens, and money by the run's prices, are kept by looking on."""
        return kept_by_looking(model, prices)

    def run(self, assignment: Assignment) -> AgentResult:
        """Run the client once."""
        try:
            program = need_program(_program(assignment.parameters), CLIENT, INSTALL)
        except EnvironmentProblem as problem:
            return not_here(problem)
        # Settings that go before those of the workspace are read only from below folders that
        # nobody else can write to, and no trial's are below such.
        settings = assignment.home / ".gemini" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(json.dumps(_settings(assignment)), encoding="utf-8")
        process = assignment.start(
            _argv(program, assignment),
            stdin=assignment.prompt_file,
            environment=_environment(assignment),
            stop_when=_watch(assignment),
        )
        return _result(assignment, process)


def _program(parameters: Mapping[str, Any]) -> Path | None:
    return find_program(parameters.get("program", "gemini"))


def _runner(program: Path) -> tuple[str, ...]:
    """The command that runs it: in the interpreter of whoever runs the evaluation, by its path."""
    node = find_program("node") if program.suffix in {".js", ".mjs"} else None
    return (str(program),) if node is None else (str(node), str(program))


def _beside(package: Path) -> list[Path]:
    """The packages that are installed beside it and belong to it."""
    about = mapping(read_object(package / "package.json"))
    names = [
        *mapping(about.get("dependencies")),
        *mapping(about.get("optionalDependencies")),
    ]
    modules = next((one for one in package.parents if one.name == "node_modules"), None)
    if modules is None:
        return []
    return [modules / str(name) for name in names if (modules / str(name)).is_dir()]


def _argv(program: Path, assignment: Assignment) -> list[str]:
    mode = assignment.approval or "allow"
    argv = [*_runner(program), "--output-format", "stream-json"]
    argv += ["--approval-mode", _MODES.get(mode, mode)]
    if assignment.model:
        argv += ["--model", assignment.model]
    return [*argv, *assignment.parameters.get("arguments", ())]


def _environment(assignment: Assignment) -> dict[str, str]:
    parameters = assignment.parameters
    environment = {
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_SANDBOX": "false",
    }
    if parameters.get("trust", True):
        environment["GEMINI_CLI_TRUST_WORKSPACE"] = "true"
    if "base_url" in parameters:
        environment["GOOGLE_GEMINI_BASE_URL"] = parameters["base_url"]
    return environment


def _settings(assignment: Assignment) -> dict[str, Any]:
    parameters = assignment.parameters
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {
            "disableAutoUpdate": True,
            "disableUpdateNag": True,
            "enableAutoUpdate": False,
            "maxAttempts": retries_of(parameters) + 1,
        },
    }
    if assignment.limits.turns is not None:
        settings["model"] = {"maxSessionTurns": assignment.limits.turns}
    if assignment.reasoning and assignment.model:
        thinking = {"thinkingLevel": assignment.reasoning.upper()}
        override = {
            "match": {"model": assignment.model},
            "modelConfig": {"generateContentConfig": {"thinkingConfig": thinking}},
        }
        settings["modelConfigs"] = {"customOverrides": [override]}
    for key, value in parameters.get("config", {}).items():
        known = settings.get(key)
        if isinstance(known, dict) and isinstance(value, Mapping):
            settings[key] = {**known, **value}
        else:
            settings[key] = value
    return settings


def _watch(assignment: Assignment) -> StopWhen | None:
    """Counts tokens and money of finished calls, where they are limited."""
    if assignment.limits.tokens is None and assignment.limits.usd is None:
        return None
    meter = Meter(assignment, ("tokens", "usd"))
    tails: dict[Path, Tail] = {}

    def look() -> str:
        for path in _chats(assignment.home, ""):
            for record in tails.setdefault(path, Tail(path)).more():
                answer = answer_of(record)
                if answer is not None:
                    meter.call(answer[0], answer[2])
        return meter.over()

    return look


def _chats(home: Path, session: str) -> list[Path]:
    """The record of the session itself first, then those of sub-agents."""
    found = [
        path for path in files_below(home / ".gemini" / "tmp", "*.jsonl") if "chats" in path.parts
    ]
    # The name has the beginning of the session's id.
    short = session.partition("-")[0]
    return sorted(found, key=lambda path: (not short or short not in path.name, str(path)))


def _result(assignment: Assignment, process: ProcessResult) -> AgentResult:
    output = assignment.output
    stream = read_records(output / "stdout.txt")
    session = text(stream.items[0].get("session_id")) if stream.items else ""
    paths = _chats(assignment.home, session)
    for place, path in enumerate(paths):
        name = "chat.jsonl" if place == 0 else f"chat-{place + 1}.jsonl"
        keep_copy(path, output / name, MOST_BYTES)
    run = read_gemini(
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
        trouble=finish.trouble,
        session_id=run.session,
        denied=run.denied,
        claims=claims_of(run.last_words),
        trajectory=Trajectory(
            client=GeminiCliAgent.name,
            session_id=run.session,
            model=run.model or assignment.model,
            source="stdout.txt",
            truncated=run.cut or process.output_cut or run.result is None,
            unknown_events=run.unknown,
            events=run.events,
        ),
    )


def _judged(run: GeminiRun, ending: Ending, output: Path) -> Finish:
    """The table of what it printed; what is not known is an error."""
    process, result = ending.process, mapping(run.result)
    error = mapping(result.get("error"))
    if run.stopped:
        message = f"{CLIENT} ended the work {ending.after}: {run.stopped}"
        return Finish(end=AgentEnd.ERROR, message=message)
    if result.get("status") == "success" and process.exit_code == 0:
        return ending.finished()
    if error.get("type") == _TURNS:
        return ending.stopped("the limit of turns was reached")
    said = one_line(text(error.get("message"))) or error_output(output)
    trouble = _trouble(said, process, error_tail(output)) if error or not result else None
    if trouble is not None:
        return ending.gave_up(trouble, said)
    what = ", with a result that is an error" if result else ", with no result"
    return ending.failed(what, said)


def _trouble(said: str, process: ProcessResult, errors: str) -> Trouble | None:
    """What kept the model from answering, by words, by status; None if nothing says."""
    if process.exit_code == 0:
        return None
    lowered = f"{said}\n{errors}".lower()
    by_words = next((trouble for words, trouble in _WORDS if words in lowered), None)
    if by_words is not None:
        return by_words
    statuses = _STATUS.findall(errors)
    # It exits with the status of the answer, of which a byte is left.
    code = (process.exit_code or 0) + _BYTE
    status = int(statuses[-1]) if statuses else code
    known = _FIRST_STATUS <= status <= _LAST_STATUS
    return trouble_of_status(status) if known else None
