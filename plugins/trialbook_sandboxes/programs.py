"""Whether the program of a command can start inside a sandbox.

Asked before the start: afterwards, what the command itself does wrong looks alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from trialbook.api import Command
from trialbook_sandboxes.mounts import Mount, shows

_LONGEST = 131_071  # bytes that Linux takes in one argument or variable, with its end
_FIRST_LINE = 256


def trouble_with(command: Command, mounts: Sequence[Mount]) -> str | None:
    """Why the command cannot start inside, in a sentence; None if nothing is in the way."""
    if not command.argv or not command.argv[0]:
        return "there is no program to run: the command names none"
    long = [part for part in command.argv if len(os.fsencode(part)) > _LONGEST]
    if long:
        size = len(os.fsencode(long[0]))
        return (
            f"an argument is too long for this system ({size} bytes); pass the prompt by file or "
            "on standard input"
        )
    name = command.argv[0]
    hidden = ""
    for path in _places(command):
        if not (path.is_file() and os.access(path, os.X_OK)):
            continue
        if not shows(mounts, path):
            hidden = hidden or str(path)
            continue
        return _interpreter_trouble(path, mounts)
    if hidden:
        return (
            f"the program {name} is {hidden} on this host, which the sandbox does not show; "
            "install it below /usr, or add it to the toolchain"
        )
    if "/" in name:
        return f"the program {name} is not there, or is no program"
    return f"the program {name} is not found on the PATH of the sandbox"


def _places(command: Command) -> Iterator[Path]:
    name = command.argv[0]
    if "/" in name:
        yield command.cwd / name
        return
    for folder in command.environment.get("PATH", os.defpath).split(":"):
        yield command.cwd / folder / name


def _interpreter_trouble(path: Path, mounts: Sequence[Mount]) -> str | None:
    try:
        with path.open("rb") as file:
            line = file.read(_FIRST_LINE).split(b"\n")[0]
    except OSError:
        return None
    words = line[2:].split() if line.startswith(b"#!") else []
    if not words:
        return None
    interpreter = Path(os.fsdecode(words[0]))
    if interpreter.is_file() and shows(mounts, interpreter):
        return None
    return f"{path.name} is there, but {interpreter}, which its first line names to run it, is not"
