"""The adapter for mini-swe-agent: its command line without questions, judged by its trajectory."""

from __future__ import annotations

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
    claims_of,
    money,
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
)
from trialbook_agents.jsonl import MOST_BYTES, read_object
from trialbook_agents.litellm_errors import trouble_of_exception
from trialbook_agents.meter import Meter
from trialbook_agents.mini_config import config_text
from trialbook_agents.mini_trajectory import SUBMITTED, MiniRun, calls_in, read_mini
from trialbook_agents.parameters import (
    DOTTED,
    program_schema,
    retries_of,
    retries_schema,
    schema,
    url_schema,
)
from trialbook_agents.python_clients import ask_package, package_file, places_of
from trialbook_agents.shapes import listed, one_line

CLIENT = "mini-swe-agent"
INSTALL = "pipx install mini-swe-agent"
KEPT = "mini.traj.json"

_BASE = "mini.yaml"


class MiniSweAgent:
    """Runs ``mini`` once; the prompt is in a settings file, whatever its size."""

    name = "mini-swe-agent"
    parameters = schema(
        program=program_schema("mini"),
        base_url=url_schema(),
        base={
            "type": "string",
            "pattern": r"^[A-Za-z0-9_-]+\.yaml$",
            "default": _BASE,
            "description": "The settings that it starts from, one of those it ships.",
        },
        config_files={
            "type": "array",
            "items": {"type": "string", "pattern": r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*\.yaml$"},
            "description": (
                "More settings, files in the configuration's `files` folder; the later one counts."
            ),
        },
        config=DOTTED,
        model_class={
            "type": "string",
            "minLength": 1,
            "description": "How the model is asked; its own choice if not given.",
        },
        retries=retries_schema(),
        command_seconds={
            "type": "integer",
            "minimum": 1,
            "description": "How long one command may take; 30 if not given.",
        },
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
            question = ask_package(program, CLIENT) if program else ()
        except EnvironmentProblem as problem:
            return Client(program=str(program), reason=problem.message, hint=problem.hint)
        return ask_version(program, CLIENT, spawn, INSTALL, question)

    def readable(self, parameters: Mapping[str, Any]) -> Iterable[Path]:
        """Where it is installed: its virtual environment, and the interpreter that this is of."""
        return places_of(need_program(_program(parameters), CLIENT, INSTALL))

    def enforces(self, model: str | None, prices: PriceTable | None) -> Iterable[str]:
        """The client keeps turns; tokens, and money by the run's prices, are kept by looking on."""
        return kept_by_looking(model, prices)

    def run(self, assignment: Assignment) -> AgentResult:
        """Run the client once."""
        folder = assignment.home / ".mini-swe-agent"
        try:
            program = need_program(_program(assignment.parameters), CLIENT, INSTALL)
            argv = _argv(program, assignment, folder)
        except EnvironmentProblem as problem:
            return not_here(problem)
        folder.mkdir(exist_ok=True)
        (folder / "trial.yaml").write_text(config_text(_settings(assignment)), encoding="utf-8")
        process = assignment.start(
            argv,
            environment=_environment(assignment, folder),
            stop_when=_watch(assignment, folder / KEPT),
        )
        return _result(assignment, process, folder / KEPT)


def _program(parameters: Mapping[str, Any]) -> Path | None:
    return find_program(parameters.get("program", "mini"))


def _argv(program: Path, assignment: Assignment, folder: Path) -> list[str]:
    parameters = assignment.parameters
    base = parameters.get("base", _BASE)
    # By its whole path: a file of that name in the workspace would be taken before it.
    shipped = package_file(program, f"minisweagent/config/{base}")
    if shipped is None:
        raise EnvironmentProblem(f"{CLIENT} ships no {base}", hint=f"install it again: {INSTALL}")
    argv = [str(program), "-c", str(shipped)]
    for name in parameters.get("config_files", ()):
        path = None if assignment.files is None else assignment.files / name
        if path is None or not path.is_file():
            raise EnvironmentProblem(
                f"the configuration's `files` have no {name}", hint="see `config_files`"
            )
        argv += ["-c", str(path)]
    # The class that talks to nobody: the other one draws everything on a terminal, slowly.
    argv += ["-c", str(folder / "trial.yaml"), "--agent-class", "default", "--yolo"]
    return [*argv, "--exit-immediately", "-o", str(folder / KEPT)]


def _settings(assignment: Assignment) -> dict[str, Any]:
    """What of a trial goes into its settings, by dotted key."""
    parameters, limits = assignment.parameters, assignment.limits
    chosen: dict[str, Any] = {
        "run.task": assignment.prompt,
        # What is not limited by the suite is not limited by the client's own ideas.
        "agent.step_limit": limits.turns or 0,
        "agent.cost_limit": limits.usd or 0,
    }
    if assignment.model:
        chosen["model.model_name"] = assignment.model
    if assignment.reasoning:
        chosen["model.model_kwargs.reasoning_effort"] = assignment.reasoning
    if "base_url" in parameters:
        chosen["model.model_kwargs.api_base"] = parameters["base_url"]
    if "model_class" in parameters:
        chosen["model.model_class"] = parameters["model_class"]
    if "command_seconds" in parameters:
        chosen["environment.timeout"] = parameters["command_seconds"]
    return chosen | dict(parameters.get("config", {}))


def _environment(assignment: Assignment, folder: Path) -> dict[str, str]:
    return {
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_GLOBAL_CONFIG_DIR": str(folder),
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": str(retries_of(assignment.parameters) + 1),
        # A model without a price would end the run; that its cost is not known is told instead.
        "MSWEA_COST_TRACKING": "ignore_errors",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _watch(assignment: Assignment, path: Path) -> StopWhen | None:
    """Counts tokens and money after each step, where the client does not keep them itself."""
    if assignment.limits.tokens is None and assignment.limits.usd is None:
        return None
    meter = Meter(assignment, ("tokens", "usd"))
    seen: list[object] = [None]

    def look() -> str:
        try:
            now = (path.stat().st_mtime_ns, path.stat().st_size)
        except OSError:
            return ""
        if now != seen[0]:
            trajectory = read_object(path)
            if trajectory is not None:
                seen[0] = now
                for place, call in enumerate(calls_in(listed(trajectory.get("messages")))):
                    meter.call(str(place), call[0])
        return meter.over()

    return look


def _result(assignment: Assignment, process: ProcessResult, path: Path) -> AgentResult:
    keep_copy(path, assignment.output / KEPT, MOST_BYTES)
    trajectory = read_object(path)
    run = read_mini(trajectory, assignment.prompt, assignment.workspace)
    ending = Ending(client=CLIENT, process=process)
    finish = ending.judged(lambda: _judged(run, ending, assignment.output))
    model = run.model or assignment.model
    return AgentResult(
        end=finish.end,
        message=finish.message,
        process=process,
        usage=run.usage,
        by_model={model: run.usage} if model else {},
        reported_version=run.version,
        trouble=finish.trouble,
        claims=claims_of(run.last_words),
        trajectory=Trajectory(
            client=MiniSweAgent.name,
            client_version=run.version,
            model=model,
            source=KEPT if trajectory is not None else None,
            truncated=not run.status,
            unknown_events=run.unknown,
            events=run.events,
        ),
    )


def _judged(run: MiniRun, ending: Ending, output: Path) -> Finish:
    """The table of exit statuses; what is not known is an error."""
    if run.status == SUBMITTED and ending.process.exit_code == 0:
        return ending.finished("handed in its work")
    if run.status == "LimitsExceeded":
        return ending.stopped(_limit(run))
    if run.status == "TimeExceeded":
        return ending.stopped("its own time limit", AgentEnd.TIMED_OUT)
    trouble = trouble_of_exception(run.status, run.error, run.causes)
    if trouble is not None:
        return ending.gave_up(trouble, f"{run.status}: {one_line(run.error)}")
    said = one_line(run.error) or ("" if run.status else error_output(output))
    return ending.failed(f": {run.status or 'no exit status'}", said)


def _limit(run: MiniRun) -> str:
    steps = run.limits.get("step_limit")
    if isinstance(steps, int) and 0 < steps <= (run.calls or 0):
        return f"the limit of {steps} turns was reached"
    cost = "" if run.cost is None else f" at {money(run.cost)} US dollars"
    return f"the limit of money was reached{cost}"
