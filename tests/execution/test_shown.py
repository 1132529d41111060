from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from trialbook.api import Agent
from trialbook.errors import EnvironmentProblem
from trialbook.execution.shown import shown_to
from trialbook.model.suite import Configuration
from trialbook.model.trial import TrialSpec

NOTHING = Configuration(name="c", agent="a")


class Spec:
    """What of a trial's spec is looked at."""

    def __init__(self, root: Path, configuration: Configuration) -> None:
        self.suite_folder = str(root / "ledger" / "suites" / "mini")
        self.cache = str(root / "cache")
        self.work = str(root / "work")
        self.configuration = configuration


class Installed:
    """An agent that knows where its client is."""

    def __init__(self, *paths: Path) -> None:
        self.paths = paths

    def readable(self, parameters: dict[str, Any]) -> tuple[Path, ...]:
        return self.paths


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("ledger/suites/mini", "cache", "work", "home/.npm/lib", "opt/client"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def shown(root: Path, *readable: str, agent: object = None) -> tuple[Path, ...]:
    spec = Spec(root, replace(NOTHING, readable=readable))
    found = cast("Agent", agent or object())
    return shown_to(found, cast("TrialSpec", spec), root / "home")


def test_the_configuration_and_the_adapter_both_say_what_is_shown(root: Path) -> None:
    client = root / "opt/client"
    assert shown(root) == ()
    assert shown(root, "~/.npm", str(client)) == (root / "home/.npm", client)
    assert shown(root, str(client), agent=Installed(client, root / "home/.npm")) == (
        client,
        root / "home/.npm",
    )


@pytest.mark.parametrize(
    "name", ["ledger", "ledger/suites", "ledger/suites/mini", "cache", "work", "home", ""]
)
def test_what_measures_and_a_whole_home_are_never_shown(root: Path, name: str) -> None:
    with pytest.raises(EnvironmentProblem, match="would show the agent"):
        shown(root, str(root / name))
    link = root / "opt" / "link"
    link.symlink_to(root / name)
    with pytest.raises(EnvironmentProblem, match="would show the agent"):
        shown(root, str(link))


def test_what_is_not_there_or_no_whole_path_is_told(root: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="not on this host"):
        shown(root, str(root / "opt/gone"))
    with pytest.raises(EnvironmentProblem, match="no whole path"):
        shown(root, agent=Installed(Path("opt/client")))
