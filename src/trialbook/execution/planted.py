"""What an agent left in the ``.git`` of its workspace by which git would run a program.

Nothing of ours ever runs git there. A person who does, or a tool that looks for a repository in the
folder, would; so what stands there is told. It is read as text, within bounds.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from trialbook.model.evidence import KINDS, Sighting, bounded
from trialbook.model.paths import path_to_text
from trialbook.storage.files import read_regular

_CONFIG_BYTES = 500_000
_MOST_HOOKS = 1000
_EXCERPT = 160
_SECTION = re.compile(rb'\s*\[\s*([A-Za-z0-9.-]{1,100})(?:\s+"([^"]{0,400})")?\s*\]')
_RUNS = re.compile(
    r"core\.(?:fsmonitor|hookspath|sshcommand|pager|editor|gitproxy|askpass|worktree|attributesfile)"
    r"|(?:filter|diff|merge)\..*\.(?:clean|smudge|process|command|textconv|driver)|diff\.external"
    r"|(?:credential|gpg|sequence|ssh|interactive|browser|man|difftool|mergetool|pager|trailer"
    r"|uploadpack|remote)\b.*\.(?:helper|program|editor|command|cmd|path|packobjectshook|vcs"
    r"|uploadpack|receivepack)|include(?:if\..*)?\.path|url\..*\.(?:push)?insteadof|alias\..*"
    r"|init\.templatedir|receive\..*|http\..*proxy.*|core\.alternaterefscommand"
)
_HARMLESS = {"core.fsmonitor": {"true", "false", ""}}


def planted_git(workspace: Path) -> tuple[Sighting, ...]:
    """What of the repository would run something, or leads out of it; bounded in number."""
    git = workspace / ".git"
    try:
        mode = git.lstat().st_mode
    except OSError:
        return ()
    if not stat.S_ISDIR(mode):
        return (_sighting(".git", "it is no folder any more, and may name another repository"),)
    try:
        return bounded([*_settings(git), *_hooks(git), *_others(git)])
    except OSError as error:
        return (_sighting(".git", f"it cannot be looked at: {error.strerror}"),)


def _settings(git: Path) -> Iterator[Sighting]:
    for name in ("config", "config.worktree"):
        data = read_regular(git / name, _CONFIG_BYTES)
        if data is None:
            if (git / name).exists() or (git / name).is_symlink():
                yield _sighting(f".git/{name}", "it is no file, or too large to be looked at")
            continue
        section = ""
        for number, raw in enumerate(data.splitlines(), start=1):
            line = raw.decode("utf-8", "replace")
            match = _SECTION.match(raw)
            if match:
                section = match[1].decode().lower()
                section += "." + match[2].decode("utf-8", "replace") if match[2] else ""
                line = raw[match.end() :].decode("utf-8", "replace")
            key, _, value = line.partition("=")
            setting = f"{section}.{key.strip().lower()}"
            said = value.strip().strip('"')
            if (
                key.strip()
                and _RUNS.fullmatch(setting)
                and said not in _HARMLESS.get(setting, set())
            ):
                yield _sighting(
                    f".git/{name}", f"it sets {setting[:_EXCERPT]}", number, line.strip()
                )


def _hooks(git: Path) -> Iterator[Sighting]:
    hooks = git / "hooks"
    if hooks.is_symlink():
        yield _sighting(".git/hooks", "it is a link")
        return
    if not hooks.is_dir():
        return
    with os.scandir(os.fsencode(hooks)) as listing:
        for number, entry in enumerate(listing):
            if number >= _MOST_HOOKS:
                return
            if not entry.name.endswith(b".sample"):
                yield _sighting(path_to_text(b".git/hooks/" + entry.name), "a hook")


def _others(git: Path) -> Iterator[Sighting]:
    for name, said in {
        "info/attributes": "attributes that no commit holds",
        "objects/info/alternates": "it takes objects from another repository",
        "commondir": "it belongs to another repository",
        "info/grafts": "commits with other parents",
    }.items():
        if (git / name).is_symlink() or (git / name).exists():
            yield _sighting(f".git/{name}", said)


def _sighting(
    path: str, detail: str, line: int | None = None, excerpt: str | None = None
) -> Sighting:
    return Sighting(
        kind="git_planted",
        severity=KINDS["git_planted"][0],
        detail=detail,
        path=path,
        line=line,
        excerpt=None if excerpt is None else excerpt[:_EXCERPT],
    )
