"""What an agent can reach of the network, and what was seen of its trying.

A policy that lists hosts needs a sandbox without network: beside it a proxy runs then, outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from trialbook.api import Ended, Policy, ProcessResult
from trialbook.egress.log import Log, Verdict
from trialbook.egress.way import FORWARDER, Way, forwarder_command, proxy_environment, way_out
from trialbook.execution.room import Room
from trialbook.execution.toolchain import bare_python
from trialbook.model.evidence import Sighting, SightingSeverity
from trialbook.model.runfiles import EGRESS_LOG
from trialbook.model.suite import ALLOW, Network
from trialbook.model.trial import EgressRecord
from trialbook.storage.interpreter import interpreter_folders

_MOST_SIGHTINGS = 20
_MOST_HOSTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How the processes of one trial get at the network: by a proxy, or as the policy alone says.

    ``environment`` are the variables by which they find the proxy.
    """

    network: Network
    way: Way | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[Path, ...] = ()
    forwarder: tuple[str, ...] = ()

    def over(self, policy: Policy) -> Policy:
        """The policy with the way out in it."""
        policy = replace(policy, network=self.network)
        if self.way is None:
            return policy
        return replace(
            policy,
            readable=(*policy.readable, *self.readable),
            proxy=self.way.socket,
            forwarder=self.forwarder,
        )

    def judged(self, run: Callable[[], ProcessResult]) -> ProcessResult:
        """Run a command; one that failed before the proxy heard of its sandbox never started."""
        if self.way is None:
            return run()
        before = self.way.proxy.greetings
        result = run()
        unheard = self.way.proxy.greetings == before
        if result.ended is not Ended.EXITED or result.ok or not unheard:
            return result
        return replace(
            result,
            ended=Ended.NOT_STARTED,
            exit_code=None,
            message="the sandbox did not come up with its way to the proxy; see the error output",
        )


@contextmanager
def access_to(
    network: Network,
    room: Room,
    now: Callable[[], datetime],
    *,
    held: bool,
    python: str | None = None,
) -> Iterator[Access]:
    """The access of a trial's agent, while it works.

    Args:
        network: The policy.
        room: The trial's folders.
        now: The time.
        held: Whether the sandbox keeps its processes from the network at all.
        python: The interpreter inside that leads the way; by default the bare one of this host.

    Raises:
        EnvironmentProblem: the proxy cannot be started.
    """
    if network.mode != ALLOW or not held:
        yield Access(network=network)
        return
    room.proxy.parent.mkdir()
    room.forwarder.write_bytes(FORWARDER.read_bytes())
    room.forwarder.chmod(0o644)
    python = python or bare_python()
    with way_out(room.proxy, network.allow, now) as way:
        yield Access(
            network=network,
            way=way,
            environment=proxy_environment(network.allow),
            readable=(room.forwarder, *interpreter_folders(python)),
            forwarder=forwarder_command(python, room.forwarder),
        )


def record_of(log: Log) -> EgressRecord:
    """What was seen, in numbers."""
    refused = {place.place for place in log.refused}
    return EgressRecord(
        allowed=log.verdicts[Verdict.ALLOWED],
        refused=log.verdicts[Verdict.REFUSED],
        failed=log.verdicts[Verdict.FAILED],
        sent=log.sent,
        received=log.received,
        hosts=tuple(sorted(log.reached)[:_MOST_HOSTS]),
        hosts_refused=tuple(sorted(refused)[:_MOST_HOSTS]),
        log=EGRESS_LOG if log.verdicts.total() else None,
    )


def sightings_of(log: Log, network: Network) -> list[Sighting]:
    """What was asked for against the policy, each host once, as grave as the policy says."""
    severity = SightingSeverity(network.refused)
    found = []
    for place, count in sorted(log.refused.items()):
        times = "once" if count == 1 else f"{count} times"
        why = f": {place.reason}" if place.reason else ""
        detail = f"{place.place} was asked for {times}, and refused{why}"
        found.append(Sighting(kind="network_refused", severity=severity, detail=detail))
    if len(found) > _MOST_SIGHTINGS:
        more = len(found) - _MOST_SIGHTINGS
        detail = f"{more} more hosts were asked for and refused; see {EGRESS_LOG}"
        del found[_MOST_SIGHTINGS:]
        found.append(Sighting(kind="network_refused", severity=severity, detail=detail))
    return found
