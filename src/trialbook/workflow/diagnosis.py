"""Looks at this machine: every sandbox is tried, everything else asked, all at the same time."""

from __future__ import annotations

import platform
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from trialbook import __version__
from trialbook.api import Availability
from trialbook.errors import TrialbookError
from trialbook.execution.room import Room
from trialbook.execution.sight import sight_in
from trialbook.execution.toolchain import takes_images
from trialbook.model.diagnosis import LIMITS, Diagnosis, SandboxHealth, Sight
from trialbook.model.suite import NO_SANDBOX
from trialbook.process import run
from trialbook.registry import Registry
from trialbook.storage.rooms import rooms
from trialbook.system import System
from trialbook.workflow.host_programs import (
    agents,
    client,
    committer,
    git_is_usable,
    programs,
    spaces,
)

# What holds in every sandbox: files that are too large are never kept, folders are measured.
_EVERYWHERE = frozenset({"file_mb", "workspace_mb"})


def diagnose(
    root: Path | None, registry: Registry, system: System, tell: Callable[[str], None]
) -> Diagnosis:
    """Try and ask everything; nothing is changed but what is swept up after dead runners.

    Args:
        root: The ledger, if there is one.
        registry: The plugins.
        system: The outside world.
        tell: Is told when each sandbox was tried.
    """
    with rooms(system) as work, ThreadPoolExecutor(16) as pool:
        trying = [
            pool.submit(_health, name, registry, work / str(number), system)
            for number, name in enumerate(registry.names("sandboxes"))
        ]
        asking = [pool.submit(client, name, registry) for name in registry.names("agents")]
        found = pool.submit(programs, system)
        who = pool.submit(committer, root, system)
        space = pool.submit(spaces, system)
        adapters = agents(registry)
        healths = []
        for future in trying:
            health = future.result()
            tell(f"tried {health.name}: {'works' if health.ok else 'does not work'}")
            healths.append(health)
        holding = [one.name for one in healths if one.ok and one.isolated and one.network]
        return Diagnosis(
            ready=bool(holding) and git_is_usable(found.result()),
            sandbox=holding[0] if holding else NO_SANDBOX,
            trialbook=__version__,
            platform=f"{platform.system()} {platform.release()} {platform.machine()}",
            ledger=None if root is None else str(root),
            sandboxes=tuple(healths),
            programs=found.result(),
            agents=adapters,
            clients=tuple(one for ask in asking if (one := ask.result()) is not None),
            identity=who.result(),
            spaces=space.result(),
        )


def _health(name: str, registry: Registry, folder: Path, system: System) -> SandboxHealth:
    """Whether a sandbox works; whatever a plugin does wrong is the reason why not."""
    told = partial(_told, name, registry)
    try:
        sandbox = registry.sandbox(name)
        able = sandbox.available(run)
    except Exception as error:  # noqa: BLE001 - a sandbox that breaks is one that does not work
        return told(Availability(ok=False, reason=_said(error)), None)
    if not able.ok:
        return told(able, None)
    try:
        return told(able, sight_in(sandbox, Room(root=folder), system))
    except Exception as error:  # noqa: BLE001 - as above
        reason = f"a command like a trial's could not be started: {_said(error)}"
        return told(Availability(ok=False, reason=reason, hint=able.hint), None)


def _told(name: str, registry: Registry, able: Availability, sight: Sight | None) -> SandboxHealth:
    holds = _EVERYWHERE.union(able.limits) if able.ok else frozenset[str]()
    try:
        images = able.ok and takes_images(registry, name)
    except TrialbookError:
        images = False
    return SandboxHealth(
        name=name,
        ok=able.ok,
        isolated=able.ok and able.isolated,
        network=able.ok and able.network,
        images=images,
        reason=able.reason,
        fix=able.hint,
        limits={limit: limit in holds for limit in LIMITS},
        sight=sight,
    )


def _said(error: Exception) -> str:
    if isinstance(error, TrialbookError):
        return error.message
    return f"{type(error).__name__}: {error}"
