"""What a configuration is, as facts in words, and where two of them differ, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from trialbook.model.plan import PlannedConfiguration
from trialbook.model.suite import Limits, Network
from trialbook.reporting.attempts import escalation_said

_UNITS = {
    "minutes": "min",
    "grace_seconds": "s grace",
    "output_mb": "MB output",
    "file_mb": "MB a file",
    "usd": "USD",
    "turns": "turns",
    "tokens": "tokens",
    "memory_mb": "MB memory",
    "processes": "processes",
    "workspace_mb": "MB workspace and home",
}


def limits_said(limits: Limits) -> str:
    """Ceilings in words: ``20 min, 10 MB output``; none where there is none."""
    said = [
        f"{getattr(limits, name):g} {unit}"
        for name, unit in _UNITS.items()
        if getattr(limits, name) is not None
    ]
    return ", ".join(said) or "none"


def network_declared(network: Network) -> str:
    """A network policy as declared: ``allow: api.example:443; others are a violation``."""
    said = network.mode
    if network.allow:
        said += f": {', '.join(network.allow)}"
    return (
        said if network.refused == "flag" else f"{said}; asking for others is a {network.refused}"
    )


def setup_facts(planned: PlannedConfiguration) -> dict[str, str]:
    """Everything that a configuration fixes, by what it is called; its files are told apart."""
    taken = planned.taken
    return {
        "Agent": planned.agent,
        "Version": planned.agent_version or "not pinned",
        "Client says": planned.client_version or "nothing apart",
        "Model": planned.model or "none named",
        "Reasoning": planned.reasoning or "not set",
        "Instructions": _instructions(planned),
        "Approval": planned.approval or "not set",
        "Sandbox": planned.sandbox,
        "Network": network_declared(planned.network),
        "Limits": limits_said(planned.limits),
        "Attempts": "one"
        if planned.escalation is None
        else f"makes {escalation_said(planned.escalation)}",
        "Environment": _pairs(planned.environment),
        "Passed on": _listed(planned.pass_environment),
        "Secrets": _listed([*planned.secrets, *(one.source for one in planned.credential_files)]),
        "Readable besides": _listed(planned.readable),
        "Parameters": json.dumps(planned.parameters, ensure_ascii=False, sort_keys=True)
        if planned.parameters
        else "none",
        "Reference": "handed to the agent: a control"
        if planned.gives_reference
        else "kept from it",
        "Made from": planned.template or "nothing",
        "Revision": f"{taken.revision}, {taken.commit or 'the work tree'}" if taken else "none",
    }


_QUIET = {
    "Client says": "nothing apart",
    "Environment": "none",
    "Passed on": "none",
    "Secrets": "none",
    "Readable besides": "none",
    "Parameters": "none",
    "Reference": "kept from it",
    "Made from": "nothing",
    "Revision": "none",
    "Attempts": "one",
}
"""What is not worth a line where nothing is compared."""


def told_facts(facts: Mapping[str, str]) -> list[list[str]]:
    """The facts that say something, as rows for the macro ``facts``."""
    return [[name, value] for name, value in facts.items() if _QUIET.get(name) != value]


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[dict[str, str]]:
    """The facts that are not the same, with both values."""
    return [
        {"name": name, "one": value, "other": other.get(name, "")}
        for name, value in one.items()
        if other.get(name, "") != value
    ]


def setup_figure(name: str, planned: PlannedConfiguration) -> dict[str, Any]:
    """A configuration on the page of a run."""
    return {
        "name": name,
        "description": planned.description,
        "agent": f"{planned.agent} {planned.agent_version or ''}".strip(),
        "facts": told_facts(setup_facts(planned)),
        "gives_reference": planned.gives_reference,
        "digest": planned.digest,
    }


def _instructions(planned: PlannedConfiguration) -> str:
    if planned.taken is not None:
        return f"from {planned.taken.repository}: {_listed(planned.taken.paths)}"
    return planned.instructions or "none"


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(values.items())) or "none"


def _listed(values: Iterable[str]) -> str:
    return ", ".join(values) or "none"
