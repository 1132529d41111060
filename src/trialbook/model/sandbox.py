"""What a process in a sandbox may touch, and what a sandbox can hold it to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from trialbook.model.suite import Limits, Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a process in a sandbox may touch.

    ``writable`` and ``readable`` are folders or files of the host, at the same paths inside;
    everything else should not be there, what the system itself needs aside. ``scratch`` are empty
    folders for temporary files: a sandbox may put memory of limited size there, and what is written
    to them need not last. ``network`` is the policy as declared; where it lists hosts, ``proxy`` is
    the socket of a proxy that lets these through, or None if there is none (then nothing gets
    through). A sandbox without network shows that one file, and runs the command ``forwarder`` with
    the socket's path as one more argument before the command itself: it is back when a port inside
    leads to the proxy, and fails if that cannot be. What it needs is in ``readable``. ``evaluator``
    asks for another user than agents get, where the host has one. ``image`` is a container image
    whose files are there in place of the system's; only for a sandbox that made it ready.
    """

    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    scratch: tuple[Path, ...] = ()
    network: Network = field(default_factory=Network)
    proxy: Path | None = None
    forwarder: tuple[str, ...] = ()
    evaluator: bool = False
    image: str | None = None
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Whether a sandbox works on this host, found by trying, and what it enforces if it does.

    ``limits`` names fields of `Limits` (and ``output_mb``, ``minutes``) that it really enforces.
    ``reason`` says in one line how, or what is in the way; ``hint`` says how to get that out of it.
    """

    ok: bool
    reason: str = ""
    hint: str = ""
    isolated: bool = False
    network: bool = False
    limits: tuple[str, ...] = ()
