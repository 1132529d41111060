"""Looks at the agents that can be run here, and tries one of them with one turn."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from trialbook.api import Agent, Client
from trialbook.errors import UserError
from trialbook.execution.first_try import first_assignment
from trialbook.execution.room import Room, secrets_of
from trialbook.model.agent import AgentEnd, AgentResult
from trialbook.model.agents_here import AgentHere, TrialRun
from trialbook.model.prices import Price, PriceTable, priced
from trialbook.model.suite import OPEN, Configuration, Network
from trialbook.process import run
from trialbook.registry import Registry
from trialbook.storage.files import fresh_folder
from trialbook.storage.rooms import rooms
from trialbook.system import System

_ANY = "any"
_PRICED = PriceTable(
    path="", sha256="", date="", models={_ANY: Price(input="1", output="1", cache_read="1")}
)


def agents_here(registry: Registry) -> tuple[AgentHere, ...]:
    """Every adapter with its client, asked for its version, all at the same time."""
    with ThreadPoolExecutor(8) as pool:
        return tuple(pool.map(lambda name: _agent_here(name, registry), registry.names("agents")))


def _agent_here(name: str, registry: Registry) -> AgentHere:
    plugin = registry.plugin("agents", name)
    distribution = f"{plugin.distribution} {plugin.version}"
    try:
        agent = registry.agent(name)
        client = _client(agent, {})
        settings = getattr(agent, "settings", {})
        return AgentHere(
            name=name,
            distribution=distribution,
            adapter_version=agent.version(),
            needs_client=client is not None,
            program=client.program if client else None,
            version=client.version if client else None,
            reason=client.reason if client else "",
            hint=client.hint if client else "",
            limits=_limits(agent, None),
            limits_with_price=_limits(agent, _PRICED),
            approval=tuple(settings.get("approval", {}).get("enum", ())),
            reasoning=tuple(settings.get("reasoning", {}).get("enum", ())),
        )
    except Exception as error:  # noqa: BLE001 - whatever a plugin does
        return AgentHere(
            name=name,
            distribution=distribution,
            adapter_version=None,
            reason=f"it is broken: {error}",
            hint=f"reinstall or remove {plugin.distribution}",
        )


def _client(agent: Agent, parameters: Mapping[str, Any]) -> Client | None:
    look = getattr(agent, "client", None)
    found: Client | None = None if look is None else look(parameters, run)
    return found


def _limits(agent: Agent, prices: PriceTable | None) -> tuple[str, ...]:
    keeps = getattr(agent, "enforces", None)
    return () if keeps is None else tuple(keeps(_ANY, prices))


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """What to try: an agent with a model, at an endpoint or at the provider's own address.

    ``secrets`` names environment variables that the client gets; ``parameters`` goes over what the
    endpoint gives.
    """

    agent: str
    model: str
    endpoint: str | None = None
    program: str | None = None
    secrets: tuple[str, ...] = ()
    sandbox: str = "none"
    parameters: Mapping[str, Any] = field(default_factory=dict)


def try_agent(
    wanted: Try, registry: Registry, system: System, prices: PriceTable | None
) -> TrialRun:
    """Let an agent answer once, in an empty folder, with the network open.

    Raises:
        UserError: the agent cannot be used here, a secret is not set, or it takes no endpoint.
    """
    agent = registry.agent(wanted.agent)
    parameters = _parameters(wanted, agent)
    client = _client(agent, parameters)
    if client is not None and client.version is None:
        raise UserError(f"{wanted.agent} cannot be used here: {client.reason}", hint=client.hint)
    missing = [name for name in wanted.secrets if name not in system.environ]
    if missing:
        raise UserError(
            f"{', '.join(missing)} is not set", hint=f"type: export {missing[0]}=... and try again"
        )
    sandbox = registry.sandbox(wanted.sandbox)
    able = registry.availability(wanted.sandbox, run)
    if not able.ok:
        raise UserError(f"sandbox {wanted.sandbox} does not work: {able.reason}", hint=able.hint)
    configuration = Configuration(
        name="try",
        agent=wanted.agent,
        model=wanted.model,
        secrets=wanted.secrets,
        parameters=parameters,
        network=Network(mode=OPEN),
    )
    with rooms(system) as work, fresh_folder(work) as root:
        made = first_assignment(configuration, agent, sandbox, system, Room(root=root))
        result = agent.run(replace(made, prices=prices))
    return _told(wanted, client, result, prices, secrets_of(configuration, system.environ))


def _parameters(wanted: Try, agent: Agent) -> dict[str, Any]:
    known = agent.parameters.get("properties", {})
    parameters = dict(wanted.parameters)
    given = (("base_url", "--endpoint", wanted.endpoint), ("program", "--program", wanted.program))
    for key, option, value in given:
        if value is None:
            continue
        if key not in known:
            raise UserError(
                f"{wanted.agent} takes no {option}: it has no parameter `{key}`",
                hint="see `trialbook agents` for what can be tried",
            )
        parameters[key] = value
    lacking = [name for name in agent.parameters.get("required", ()) if name not in parameters]
    if lacking:
        raise UserError(
            f"{wanted.agent} cannot be tried: what it runs, a configuration says (`{lacking[0]}`)",
            hint="run a task with it instead: trialbook eval SUITE --task TASK --repetitions 1",
        )
    return parameters


def _told(
    wanted: Try,
    client: Client | None,
    result: AgentResult,
    prices: PriceTable | None,
    secrets: Mapping[str, str],
) -> TrialRun:
    usage = priced(result.usage, result.by_model or {wanted.model: result.usage}, prices)
    message = result.message
    for name, value in secrets.items():
        if value:
            message = message.replace(value, f"[{name}]")
    # One turn may be too few for a client to call it an end: an answer is what counts.
    answered = result.end is AgentEnd.FINISHED or (
        result.trouble is None and bool(usage.model_calls) and bool(usage.output_tokens)
    )
    return TrialRun(
        agent=wanted.agent,
        version=result.reported_version or (client.version if client else None),
        model=wanted.model,
        endpoint=wanted.endpoint,
        sandbox=wanted.sandbox,
        answered=answered,
        end=result.end.value,
        message=message,
        trouble=result.trouble,
        seconds=round(result.process.seconds, 3) if result.process else 0.0,
        usage=usage,
    )
