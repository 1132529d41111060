"""What runner and supervisor say to each other, as the runner sees it: request out, report in."""

from __future__ import annotations

import marshal
import math
import os
from collections.abc import Mapping
from pathlib import Path

from trialbook.model.process import Command, Ended, ProcessResult
from trialbook.model.suite import Limits
from trialbook.supervision.watch import END


def request_bytes(command: Command, limits: Limits) -> bytes:
    """The request as it goes into the control pipe: its length in eight bytes, then itself.

    Raises:
        ValueError: something in the command cannot be passed to a process, in plain words.
    """
    if not command.argv or not command.argv[0]:
        raise ValueError("there is no program to run: the command names none")
    minutes, size = limits.minutes, limits.output_mb
    environment = {_raw(name): _raw(value) for name, value in command.environment.items()}
    for name in environment:
        if not name or b"=" in name:
            raise ValueError(f"{printable(name)!r} is no name for an environment variable")
    request = marshal.dumps(
        {
            "argv": [_raw(part) for part in command.argv],
            "cwd": _raw(command.cwd),
            "environment": environment,
            "stdin": None if command.stdin is None else _raw(command.stdin),
            "stdout": _raw(command.stdout),
            "stderr": _raw(command.stderr),
            "seconds": None if minutes is None else minutes * 60,
            "grace": limits.grace_seconds,
            "limit": None if size is None else int(size * 1_000_000),
            "processes": limits.processes,
        }
    )
    return len(request).to_bytes(8, "big") + request


def _raw(text: str | Path) -> bytes:
    try:
        raw = os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError(f"{str(text)[:80]!r} cannot be passed to a process: not text") from None
    if b"\0" in raw:
        raise ValueError(f"{printable(raw[:80])} cannot be passed to a process: a NUL is in it")
    return raw


def read_report(report: bytes) -> ProcessResult | None:
    """The result that a report tells; None if it is not whole or not well formed.

    The supervised command may have tampered with it, so nothing is taken on trust.
    """
    if not report.endswith(END):
        return None
    lines = report.decode("utf-8", "replace").splitlines()
    said = dict(line.partition("=")[::2] for line in lines)
    try:
        return ProcessResult(
            ended=Ended(said["ended"]),
            exit_code=_number(said, "exit_code"),
            signal=_number(said, "signal"),
            seconds=_seconds(said),
            leftover_processes=_number(said, "leftover_processes") or 0,
            stdout_bytes=_number(said, "stdout_bytes") or 0,
            stderr_bytes=_number(said, "stderr_bytes") or 0,
            output_cut=said.get("output_cut") == "1",
            max_rss_bytes=_number(said, "max_rss_bytes"),
            message=said.get("message", ""),
        )
    except (KeyError, ValueError):
        return None


def _seconds(said: Mapping[str, str]) -> float:
    seconds = float(said.get("seconds", 0))
    if not math.isfinite(seconds):
        raise ValueError("no number of seconds")
    return seconds


def _number(said: Mapping[str, str], key: str) -> int | None:
    return int(said[key]) if said.get(key) else None


def printable(raw: bytes) -> str:
    """Text that somebody else wrote, in one line and without anything that a terminal obeys."""
    text = raw.decode("utf-8", "backslashreplace")
    lines = " | ".join(line.strip() for line in text.splitlines() if line.strip())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in lines)
