"""Which processes there are, for tests of what is left behind."""

from __future__ import annotations

from pathlib import Path


def processes_in(folder: Path, word: str = "") -> list[int]:
    """The processes that work in a folder, and have a word in the name of their program."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            inside = (process / "cwd").readlink().is_relative_to(folder)
            program = (process / "cmdline").read_bytes().split(b"\0")[0].decode()
        except OSError:
            continue
        if inside and word in program:
            found.append(int(process.name))
    return found
