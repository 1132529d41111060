"""Which paths the patterns of a task name: protected files, and what an answer may touch."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from trialbook.model.paths import text_to_path


def is_covered(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path, or a folder that it is in, is named by patterns as graders take them.

    ``*`` stands for part of a name, ``**`` for folders; one that begins with ``!`` takes out again.
    """
    text = text_to_path(path).decode("utf-8", "surrogateescape")
    out = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    into = [pattern for pattern in patterns if not pattern.startswith("!")]
    return any(_covers(one, text) for one in into) and not any(_covers(one, text) for one in out)


def _covers(pattern: str, path: str) -> bool:
    wanted = pattern.rstrip("/").split("/")
    names = path.split("/")
    depths = range(1, len(names) + (not pattern.endswith("/")))
    return any(_matches(wanted, names[:depth]) for depth in depths)


def _matches(wanted: list[str], names: list[str]) -> bool:
    reached = {0}
    for name in names:
        ahead: set[int] = set()
        for at in _past_stars(reached, wanted):
            if at < len(wanted) and wanted[at] == "**":
                ahead.add(at)
            elif at < len(wanted) and fnmatch.fnmatchcase(name, wanted[at]):
                ahead.add(at + 1)
        reached = ahead
    return len(wanted) in _past_stars(reached, wanted)


def _past_stars(reached: set[int], wanted: list[str]) -> set[int]:
    found = set(reached)
    for start in reached:
        at = start
        while at < len(wanted) and wanted[at] == "**":
            at += 1
            found.add(at)
    return found
