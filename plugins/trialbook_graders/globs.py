"""Path patterns: which paths of a tree a pattern names.

A pattern is relative to the top of the tree and has slashes. ``*``, ``?`` and ``[...]`` stay inside
one name and take in names that begin with a dot; ``**`` is any number of folders, none included. A
pattern that names a folder, with or without a slash at the end, covers everything below it.
"""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache

_MAGIC = frozenset("*?[")


def path_mistake(path: str) -> str | None:
    """What keeps a path or a pattern from being one inside the tree, in words, or None."""
    names = path.removesuffix("/").split("/")
    problems = (
        (not path.strip("/"), "is empty"),
        ("\0" in path, "has a zero byte"),
        (path.startswith("/"), "is absolute; paths are relative to the top of the tree"),
        ("\\" in path, "has a backslash; paths are written with slashes"),
        (".." in names, "has `..`; paths stay inside the tree"),
        ("" in names or "." in names, "has an empty part or `.`; write it without"),
        (".git" in names, "has a .git part; repositories are not looked at"),
    )
    return next((problem for found, problem in problems if found), None)


def is_pattern(path: str) -> bool:
    """Whether a path has any character that makes it a pattern."""
    return not _MAGIC.isdisjoint(path)


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern names exactly this path. A path always names itself, brackets or not."""
    if pattern.removesuffix("/") == path:
        return True
    states = _closed({0}, parts := _compiled(pattern.removesuffix("/")))
    for name in path.split("/"):
        states = _closed(
            {
                state if part is None else state + 1
                for state in states
                if state < len(parts) and ((part := parts[state]) is None or part.fullmatch(name))
            },
            parts,
        )
    return len(parts) in states


def covers(pattern: str, path: str) -> bool:
    """Whether a pattern names this path or a folder that it is in."""
    names = path.split("/")
    depths = range(1, len(names)) if pattern.endswith("/") else range(1, len(names) + 1)
    return any(matches(pattern, "/".join(names[:depth])) for depth in depths)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    """One regular expression for each name of a pattern; None stands for ``**``."""
    return tuple(
        None if name == "**" else re.compile(fnmatch.translate(name)) for name in pattern.split("/")
    )


def _closed(states: set[int], parts: tuple[re.Pattern[str] | None, ...]) -> set[int]:
    """The states with all that follow without a name, since ``**`` may stand for none."""
    found = set(states)
    for state in sorted(states):
        following = state
        while following < len(parts) and parts[following] is None:
            following += 1
            found.add(following)
    return found
