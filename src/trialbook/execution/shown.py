"""Files and folders of the host that are shown to an agent besides: where its client is installed.

The configuration names them, and so may the agent's adapter. What the measuring itself rests on is
never among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from trialbook.api import Agent
from trialbook.errors import EnvironmentProblem
from trialbook.model.suite import Configuration
from trialbook.model.trial import TrialSpec

_HOME = "~/"
_HINT = "correct `readable` in the configuration, or install the client where it says"


def shown_to(agent: Agent, spec: TrialSpec, home: Path) -> tuple[Path, ...]:
    """What is shown to be read, each path once.

    Args:
        agent: The adapter.
        spec: The trial.
        home: The operator's home: what ``~/`` stands for.

    Raises:
        EnvironmentProblem: one is not there, or would show what no agent may see.
    """
    found = dict.fromkeys(named_paths(agent, spec.configuration, home))
    ledger = Path(spec.suite_folder).parents[1]
    for path in found:
        _check(path)
        for real in (path.absolute(), path.resolve()):
            _keep_from(real, home, (ledger, Path(spec.cache)), Path(spec.work))
    return tuple(found)


def named_paths(agent: Agent, configuration: Configuration, home: Path) -> Iterator[Path]:
    """What a configuration and its agent's adapter name, whether or not it is there."""
    for text in configuration.readable:
        yield home / text[len(_HOME) :] if text.startswith(_HOME) else Path(text)
    of_agent = getattr(agent, "readable", None)
    if of_agent is not None:
        yield from map(Path, of_agent(configuration.parameters))


def _check(path: Path) -> None:
    if not path.is_absolute():
        raise EnvironmentProblem(f"{path} is to be shown to the agent and is no whole path")
    if not path.exists():
        raise EnvironmentProblem(
            f"{path} is to be shown to the agent, and is not on this host", hint=_HINT
        )


def _keep_from(real: Path, home: Path, closed: Iterable[Path], rooms: Path) -> None:
    """Refuse what lies in a closed place, and what has one, a home or the trials' rooms in it."""
    for place in closed:
        if real.is_relative_to(place.resolve()) or place.resolve().is_relative_to(real):
            raise EnvironmentProblem(
                f"{real} would show the agent what trialbook keeps in {place}", hint=_HINT
            )
    for place, what in ((home, "the home of whoever runs trialbook"), (rooms, "other trials")):
        if place.resolve().is_relative_to(real):
            raise EnvironmentProblem(
                f"{real} would show the agent {what}",
                hint="name the folder below it that the client is installed in",
            )
