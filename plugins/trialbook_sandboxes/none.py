"""The sandbox that is none: the process runs on the host, as the user who runs trialbook.

It has a clean environment, a time limit, capped output, and dies with all it started. It sees every
file and every host that the user sees; results say so.
"""

from __future__ import annotations

from trialbook.api import Availability, Command, Policy, ProcessResult, Spawn


class NoSandbox:
    """Hands every command to the host as it is, and claims no isolation."""

    name = "none"

    def available(self, spawn: Spawn) -> Availability:
        """Always; only what the core itself enforces is claimed.

        A limit on processes is set where the system has one, but it counts all processes of a user
        together and does not bind root, so it is not claimed.
        """
        del spawn
        return Availability(
            ok=True,
            reason="no isolation: files, network and other processes of the host are in reach",
            isolated=False,
            network=False,
            limits=("minutes", "output_mb"),
        )

    def start(self, command: Command, policy: Policy, spawn: Spawn) -> ProcessResult:
        """Run the command on the host, within the limits of the policy that need no isolation."""
        return spawn(command, policy.limits)
