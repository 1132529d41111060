"""Which sandbox a run is in, and what the person is told of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import pytest
from tests.cli.test_eval import trials
from tests.conftest import trialbook
from tests.workflow.test_worker import outcome_of, with_agent

from trialbook.api import Availability, Command, Policy, ProcessResult, Spawn
from trialbook.errors import EnvironmentProblem, UserError
from trialbook.model.suite import Network, Suite
from trialbook.process import run
from trialbook.registry import Plugin, Registry
from trialbook.storage.suites import load_suite
from trialbook.system import System
from trialbook.workflow.sandboxes import (
    choose_sandboxes,
    keep_out_of_sight,
    need_sandboxes,
    private_parts,
    strongest,
)
from trialbook_sandboxes.bubblewrap import BubblewrapSandbox

HOLDS = Availability(ok=True, reason="holds 1.0", isolated=True, network=True)
BROKEN = Availability(ok=False, reason="it is broken", hint="mend it")
LEAKS = Availability(ok=True, reason="no network", isolated=True, network=False)
OPEN = Availability(ok=True, reason="no isolation: all is in reach")


@dataclass
class Fake:
    able: Availability

    def available(self, spawn: Spawn) -> Availability:
        return self.able

    def start(self, command: Command, policy: Policy, spawn: Spawn) -> ProcessResult:
        raise AssertionError


class FakeRegistry(Registry):
    """Sandboxes that say of themselves what a test wants."""

    def __init__(self, **able: Availability) -> None:
        super().__init__(
            Plugin(
                group="sandboxes",
                name=name,
                distribution="d",
                version="1",
                entry_point=metadata.EntryPoint(name, "a:b", "trialbook.sandboxes"),
            )
            for name in able
        )
        self.fakes = {name: Fake(able[name]) for name in able}

    def sandbox(self, name: str) -> Fake:  # type: ignore[override]
        return self.fakes[name]


@pytest.fixture
def suite(ledger: Path) -> Suite:
    return load_suite(ledger, "mini", Registry())


def with_private_parts(suite: Suite) -> Suite:
    first, *others = suite.tasks
    files = {**first.files, f"{first.folder}/private/expected.json": "0" * 64}
    return replace(suite, tasks=(replace(first, files=files), *others))


def test_the_first_that_holds_files_and_network_is_the_strongest() -> None:
    assert strongest(FakeRegistry(none=OPEN, container=HOLDS, bubblewrap=HOLDS)) == "bubblewrap"
    assert strongest(FakeRegistry(none=OPEN, container=HOLDS, bubblewrap=BROKEN)) == "container"
    assert strongest(FakeRegistry(none=OPEN, container=LEAKS, bubblewrap=BROKEN)) == "none"


def test_a_sandbox_is_tried_once() -> None:
    registry = FakeRegistry(none=OPEN, bubblewrap=HOLDS)
    assert registry.availability("bubblewrap", run) is HOLDS
    registry.fakes["bubblewrap"].able = BROKEN
    assert registry.availability("bubblewrap", run) is HOLDS


def test_what_is_chosen_is_told_with_its_network(suite: Suite) -> None:
    said: list[str] = []
    good, bad = suite.configurations
    suite = replace(suite, configurations=(replace(good, network=Network(mode="none")), bad))
    chosen = choose_sandboxes(suite, None, FakeRegistry(none=OPEN, bubblewrap=HOLDS), said.append)
    assert chosen == {"good": "bubblewrap", "bad": "bubblewrap"}
    assert said == ["sandbox: holds 1.0; network none, open"]


def test_a_suite_without_private_parts_falls_back_and_says_so(suite: Suite) -> None:
    assert private_parts(suite) == []
    said: list[str] = []
    chosen = choose_sandboxes(suite, None, FakeRegistry(none=OPEN, bubblewrap=BROKEN), said.append)
    assert set(chosen.values()) == {"none"}
    assert said == ["sandbox: none, NOT ISOLATED: all is in reach"]


def test_private_parts_need_a_sandbox_or_the_word_none(suite: Suite) -> None:
    suite = with_private_parts(suite)
    assert private_parts(suite) == ["first"]
    registry = FakeRegistry(none=OPEN, bubblewrap=BROKEN)
    with pytest.raises(UserError, match="bubblewrap: it is broken; mend it") as caught:
        choose_sandboxes(suite, None, registry, lambda _: None)
    assert "--sandbox none" in caught.value.hint
    assert set(choose_sandboxes(suite, "none", registry, lambda _: None).values()) == {"none"}
    named = tuple(replace(one, sandbox="none") for one in suite.configurations)
    suite = replace(suite, configurations=named)
    assert set(choose_sandboxes(suite, None, registry, lambda _: None).values()) == {"none"}


def test_a_named_sandbox_that_does_not_work_is_never_replaced(suite: Suite) -> None:
    registry = FakeRegistry(none=OPEN, container=HOLDS, bubblewrap=BROKEN)
    with pytest.raises(EnvironmentProblem, match="bubblewrap does not work here: it is broken"):
        choose_sandboxes(suite, "bubblewrap", registry, lambda _: None)


# --- whole trials -----------------------------------------------------------------------------

needs_bubblewrap = pytest.mark.skipif(
    not BubblewrapSandbox().available(run).ok, reason="bubblewrap does not work here"
)


@pytest.mark.parametrize(
    ("root", "variable", "value", "said"),
    [
        ("/usr/local/src/evals", "TZ", "UTC", "the ledger is /usr/local/src/evals"),
        ("/lib/evals", "TZ", "UTC", "the ledger is /"),
        ("/srv/evals", "TRIALBOOK_CACHE", "/usr/local/cache", "the cache is /usr/local/cache"),
        ("/srv/evals", "TRIALBOOK_WORK", "/usr/tmp", "the folder for trials is /usr/tmp"),
    ],
)
def test_nothing_that_is_private_may_lie_where_every_sandbox_shows_it(
    root: str, variable: str, value: str, said: str
) -> None:
    registry = FakeRegistry(holds=HOLDS, none=OPEN)
    plain = {"TRIALBOOK_CACHE": "/srv/cache", "TRIALBOOK_WORK": "/srv/work"}
    system = System(environ={**plain, variable: value})
    with pytest.raises(EnvironmentProblem, match=f"{said}.* and sandboxes show /") as told:
        keep_out_of_sight(["none", "holds"], registry, Path(root), system)
    assert told.value.hint
    keep_out_of_sight(["none"], registry, Path(root), system)
    keep_out_of_sight(["holds"], registry, Path("/srv/evals"), System(environ=plain))


def test_a_link_into_what_is_shown_is_seen_through(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/usr")
    system = System(environ={"TRIALBOOK_CACHE": "/srv/cache", "TRIALBOOK_WORK": "/srv/work"})
    with pytest.raises(EnvironmentProblem, match="the ledger is /usr/evals"):
        keep_out_of_sight(["holds"], FakeRegistry(holds=HOLDS), tmp_path / "link/evals", system)


@needs_bubblewrap
@pytest.mark.slow
def test_the_first_line_and_the_record_say_what_holds(ledger: Path) -> None:
    done = trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    assert done.stderr.splitlines()[0].startswith("sandbox: bubblewrap ")
    (record,) = trials(ledger).values()
    isolation = record["isolation"]
    assert isolation["sandbox"] == "bubblewrap"  # type: ignore[index]
    assert isolation["isolated"] is True  # type: ignore[index]
    assert isolation["detail"].startswith("bubblewrap ")  # type: ignore[index]
    # Those that a suite has by default, the size of files that are kept among them.
    assert isolation["limits_enforced"] == ["minutes", "output_mb", "file_mb"]  # type: ignore[index]
    assert isolation["limits_not_enforced"] == []  # type: ignore[index]
    assert record["outcome"] == "accepted"


@needs_bubblewrap
@pytest.mark.slow
def test_a_trial_over_its_memory_limit_is_the_agents_error_and_says_why(ledger: Path) -> None:
    with_agent(ledger, "x = b'x' * 400_000_000", limits="{memory_mb: 100}")
    record = outcome_of(ledger)
    if "memory_mb" in record["isolation"]["limits_not_enforced"]:  # type: ignore[index]
        pytest.skip("no control groups here")
    assert record["outcome"] == "agent_error"
    assert "over the memory limit of 100 MB" in str(record["reason"])
    assert record["attempts"][0]["process"]["memory_killed"] is True  # type: ignore[index]


@pytest.mark.slow
def test_a_trial_over_its_space_is_the_agents_error_and_says_why(ledger: Path) -> None:
    code = "import time\nopen('big', 'wb').write(bytes(30_000_000))\ntime.sleep(30)"
    with_agent(ledger, code, limits="{workspace_mb: 10, grace_seconds: 0.2}")
    record = outcome_of(ledger)
    assert record["outcome"] == "agent_error"
    assert "over the limit of 10 MB" in str(record["reason"])
    assert "workspace_mb" in record["isolation"]["limits_enforced"]  # type: ignore[index]


@needs_bubblewrap
@pytest.mark.slow
def test_an_agent_sees_its_own_room_and_no_other(ledger: Path, tmp_path: Path) -> None:
    other = tmp_path / "other-trial"
    other.mkdir()
    (other / "answer.txt").write_text("42")
    code = (
        "import os, pathlib, tempfile\n"
        f"seen = [os.path.exists(p) for p in ({str(ledger)!r}, {str(other)!r}, '/etc/shadow')]\n"
        "room = sorted(os.listdir('..'))\n"
        "pathlib.Path.home().joinpath('kept').write_text('x')\n"
        "tempfile.NamedTemporaryFile().write(b'x')\n"
        "open('answer.txt', 'w').write(f'first 1 {seen} {room}')"
    )
    with_agent(ledger, code)
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    (patch,) = (ledger / "runs/mini").glob("*/first/good/r1/change.patch")
    text = patch.read_text()
    assert "[False, False, False]" in text
    assert "['home', 'prompt.md', 'tmp', 'workspace']" in text


def test_a_plan_in_a_sandbox_that_does_not_work_is_refused_before_anything_runs() -> None:
    registry = FakeRegistry(none=OPEN, bubblewrap=BROKEN)
    need_sandboxes(["none"], registry)
    with pytest.raises(EnvironmentProblem, match="it is broken") as caught:
        need_sandboxes(["none", "bubblewrap"], registry)
    assert caught.value.hint == "mend it"
