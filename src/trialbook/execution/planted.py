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
_SECTION = re.compile(rb'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_PIECE = re.compile(rb'\\.?|["#;]', re.DOTALL)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_RUNS = re.compile(
    r"core\.(?:fsmonitor|hookspath|sshcommand|pager|editor|gitproxy|askpass|worktree|attributesfile)"
    r"|(?:filter|diff|merge)\..*\.(?:clean|smudge|process|command|textconv|driver)|diff\.external"
    r"|(?:credential|gpg|sequence|ssh|interactive|browser|man|difftool|mergetool|pager|trailer"
    r"|uploadpack|remote|guitool|tar|hook)\b.*\.(?:helper|program|editor|command|cmd|path"
    r"|packobjectshook|vcs|uploadpack|receivepack|defaultkeycommand)|pager\..*"
    r"|include(?:if\..*)?\.path|url\..*\.(?:push)?insteadof|alias\..*|submodule\..*\.update"
    r"|init\.templatedir|receive\..*|http\..*proxy.*|core\.alternaterefscommand"
    r"|protocol\..*\.?allow|lfs\.(?:customtransfer|extension)\..*|lfs\..*transferagent",
    re.DOTALL,
)
_FLAGS = {"true", "false", ""}
_HARMLESS = {"core.fsmonitor": _FLAGS}
_HARMLESS_UPDATES = {"checkout", "rebase", "merge", "none"}


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
        for setting, value, number, line in _read(data):
            if _RUNS.fullmatch(setting) and value not in _harmless(setting):
                yield _sighting(f".git/{name}", f"it sets {_short(setting)}", number, line)


def _read(data: bytes) -> Iterator[tuple[str, str, int, str]]:
    """The settings of a file as git reads it: name, value, the line where it begins, that line."""
    section = ""
    lines = enumerate(data.removeprefix(_BYTE_ORDER_MARK).split(b"\n"), start=1)
    for number, raw in lines:
        rest = raw.removesuffix(b"\r")
        while match := _SECTION.match(rest):
            section = match[1].decode().lower()
            if match[2] is not None:
                inner = re.sub(rb"\\(.)", rb"\1", match[2], flags=re.DOTALL)
                section += "." + inner.decode("utf-8", "replace")
            rest = rest[match.end() :]
        line = rest.decode("utf-8", "replace").strip()
        key, _, value = line.partition("=")
        if not key.strip() or line.startswith(("#", ";")):
            continue
        goes_on, quoted = _goes_on(rest.partition(b"=")[2], quoted=False)
        while goes_on:
            more = next(lines, (0, b""))[1].removesuffix(b"\r")
            goes_on, quoted = _goes_on(more, quoted=quoted)
        yield f"{section}.{key.strip().lower()}", value.strip().strip('"'), number, line


def _goes_on(value: bytes, *, quoted: bool) -> tuple[bool, bool]:
    """Whether a value is continued on the next line, and whether in quotes."""
    for found in _PIECE.finditer(value):
        piece = found[0]
        if piece == b"\\":
            return True, quoted
        if piece == b'"':
            quoted = not quoted
        elif not quoted and piece in (b"#", b";"):
            break
    return False, quoted


def _harmless(setting: str) -> set[str]:
    if setting.startswith("submodule."):
        return _HARMLESS_UPDATES
    return _FLAGS if setting.startswith("pager.") else _HARMLESS.get(setting, set())


def _short(setting: str) -> str:
    """A setting's name that may be long: its beginning and its end."""
    return setting if len(setting) <= _EXCERPT else f"{setting[:100]}...{setting[-50:]}"


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
