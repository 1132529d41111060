"""The structural audit of a workspace: that it holds the baseline and nothing else.

Reads the folder's files itself and never runs git in it. Each rule gives one row; a workspace is
fit for a trial if all of them hold. What is not known to belong there is a finding.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType

from trialbook.errors import TrialbookError
from trialbook.execution.audit_content import Content
from trialbook.execution.baseline import BASELINE_REF, BRANCH
from trialbook.formats.git_index import IndexEntry
from trialbook.model.paths import path_to_text
from trialbook.model.trial import AuditRow
from trialbook.storage.files import read_regular

_SHOWN = 5
_SETTINGS = {
    b"core.repositoryformatversion": b"0",
    b"core.filemode": b"true",
    b"core.bare": b"false",
    b"core.autocrlf": b"false",
    b"gc.auto": b"0",
}
_SECTION = re.compile(rb'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(rb"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*?))?\s*\Z", re.DOTALL)
_KNOWN_REFS = frozenset({BRANCH, BASELINE_REF})
_KNOWN_FILES = re.compile(
    r"HEAD|config|index|refs/heads/main|refs/trialbook/baseline"
    r"|objects/[0-9a-f]{2}/[0-9a-f]{38}|objects/pack/pack-[0-9a-f]{40}\.(?:pack|idx)"
)


def audit(
    workspace: Path,
    commit: str,
    *,
    links_declared: bool = False,
    written: Mapping[bytes, IndexEntry] = MappingProxyType({}),
) -> tuple[AuditRow, ...]:
    """Look at a workspace that was made for an agent, before the agent gets it.

    Args:
        workspace: The folder.
        commit: The baseline commit that it should hold.
        links_declared: Whether the task declares links that leave the folder.
        written: What was just written there, by path. A file that is the very same (in number,
            size and times) is not read back; no stranger's process has run since.
    """
    git = workspace / ".git"
    is_folder = _is_folder(git)
    rows = [_row("git_folder", [] if is_folder else [f".git is {_kind(git)}, not a folder"])]
    inside = _GitFolder(git)
    for rule, findings in _GIT_RULES.items():
        rows.append(_checked(rule, partial(findings, inside)) if is_folder else _unseen(rule))
    look = Content(workspace, git, commit, written)
    for rule, finding in look.rules().items():
        rows.append(_checked(rule, finding) if is_folder else _unseen(rule))
    links = look.links()
    if links_declared and links:
        rows.append(AuditRow(rule="links", ok=True, detail=f"declared: {_shown(links)}"))
    else:
        rows.append(_row("links", links))
    return tuple(rows)


def _checked(rule: str, findings: Callable[[], list[str]]) -> AuditRow:
    try:
        return _row(rule, findings())
    except (OSError, ValueError, KeyError, TrialbookError) as error:
        return _row(rule, [f"cannot be looked at: {error}"])


def _row(rule: str, findings: list[str]) -> AuditRow:
    return AuditRow(rule=rule, ok=not findings, detail=_shown(findings))


def _unseen(rule: str) -> AuditRow:
    return AuditRow(rule=rule, ok=False, detail="not looked at: .git is not a folder")


def _shown(findings: list[str]) -> str:
    more = len(findings) - _SHOWN
    return "; ".join(findings[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _kind(path: Path) -> str:
    if path.is_symlink():
        return "a link"
    return "a file that names another repository" if path.exists() else "not there"


class _GitFolder:
    """What is in the ``.git`` of a workspace, looked at once for all rules."""

    def __init__(self, folder: Path) -> None:
        self.path = folder

    @cached_property
    def entries(self) -> dict[str, int]:
        """The mode of everything below, folders included, by its path; sorted."""
        found: dict[str, int] = {}
        pending = [""]
        while pending:
            prefix = pending.pop()
            with os.scandir(self.path / prefix) as listing:
                for entry in listing:
                    name = prefix + entry.name
                    found[name] = entry.stat(follow_symlinks=False).st_mode
                    if stat.S_ISDIR(found[name]):
                        pending.append(f"{name}/")
        return dict(sorted(found.items()))

    def files(self, below: str = "") -> list[str]:
        """Everything below a folder that is none itself, by its path in ``.git``."""
        return [
            name
            for name, mode in self.entries.items()
            if name.startswith(below) and not stat.S_ISDIR(mode)
        ]

    def read(self, name: str) -> bytes | None:
        """The bytes of a regular file, or None."""
        return read_regular(self.path / name)


def _exists(git: _GitFolder, *names: str) -> list[str]:
    return [name for name in names if name in git.entries]


def _holds(git: _GitFolder, *names: str) -> list[str]:
    """The names that exist and are more than empty folders."""
    return [name for name in _exists(git, *names) if git.files(f"{name}/") or name in git.files()]


def _packed_refs(git: _GitFolder) -> list[str]:
    lines = (git.read("packed-refs") or b"").splitlines()
    named = [line.split(b" ", 1)[1] for line in lines if line[:1] not in b"#^" and b" " in line]
    return [path_to_text(name) for name in named]


def _refs(git: _GitFolder, *prefixes: str) -> list[str]:
    return [ref for ref in git.files("refs/") + _packed_refs(git) if ref.startswith(prefixes)]


def _settings(git: _GitFolder) -> Iterator[tuple[bytes, bytes]]:
    """The configuration's settings as ``section.subsection.key`` and value; damage is a finding."""
    section = b""
    data = git.read("config")
    if data is None:
        raise ValueError("config is not a regular file")
    for raw in data.splitlines():
        line = raw.strip()
        if match := _SECTION.match(line):
            section = match.group(1).lower() + (b"." + match.group(2) if match.group(2) else b"")
            line = line[match.end() :].strip()
        if not line or line[:1] in b"#;":
            continue
        setting = _SETTING.match(line)
        if setting is None:
            raise ValueError(f"config has a line that cannot be read: {line[:60]!r}")
        yield section + b"." + setting.group(1).lower(), setting.group(2) or b""


def _sections(git: _GitFolder, *names: str) -> list[str]:
    wanted = tuple(name.encode() for name in names)
    return [path_to_text(key) for key, _ in _settings(git) if key.split(b".")[0] in wanted]


def _config(git: _GitFolder) -> list[str]:
    return [path_to_text(key) for key, value in _settings(git) if _SETTINGS.get(key) != value]


def _rewrites(git: _GitFolder) -> list[str]:
    return [
        path_to_text(key)
        for key, _ in _settings(git)
        if key.endswith((b".insteadof", b".pushinsteadof"))
    ]


def _head(git: _GitFolder) -> list[str]:
    data = git.read("HEAD")
    return [] if data == f"ref: {BRANCH}\n".encode() else [f"HEAD does not name {BRANCH}"]


def _stray_heads(git: _GitFolder) -> list[str]:
    return [
        name
        for name in git.entries
        if "/" not in name and (name.endswith("_HEAD") or name == "MERGE_MSG")
    ]


def _unknown_refs(git: _GitFolder) -> list[str]:
    return [ref for ref in git.files("refs/") + _packed_refs(git) if ref not in _KNOWN_REFS]


def _unknown_files(git: _GitFolder) -> list[str]:
    return [
        path_to_text(os.fsencode(name)) for name in git.files() if not _KNOWN_FILES.fullmatch(name)
    ]


def _no_regular(git: _GitFolder) -> list[str]:
    """Links below .git lead out of it, whatever their names are."""
    return [
        name
        for name, mode in git.entries.items()
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
    ]


_GIT_RULES: dict[str, Callable[[_GitFolder], list[str]]] = {
    "head": _head,
    "refs": _unknown_refs,
    "packed_refs": lambda git: _exists(git, "packed-refs"),
    "tags": lambda git: _refs(git, "refs/tags/"),
    "remote_branches": lambda git: _refs(git, "refs/remotes/", "refs/pull/", "refs/original/"),
    "stash": lambda git: _refs(git, "refs/stash") + _exists(git, "logs/refs/stash"),
    "notes": lambda git: _refs(git, "refs/notes/"),
    "replacements": lambda git: _refs(git, "refs/replace/") + _exists(git, "info/grafts"),
    "alternates": lambda git: _exists(
        git, "objects/info/alternates", "objects/info/http-alternates"
    ),
    "shallow": lambda git: _exists(git, "shallow"),
    "reflogs": lambda git: _holds(git, "logs"),
    "stray_heads": _stray_heads,
    "other_folders": lambda git: _holds(git, "worktrees", "modules", "lfs", "rr-cache", "svn"),
    "commit_graph": lambda git: _exists(
        git, "objects/info/commit-graph", "objects/info/commit-graphs", "commondir"
    ),
    "hooks": lambda git: _holds(git, "hooks"),
    "remotes": lambda git: _sections(git, "remote", "branch") + _holds(git, "remotes", "branches"),
    "rewrites": _rewrites,
    "credentials": lambda git: _sections(git, "credential", "http"),
    "includes": lambda git: _sections(git, "include", "includeif"),
    "config": _config,
    "special_files": _no_regular,
    "files": _unknown_files,
}
