"""The agents that can be run on a machine, and what a first try of one came to."""

from __future__ import annotations

from dataclasses import dataclass, field

from trialbook.model.client import Trouble
from trialbook.model.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHere:
    """An adapter, and the client that it runs, as it is on this host.

    ``needs_client`` is false for adapters that run no client of their own. ``version`` is the
    client's; where that is None, ``reason`` says what is wrong. ``hint`` is what to type.
    ``limits`` names the limits that the adapter keeps, ``limits_with_price`` those that it keeps
    where the ledger has a price for the model. ``approval`` and ``reasoning`` are the settings
    that it knows.
    """

    name: str
    distribution: str
    adapter_version: str | None
    needs_client: bool = False
    program: str | None = None
    version: str | None = None
    reason: str = ""
    hint: str = ""
    limits: tuple[str, ...] = ()
    limits_with_price: tuple[str, ...] = ()
    approval: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether trials can use it here."""
        return self.adapter_version is not None and (
            not self.needs_client or self.version is not None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRun:
    """What a first try of an agent came to: whether the model answered, how it ended, what it used.

    ``answered`` is true if a model did, whatever the client made of it.
    """

    schema: str = "trialbook/agent_try/1"
    agent: str
    version: str | None
    model: str
    endpoint: str | None
    sandbox: str
    answered: bool
    end: str
    message: str
    trouble: Trouble | None
    seconds: float
    usage: Usage = field(default_factory=Usage)
