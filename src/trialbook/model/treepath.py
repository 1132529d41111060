"""Which names may stand in a tree: the rules that keep a path inside the folder it belongs to."""

from __future__ import annotations

import re

# What git itself refuses in an index, on every platform: `.git` in any case, its short name on
# NTFS, and both with what NTFS ignores at their end or with a backslash where a slash would be.
_GIT_NAME = re.compile(rb"(?:^|\\)(?:\.git|git~1)[. ]*(?:$|[\\:])", re.IGNORECASE | re.DOTALL)


def is_git_name(name: bytes) -> bool:
    """Whether git would take a component of a path for the folder of a repository."""
    return _GIT_NAME.search(name) is not None


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


def link_leaves(path: bytes, target: bytes) -> bool:
    """Whether a symlink at ``path`` names a place outside the folder that ``path`` is below."""
    if target.startswith(b"/"):
        return True
    depth = path.count(b"/")
    for name in target.split(b"/"):
        if name == b"..":
            depth -= 1
        elif name not in (b"", b"."):
            depth += 1
        if depth < 0:
            return True
    return False
