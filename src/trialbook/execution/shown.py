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
    kept = [Path(spec.suite_folder).parents[1], Path(spec.cache), Path(spec.work)]
    for path in found:
        _check(path, home, kept)
    return tuple(found)


def named_paths(agent: Agent, configuration: Configuration, home: Path) -> Iterator[Path]:
    """What a configuration and its agent's adapter name, whether or not it is there."""
    for text in configuration.readable:
        yield home / text[len(_HOME) :] if text.startswith(_HOME) else Path(text)
    of_agent = getattr(agent, "readable", None)
    if of_agent is not None:
        yield from map(Path, of_agent(configuration.parameters))


def _check(path: Path, home: Path, kept: Iterable[Path]) -> None:
    hint = "correct `readable` in the configuration, or install the client where it says"
    if not path.is_absolute():
        raise EnvironmentProblem(f"{path} is to be shown to the agent and is no whole path")
    if not path.exists():
        raise EnvironmentProblem(
            f"{path} is to be shown to the agent, and is not on this host", hint=hint
        )
    for real in {path.absolute(), path.resolve()}:
        if home.resolve().is_relative_to(real):
            raise EnvironmentProblem(
                f"{path} would show the agent the home of whoever runs trialbook",
                hint="name the folder below it that the client is installed in",
            )
        for place in kept:
            inner = place.resolve()
            if real.is_relative_to(inner) or inner.is_relative_to(real):
                raise EnvironmentProblem(
                    f"{path} would show the agent what trialbook keeps in {place}", hint=hint
                )
