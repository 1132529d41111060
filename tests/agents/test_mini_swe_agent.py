"""mini-swe-agent itself, with a model that says what stands in a file: every way to end."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.agents.processes import processes_in

from trialbook.api import (
    AgentEnd,
    AgentResult,
    Assignment,
    ClaimKind,
    Client,
    Ended,
    EventKind,
    Limits,
    Price,
    PriceTable,
    Trouble,
)
from trialbook.model.process import Desk
from trialbook.process import run
from trialbook.supervision.stopping import stoppable
from trialbook_agents.litellm_errors import trouble_of_exception
from trialbook_agents.mini_config import config_text
from trialbook_agents.mini_swe_agent import MiniSweAgent

pytestmark = pytest.mark.agents

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
USAGE = {"prompt_tokens": 1200, "completion_tokens": 50}
DETAILS = {"prompt_tokens_details": {"cached_tokens": 200}}


def say(text: str, *commands: str, cost: float = 0.25, used: bool = False) -> dict[str, Any]:
    actions = [{"command": command} for command in commands]
    extra: dict[str, Any] = {"cost": cost, "actions": actions, "timestamp": 1796066940.5}
    if used:
        extra["response"] = {"usage": {**USAGE, **DETAILS}}
    return {"role": "assistant", "content": text, "extra": extra}


def script(folder: Path, *outputs: dict[str, Any]) -> Path:
    """The agent's own files: a model that says this, one after the other."""
    folder.mkdir(parents=True, exist_ok=True)

    model = {"model_class": "deterministic", "outputs": list(outputs)}
    # JSON of plain ASCII is YAML.
    (folder / "script.yaml").write_text(json.dumps({"model": model}))
    return folder


def assignment(here: Path, mini: str, *outputs: dict[str, Any], **more: Any) -> Assignment:
    for name in ("workspace", "home", "output", "tmp"):
        (here / name).mkdir(parents=True)
    (here / "workspace" / "README.md").write_text("A project.\n")
    prompt = more.pop("prompt", "Do the work.\n")
    (here / "prompt.md").write_text(prompt, encoding="utf-8")
    limits = more.pop("limits", Limits(minutes=1, grace_seconds=1))
    desk = Desk(
        cwd=here / "workspace",
        environment={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(here / "home"),
            "TMPDIR": str(here / "tmp"),
            "LANG": "C.UTF-8",
        },
        output=here / "output",
    )
    cancel = more.pop("cancel", None)
    parameters = {"program": mini, "config_files": ["script.yaml"], **more.pop("parameters", {})}
    fields: dict[str, Any] = {
        "task": "a-task",
        "repetition": 1,
        "workspace": here / "workspace",
        "prompt": prompt,
        "prompt_file": here / "prompt.md",
        "home": here / "home",
        "output": here / "output",
        "files": script(here / "files", *outputs),
        "model": "scripted",
        "reasoning": None,
        "approval": None,
        "parameters": parameters,
        "limits": limits,
        "start": desk.start(
            lambda command, stop: stoppable(
                lambda event: run(command, limits, cancel=cancel or event), stop
            )
        ),
    }
    return Assignment(**{**fields, **more})


def ask(here: Path, mini: str, *outputs: dict[str, Any], **more: Any) -> AgentResult:
    return MiniSweAgent().run(assignment(here, mini, *outputs, **more))


def test_a_run_that_succeeds_is_read_whole(tmp_path: Path, mini: str) -> None:
    made = assignment(
        tmp_path,
        mini,
        say("Looking.", "echo hello > out.txt; printf '\\377\\000'", "exit 3", used=True),
        say("Done. All 3 tests pass.", SUBMIT, used=True),
    )
    result = MiniSweAgent().run(made)
    assert result.end is AgentEnd.FINISHED, result.message
    assert (made.workspace / "out.txt").read_text() == "hello\n"
    assert result.reported_version == "2.4.6"
    usage = result.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (2000, 400, 100)
    assert (usage.model_calls, usage.turns) == (2, 2)
    assert (usage.cost_usd, usage.basis) == ("0.5", "reported")
    assert [claim.kind for claim in result.claims] == [ClaimKind.PASSED]
    trajectory = result.trajectory
    assert trajectory is not None
    assert (trajectory.source, trajectory.truncated) == ("mini.traj.json", False)
    assert trajectory.unknown_events == 0
    assert [event.kind.value for event in trajectory.events] == [
        *("prompt", "message", "command", "command", "message", "command")
    ]
    first, second, last = (e for e in trajectory.events if e.kind is EventKind.COMMAND)
    assert (first.exit_code, first.ok, first.turn) == (0, True, 1)
    assert first.output == "\ufffd\x00"
    assert (second.command, second.exit_code, second.ok) == ("exit 3", 3, False)
    assert (last.command, last.exit_code, last.ok, last.turn) == (SUBMIT, 0, True, 2)
    assert trajectory.events[1].at == "2026-11-30T19:29:00.500Z"
    assert trajectory.events[1].usage is not None
    assert trajectory.events[1].usage.cost_usd == "0.25"
    assert {"stdout.txt", "mini.traj.json"} <= {path.name for path in made.output.iterdir()}
    assert {path.name for path in made.workspace.iterdir()} == {"README.md", "out.txt"}


PRICES = PriceTable(
    path="prices/2026-11-30.yaml",
    sha256="0" * 64,
    date="2026-11-30",
    models={"scripted": Price(input="1000", output="0", cache_read="0")},
)
AGAIN = [say("Again.", "sleep 0.5", used=True)] * 40


@pytest.mark.parametrize(
    ("limits", "said", "calls"),
    [
        (Limits(minutes=1, turns=3), "the limit of 3 turns was reached", 3),
        (Limits(minutes=1, usd=0.6), "the limit of money was reached at 0.75 US dollars", 3),
    ],
)
def test_the_client_keeps_its_limits(
    tmp_path: Path, mini: str, limits: Limits, said: str, calls: int
) -> None:
    result = ask(tmp_path, mini, *AGAIN, limits=limits)
    assert (result.end, result.usage.model_calls) == (AgentEnd.BUDGET, calls)
    assert said in result.message
    assert result.process is not None
    assert result.process.exit_code == 0


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(minutes=1, tokens=2500), "tokens, and 2500 are allowed"),
        (Limits(minutes=1, usd=2), "US dollars, and 2 are allowed"),
    ],
)
def test_other_limits_are_kept_from_outside(
    tmp_path: Path, mini: str, limits: Limits, said: str
) -> None:
    free = [say("Again.", "sleep 0.5", used=True, cost=0.0)] * 40
    result = ask(tmp_path, mini, *free, limits=limits, prices=PRICES)
    assert result.end is AgentEnd.BUDGET, result.message
    assert said in result.message
    assert result.process is not None
    assert result.process.ended is Ended.STOPPED
    assert result.trajectory is not None
    assert result.trajectory.truncated
    # The client says 0 for a model without a price: that is not known.
    assert (result.usage.cost_usd, result.usage.basis) == (None, "unknown")


def test_what_it_is_and_what_it_keeps_is_told(mini: str) -> None:
    agent, parameters = MiniSweAgent(), {"program": mini}
    assert agent.client(parameters, run).version == "2.4.6"
    assert next(iter(agent.readable(parameters))) == Path(mini).parent.parent
    assert list(agent.enforces("scripted", None)) == ["turns", "tokens"]
    assert list(agent.enforces("scripted", PRICES)) == ["turns", "tokens", "usd"]
    assert agent.client({"program": "no-such-mini"}, run) == Client(
        reason="mini-swe-agent is not on the PATH",
        hint="install it: pipx install mini-swe-agent",
    )
    wrapper = agent.client({"program": "/bin/sh"}, run)
    assert wrapper.version is None
    assert "is no script of a Python package" in wrapper.reason


def raises(folder: Path, name: str, said: str) -> dict[str, Any]:
    """Settings of a model that raises an exception of that name, from the `files` folder."""
    (folder / "broken.py").write_text(
        "from minisweagent.models.test_models import DeterministicModel\n"
        f"class {name}(Exception): pass\n"
        "class Model(DeterministicModel):\n"
        f"    def query(self, messages, **kwargs): raise {name}({said!r})\n"
    )
    return {"config_files": ["script.yaml"], "model_class": "broken.Model"}


@pytest.mark.parametrize(
    ("name", "said", "end", "trouble"),
    [
        ("AuthenticationError", "bad key", AgentEnd.OUTAGE, Trouble.AUTHENTICATION),
        ("RateLimitError", "slow down", AgentEnd.OUTAGE, Trouble.RATE_LIMIT),
        ("InternalServerError", "oops", AgentEnd.OUTAGE, Trouble.SERVER),
        ("ContextWindowExceededError", "too long", AgentEnd.ERROR, Trouble.REQUEST),
        ("ZeroDivisionError", "whatever", AgentEnd.ERROR, None),
    ],
)
def test_an_exception_is_known_by_its_name(
    tmp_path: Path, mini: str, name: str, said: str, end: AgentEnd, trouble: Trouble | None
) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    made = assignment(tmp_path, mini, say("Never."), parameters=raises(modules, name, said))
    start = made.start

    def with_modules(argv: Any, **given: Any) -> Any:
        given["environment"] = {**given["environment"], "PYTHONPATH": str(modules)}
        return start(argv, **given)

    fields = {field: getattr(made, field) for field in Assignment.__dataclass_fields__}
    result = MiniSweAgent().run(Assignment(**{**fields, "start": with_modules}))
    assert (result.end, result.trouble) == (end, trouble), result.message
    assert name in result.message
    assert said in result.message
    assert result.trajectory is not None
    assert [e.text for e in result.trajectory.events if e.kind is EventKind.ERROR] == [said]


def test_a_script_that_runs_out_is_an_error(tmp_path: Path, mini: str) -> None:
    result = ask(tmp_path, mini, say("Looking.", "true"))
    assert (result.end, result.trouble) == (AgentEnd.ERROR, None)
    assert "IndexError" in result.message
    assert result.usage.model_calls == 2


@pytest.mark.parametrize(
    ("name", "said", "trouble"),
    [
        ("RateLimitError", "You exceeded your current quota", Trouble.BILLING),
        ("InternalServerError", "OpenAIException - Connection error.", Trouble.CONNECTION),
        ("APIError", "Error code: 529 - overloaded", Trouble.OVERLOADED),
        ("APIError", "nobody knows", None),
        ("InternalServerError", "OpenAIException - Missing credentials.", Trouble.AUTHENTICATION),
        ("KeyError", "Error code: 500", None),
    ],
)
def test_exceptions_that_mean_several_things_are_told_apart(
    name: str, said: str, trouble: Trouble | None
) -> None:
    assert trouble_of_exception(name, said) is trouble


def test_a_hang_ends_with_the_minutes_and_nothing_stays(tmp_path: Path, mini: str) -> None:
    made = assignment(
        tmp_path,
        mini,
        say("First.", "echo 1 > first.txt", used=True),
        say("Hanging.", "(setsid sleep 600 &) ; sleep 600", used=True),
        limits=Limits(minutes=0.1, grace_seconds=1),
    )
    result = MiniSweAgent().run(made)
    assert result.end is AgentEnd.TIMED_OUT, result.message
    assert not processes_in(made.workspace)
    # What was written after the last step that was whole is there.
    assert result.usage.model_calls == 1
    assert result.trajectory is not None
    assert result.trajectory.truncated
    assert [e.text for e in result.trajectory.events if e.kind is EventKind.MESSAGE] == ["First."]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_from_elsewhere_is_an_error(tmp_path: Path, mini: str, number: int) -> None:
    made = assignment(tmp_path, mini, say("Hanging.", "touch there; sleep 600"))

    def end() -> None:
        while not (made.workspace / "there").exists():
            time.sleep(0.05)
        for process in processes_in(made.workspace, "python"):
            os.kill(process, number)

    killer = threading.Thread(target=end)
    killer.start()
    result = MiniSweAgent().run(made)
    killer.join()
    assert result.end is AgentEnd.ERROR
    assert signal.Signals(number).name in result.message
    assert result.process is not None
    assert result.process.signal == number
    assert not processes_in(made.workspace)


def test_a_run_that_is_cancelled_says_so(tmp_path: Path, mini: str) -> None:
    cancel = threading.Event()
    made = assignment(tmp_path, mini, say("Hanging.", "touch there; sleep 600"), cancel=cancel)

    def end() -> None:
        while not (made.workspace / "there").exists():
            time.sleep(0.05)
        cancel.set()

    threading.Thread(target=end).start()
    assert MiniSweAgent().run(made).end is AgentEnd.CANCELLED


def test_a_huge_prompt_arrives(tmp_path: Path, mini: str) -> None:
    prompt = "a line of a huge prompt, größe\n" * 10_000 + "\u2028 \x7f \U0001f600 {{x}} \"'\\ end"
    made = assignment(tmp_path, mini, say("Done.", SUBMIT), prompt=prompt)
    assert MiniSweAgent().run(made).end is AgentEnd.FINISHED

    kept = json.loads((made.output / "mini.traj.json").read_text())
    assert prompt in kept["messages"][1]["content"]


def test_background_children_are_ended(tmp_path: Path, mini: str) -> None:
    start = "setsid sleep 600 > /dev/null 2>&1 &"
    made = assignment(tmp_path, mini, say("Starting.", start), say("Done.", SUBMIT))
    result = MiniSweAgent().run(made)
    assert result.end is AgentEnd.FINISHED, result.message
    assert result.process is not None
    assert result.process.leftover_processes == 1
    assert not processes_in(made.workspace)


def test_settings_in_the_workspace_do_not_count(tmp_path: Path, mini: str) -> None:
    made = assignment(tmp_path, mini, say("Done.", SUBMIT))
    (made.workspace / "mini.yaml").write_text("agent: {system_template: planted}\n")
    (made.workspace / ".env").write_text("MSWEA_COST_TRACKING=planted\n")
    assert MiniSweAgent().run(made).end is AgentEnd.FINISHED
    assert "planted" not in (made.output / "mini.traj.json").read_text()


def test_what_is_missing_of_its_files_is_our_problem(tmp_path: Path, mini: str) -> None:
    missing = {"config_files": ["no-such.yaml"]}
    result = ask(tmp_path / "1", mini, say("Never."), parameters=missing)
    assert (result.end, "have no no-such.yaml" in result.message) == (AgentEnd.ENVIRONMENT, True)
    result = ask(tmp_path / "2", mini, say("Never."), parameters={"base": "no-such.yaml"})
    assert (result.end, "ships no no-such" in result.message) == (AgentEnd.ENVIRONMENT, True)


def test_trials_at_once_share_nothing(tmp_path: Path, mini: str) -> None:
    def one(number: int) -> tuple[AgentResult, str]:
        made = assignment(
            tmp_path / str(number),
            mini,
            say("Writing.", f"echo {number} > number.txt; ls"),
            say(f"I am {number}.", SUBMIT),
            prompt=f"You are {number}.",
        )
        return MiniSweAgent().run(made), (made.workspace / "number.txt").read_text().strip()

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(one, range(8)))
    for number, (result, written) in enumerate(done):
        assert result.end is AgentEnd.FINISHED, result.message
        assert written == str(number)
        assert result.trajectory is not None
        said = [e.text for e in result.trajectory.events if e.kind is EventKind.MESSAGE]
        assert said == ["Writing.", f"I am {number}."]
        (listing,) = [e.output for e in result.trajectory.events if e.command and "ls" in e.command]
        assert listing == "README.md\nnumber.txt\n"


def test_settings_hold_any_text() -> None:
    yaml = pytest.importorskip("ruamel.yaml")
    text = "".join(map(chr, range(0x20))) + "\x7f\x85\u2028\ufeff\U0001f600 'x\"y\\ : # {a} größe"
    written = config_text({"run.task": text, "a.b": 1, "a.c": False, "a.d": 0.25, "e": "yes"})
    assert yaml.YAML(typ="safe", pure=True).load(written) == {
        "run": {"task": text},
        "a": {"b": 1, "c": False, "d": 0.25},
        "e": "yes",
    }
