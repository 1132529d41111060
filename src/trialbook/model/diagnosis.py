"""What a machine can do for evaluations: sandboxes that were tried, programs, identity, disk."""

from __future__ import annotations

from dataclasses import dataclass

LIMITS = ("minutes", "memory_mb", "processes", "file_mb", "workspace_mb", "output_mb")
"""The limits that a host may or may not be able to enforce, in the order in which they are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """One mount as a trial sees it."""

    path: str
    kind: str
    writable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a command saw that was started as a trial's commands are.

    ``user`` is who it was; ``processes`` how many it could see; ``listing`` what lies at the top of
    the file system.
    """

    user: str
    processes: int
    interfaces: tuple[str, ...]
    environment: tuple[str, ...]
    listing: tuple[str, ...]
    mounts: tuple[Mounted, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxHealth:
    """One sandbox, tried: whether it works here and holds, and if not, what to type.

    ``limits`` says of each of `LIMITS` whether it is enforced. ``sight`` is what a trial would see;
    None where nothing could be started.
    """

    name: str
    ok: bool
    isolated: bool
    network: bool
    images: bool
    reason: str
    fix: str
    limits: dict[str, bool]
    sight: Sight | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A program, an adapter or a client: where it is and its version; None if it is not here.

    ``fix`` says how to get what is missing and needed.
    """

    name: str
    version: str | None
    place: str | None
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """In whose name commits are made. ``signing`` is one of off, works, fails; ``detail`` why."""

    name: str | None
    email: str | None
    signing: str
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A folder that trialbook writes to: what it holds there, and what is free, in bytes."""

    what: str
    path: str
    bytes: int | None
    free: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All of it. ``ready`` says whether an evaluation can run isolated here.

    ``sandbox`` is the one that a run takes if nothing names another.
    """

    schema: str = "trialbook/doctor/1"
    ready: bool
    sandbox: str
    trialbook: str
    platform: str
    ledger: str | None
    sandboxes: tuple[SandboxHealth, ...]
    programs: tuple[Installed, ...]
    agents: tuple[Installed, ...]
    clients: tuple[Installed, ...]
    identity: Identity
    spaces: tuple[Space, ...]
