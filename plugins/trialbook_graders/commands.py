"""Runs a command of a check in a copy of the candidate, and says what came of it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from trialbook.api import Command, Ended, Evidence, Finding
from trialbook_graders.answer import Answer, no, unknown, yes
from trialbook_graders.search import read_regular, text_of
from trialbook_graders.structural import CommandSucceeds
from trialbook_graders.tree import Kind, Tree, copy_folder

_TAIL_LINES = 12
_TAIL_BYTES = 100_000
_OUTPUT_BYTES = 50_000_000
_LINE = 200
_HOW = {
    Ended.EXITED: "ended with status {status}",
    Ended.SIGNALLED: "was ended by signal {signal}",
    Ended.TIMED_OUT: "did not end within {time}",
}

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


def environment_for(python: str, home: Path) -> dict[str, str]:
    """A whole environment that inherits nothing: the toolchain first, a home that is fresh."""
    for name in ("home", "tmp"):
        (home / name).mkdir(parents=True, exist_ok=True)
    return {
        "PATH": f"{Path(python).parent}:{SYSTEM_PATH}",
        "HOME": str(home / "home"),
        "TMPDIR": str(home / "tmp"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run_command(rule: CommandSucceeds, room: Path, evidence: Evidence) -> Answer:
    """Whether the command exits with 0 in time, in a copy of the candidate below ``room``."""
    copy = room / "tree"
    copy_folder(evidence.candidate, copy)
    argv = [evidence.python if word == "{python}" else word for word in rule.argv]
    # The interpreter's path differs between machines, and says nothing.
    written = shlex.join("python" if word == "{python}" else word for word in rule.argv)
    own = "/" in argv[0] and not argv[0].startswith("/")
    if own:
        if trouble := _trouble(copy, argv[0]):
            return no(f"{written} cannot run: {trouble}")
        argv[0] = str(copy / argv[0])
    result = evidence.start(
        Command(
            argv=tuple(argv),
            cwd=copy,
            environment=environment_for(evidence.python, room / "process"),
            stdout=room / "stdout.txt",
            stderr=room / "stderr.txt",
        ),
        minutes=rule.minutes,
        writable=(copy, room / "process"),
    )
    if result.ok:
        return yes(f"{written} succeeded")
    if result.ended not in _HOW:
        return unknown(f"{written} could not be run: {result.message or result.ended.value}")
    how = _HOW[result.ended].format(
        status=result.exit_code, signal=result.signal, time=minutes_said(rule.minutes)
    )
    tails = (output_tail(room / name, copy) for name in ("stderr.txt", "stdout.txt"))
    return no(f"{written} {how}", *(tail for tail in tails if tail is not None))


def minutes_said(minutes: float) -> str:
    """A length of time: ``1 minute``, ``0.5 minutes``."""
    return f"{minutes:g} minute{'' if minutes == 1 else 's'}"


def _trouble(copy: Path, program: str) -> str | None:
    """Why a program of the candidate's own cannot run; that is the candidate's doing."""
    place = Tree(copy).at(program.removeprefix("./"))
    if place.kind is not Kind.FILE:
        return place.says
    return None if os.access(copy / place.path, os.X_OK) else f"{program} is not executable"


def output_tail(path: Path, *places: Path) -> Finding | None:
    """The last lines of an output file, with the names of scratch folders taken out."""
    data = read_regular(path, _OUTPUT_BYTES)
    if not data or not data.strip():
        return None
    text = text_of(data[-_TAIL_BYTES:])
    for place in places:
        text = text.replace(str(place), f"<{place.name}>")
    lines = [line[:_LINE] for line in text.rstrip("\n").split("\n")[-_TAIL_LINES:]]
    return Finding(text="\n".join(lines), file=path.name)
