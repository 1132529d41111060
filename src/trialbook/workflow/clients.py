"""The clients of a suite's agents as they are on this host: looked for before a run, and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from trialbook.api import Client, Spawn
from trialbook.errors import UserError
from trialbook.model.plan import Plan
from trialbook.model.suite import Configuration
from trialbook.process import run
from trialbook.registry import Registry


def find_clients(
    configurations: Iterable[Configuration], registry: Registry, say: Callable[[str], None]
) -> dict[str, str]:
    """The version of each configuration's client, by the configuration's name.

    What a configuration may escalate to is among them under its own name. Those whose agent has no
    client apart are left out; ``say`` is told what was found.

    Raises:
        UserError: a client is not there, does not work, or is not the version that is pinned; holds
            all of them.
    """
    found: dict[str, str] = {}
    wrong: list[str] = []
    known: dict[str, Client | None] = {}
    configurations = [stage for one in configurations for stage in one.stages]
    for configuration in configurations:
        asked = f"{configuration.agent} {configuration.parameters}"
        if asked not in known:
            known[asked] = _client(configuration, registry)
        client = known[asked]
        if client is None:
            continue
        fault = _fault(configuration, client)
        if fault:
            wrong.append(fault)
        else:
            found[configuration.name] = client.version or ""
    if wrong:
        raise UserError("\n".join(dict.fromkeys(wrong)))
    by_version: dict[str, list[str]] = {}
    for configuration in configurations:
        if configuration.name in found:
            shown = f"{configuration.agent} {found[configuration.name]}"
            by_version.setdefault(shown, []).append(configuration.name)
    for shown, names in by_version.items():
        say(f"client: {shown} ({', '.join(dict.fromkeys(names))})")
    return found


def need_clients(plan: Plan, configurations: Iterable[Configuration], registry: Registry) -> None:
    """See that the clients are still those that the plan was made with.

    Raises:
        UserError: one is not.
    """
    configurations = list(configurations)
    planned = _planned(plan, configurations)
    listed = [one for one in configurations if any(stage.name in planned for stage in one.stages)]
    unsaid: Callable[[str], None] = lambda _: None  # noqa: E731 - nobody needs to hear it twice
    found = find_clients(listed, registry, unsaid)
    wrong = [
        f"configuration {name}: {planned[name][0]} {version} is installed, and the run was "
        f"planned with {planned[name][1]}"
        for name, version in found.items()
        if name in planned and version != planned[name][1]
    ]
    if wrong:
        hint = "install that version again to go on, or start a new run with `trialbook eval`"
        raise UserError("\n".join(wrong), hint=hint)


def _planned(plan: Plan, configurations: Iterable[Configuration]) -> dict[str, tuple[str, str]]:
    """Agent and version of each client that a plan was made with, by the name of what runs it."""
    found: dict[str, tuple[str, str]] = {}
    for one in configurations:
        planned = plan.configurations[one.name]
        stages = [(one.name, planned.agent, planned.client_version)]
        if planned.escalation is not None:
            to = planned.escalation.to
            stages.append((to.name, to.agent, to.client_version))
        found |= {name: (agent, version) for name, agent, version in stages if version}
    return found


def _client(configuration: Configuration, registry: Registry) -> Client | None:
    look: Callable[[Any, Spawn], Client] | None
    look = getattr(registry.agent(configuration.agent), "client", None)
    return None if look is None else look(configuration.parameters, run)


def _fault(configuration: Configuration, client: Client) -> str:
    """What is wrong with a client, and what to do; empty if nothing is."""
    where = f"configuration {configuration.name}"
    if client.version is None:
        why = client.reason or "its version is not known"
        advice = f"; {client.hint}" if client.hint else ""
        return f"{where}: the client of {configuration.agent} cannot be used: {why}{advice}"
    if configuration.version not in {None, client.version}:
        return (
            f"{where}: it asks for {configuration.agent} {configuration.version}, and "
            f"{client.program} is {client.version}; install the one that it asks for"
            + (f" ({client.hint})" if client.hint else "")
            + ", or correct `version`"
        )
    return ""
