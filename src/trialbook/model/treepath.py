"""Which names may stand in a tree: the rules that keep a path inside the folder it belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

# What git itself refuses in an index, on every platform: `.git` in any case, its short name on
# NTFS, and both with what NTFS ignores at their end or with a backslash where a slash would be.
_GIT_NAME = re.compile(rb"(?:^|\\)(?:\.git|git~1)[. ]*(?:\Z|[\\:])", re.IGNORECASE | re.DOTALL)

# As many links as the kernel follows in one path.
_MOST_HOPS = 40


def is_git_name(name: bytes) -> bool:
    """Whether git would take a component of a path for the folder of a repository."""
    return _GIT_NAME.search(name) is not None


@lru_cache(maxsize=8192)
def name_problem(name: bytes) -> str | None:
    """What is wrong with one component of a path, in words, or None."""
    if not name:
        return "has an empty component"
    if name in (b".", b".."):
        return f"has the component {name.decode()!r}"
    if b"/" in name or b"\0" in name:
        return "has a component with a slash or a zero byte"
    if is_git_name(name):
        return "has a .git component"
    return None


def path_problem(path: bytes) -> str | None:
    """What is wrong with a path that must stay below its folder, in words, or None."""
    if path.startswith(b"/"):
        return "is absolute"
    for name in path.split(b"/"):
        if problem := name_problem(name):
            return problem
    return None


def leaving_links(links: Mapping[bytes, bytes]) -> list[bytes]:
    """Which symlinks of a folder lead out of it, by way of others too; sorted.

    Args:
        links: Every link below the folder: its path and its target.
    """
    return [path for path in sorted(links) if _leaves(path, links)]


def _leaves(path: bytes, links: Mapping[bytes, bytes]) -> bool:
    here = path.split(b"/")[:-1]
    ahead = [path.rpartition(b"/")[2]]
    hops = 0
    while ahead:
        name = ahead.pop()
        if name == b"..":
            if not here:
                return True
            here.pop()
        elif name not in (b"", b"."):
            here.append(name)
            target = links.get(b"/".join(here))
            if target is None:
                continue
            hops += 1
            if target.startswith(b"/"):
                return True
            if hops > _MOST_HOPS:
                # A loop: nothing can be opened by way of it.
                return False
            here.pop()
            ahead += reversed(target.split(b"/"))
    return False
