"""Moments of a run that stand for all of them: every kind of call, at the ends and in between."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

PARTS = 4
"""Into so many tests the representative moments are cut."""

_VARIES = re.compile(r"[0-9a-f]{12,}.*")


def kinds(calls: Iterable[str], top: Path) -> Mapping[tuple[str, str], list[int]]:
    """The numbers of the calls of each kind: the function, and the part of the world it changes."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, call in enumerate(calls, start=1):
        name, *paths = call.split(" ")
        found[name, _place(paths[-1] if paths else "", top)].append(number)
    return found


def representative(calls: Iterable[str], top: Path) -> list[int]:
    """The first, the middle and the last call of each kind, in order."""
    chosen = {
        number
        for numbers in kinds(calls, top).values()
        for number in (numbers[0], numbers[len(numbers) // 2], numbers[-1])
    }
    return sorted(chosen)


def _place(path: str, top: Path) -> str:
    if not path.startswith(f"{top}/"):
        return "elsewhere"
    parts = path.removeprefix(f"{top}/").split("/")
    depth = 2 if parts[0] == "cache" else 1
    if parts[:2] == ["ledger", ".git"]:
        depth = 4 if parts[2:3] == ["trialbook"] else 3
    return _VARIES.sub("", "/".join(parts[:depth]))
