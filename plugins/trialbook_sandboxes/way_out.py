"""The way to a proxy outside: its socket is shown, and a forwarder started before the command."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from trialbook.api import Policy
from trialbook_sandboxes.mounts import Mount


def processes_of(policy: Policy) -> int | None:
    """How many processes there may be inside: the forwarder is one more than the command's own."""
    processes = policy.limits.processes
    return processes if processes is None or policy.proxy is None else processes + 1


def socket_mounts(policy: Policy) -> list[Mount]:
    """The one file of the proxy's, at the same path inside; to connect to it, it need only be read.

    A folder of sockets is never shown: no network namespace holds back who can open them.
    """
    if policy.proxy is None:
        return []
    return [Mount(source=policy.proxy, target=policy.proxy.absolute())]


def way_laid(policy: Policy) -> str:
    """The line of a shell script that lays the way to the proxy; empty if there is none.

    The forwarder goes on by itself when the line is done.
    """
    if policy.proxy is None or not policy.forwarder:
        return ""
    lay = shlex.join((*policy.forwarder, str(policy.proxy.absolute())))
    return f"{lay} </dev/null || exit 1"


def led_out(policy: Policy, argv: Sequence[str]) -> list[str]:
    """The command line with the way laid first; the command takes the place of the shell."""
    lay = way_laid(policy)
    return ["/bin/sh", "-c", f'{lay}\nexec "$@"', "sh", *argv] if lay else list(argv)
