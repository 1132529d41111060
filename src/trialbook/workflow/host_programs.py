"""The programs on this host that evaluations use, and in whose name commits are made."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from trialbook.api import Client
from trialbook.errors import EnvironmentProblem, TrialbookError
from trialbook.model.diagnosis import Identity, Installed, Space
from trialbook.process import git_version, run, tool
from trialbook.registry import Registry
from trialbook.storage.gitconfig import identity
from trialbook.storage.repository import Repository
from trialbook.storage.signing import Setting, signing_of
from trialbook.system import System

_SECONDS = 15.0
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_OLDEST_GIT = (2, 30)
_TRIED = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\nsigning works\n"


def programs(system: System) -> tuple[Installed, ...]:
    """Python, git and Git LFS."""
    environ = system.environ
    git = git_version()
    numbers = tuple(int(part) for part in re.findall(r"\d+", git or "")[:2])
    old = git is not None and numbers < _OLDEST_GIT
    lfs = _said(("git-lfs", "version"), environ)
    get_lfs = f"{system.install_command('git-lfs')}  # only to push and fetch long logs"
    return (
        Installed(name="python", version=platform.python_version(), place=sys.executable),
        Installed(
            name="git",
            version=git,
            place=shutil.which("git", path=environ.get("PATH")),
            fix=system.install_command("git") if git is None or old else "",
        ),
        Installed(
            name="git-lfs",
            version=lfs,
            place=shutil.which("git-lfs", path=environ.get("PATH")),
            fix="" if lfs else get_lfs,
        ),
    )


def git_is_usable(found: tuple[Installed, ...]) -> bool:
    """Whether a git is here that runs can use."""
    return any(one.name == "git" and one.version is not None and not one.fix for one in found)


def agents(registry: Registry) -> tuple[Installed, ...]:
    """The adapters for agents that are installed."""
    found = []
    for name in registry.names("agents"):
        plugin = registry.plugin("agents", name)
        place = f"{plugin.distribution} {plugin.version}"
        try:
            found.append(Installed(name=name, version=registry.agent(name).version(), place=place))
        except Exception as error:  # noqa: BLE001 - whatever a plugin does
            fix = f"reinstall or remove {plugin.distribution}: {error}"
            found.append(Installed(name=name, version=None, place=place, fix=fix))
    return tuple(found)


def client(name: str, registry: Registry) -> Installed | None:
    """The client of one adapter, as that finds it and asks it; None if it runs none."""
    try:
        look = getattr(registry.agent(name), "client", None)
        found: Client | None = None if look is None else look({}, run)
    except Exception as error:  # noqa: BLE001 - whatever a plugin does
        return Installed(
            name=name, version="unknown", place=None, fix=f"its adapter fails: {error}"
        )
    if found is None:
        return None
    broken = found.program is not None and found.version is None
    return Installed(
        name=name,
        version="unknown" if broken else found.version,
        place=found.program,
        fix=f"{found.reason}; {found.hint}" if broken else "",
    )


def _said(argv: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    """The version that a program says; None if it is not here, "unknown" if it says none."""
    if shutil.which(argv[0], path=environ.get("PATH")) is None:
        return None
    with tempfile.TemporaryDirectory() as home:
        only = {"PATH": environ.get("PATH", ""), "HOME": home, "LC_ALL": "C.UTF-8"}
        try:
            done = tool(argv, cwd=Path(home), environment=only, timeout=_SECONDS)
        except EnvironmentProblem:
            return "unknown"
    found = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return found[0] if found else "unknown"


def committer(root: Path | None, system: System) -> Identity:
    """In whose name commits are made, and whether they are signed: tried with that very key."""
    try:
        setting = _setting(root, system)
        found = identity(setting, system.environ)
        wants = (setting("commit", "gpgsign") or "").strip().lower() in ("true", "yes", "on", "1")
        key = setting("user", "signingkey")
        troubles: list[str] = []
        who = "{} <{}>".format(*found) if found else ""
        signature = signing_of(setting, system.environ, who, troubles.append)(_TRIED)
    except TrialbookError as problem:
        return Identity(name=None, email=None, signing="fails", detail=problem.message)
    name, email = found or (None, None)
    fix = "" if found else 'git config --global user.name "NAME"; '
    fix += "" if found else "git config --global user.email ADDRESS"
    if not wants:
        detail = f"commit.gpgsign is not set; user.signingkey is {key or 'not set'}"
        return Identity(name=name, email=email, signing="off", detail=detail, fix=fix)
    works = signature is not None
    return Identity(
        name=name,
        email=email,
        signing="works" if works else "fails",
        detail="a signature was made" if works else "; ".join(troubles),
        fix=fix or ("" if works else "git config user.signingkey KEY"),
    )


def _setting(root: Path | None, system: System) -> Setting:
    if root is not None:
        repository = Repository.discover(root)
        return partial(repository.setting, environ=system.environ)
    return lambda section, key: _global(f"{section}.{key}", system.environ)


def _global(name: str, environ: Mapping[str, str]) -> str | None:
    """A value of the user's own configuration, where there is no repository to have another."""
    outside = {key: value for key, value in environ.items() if not key.startswith("GIT_DIR")}
    try:
        argv = ("git", "config", "--get", name)
        done = tool(argv, cwd=Path("/"), environment=outside, timeout=_SECONDS)
    except EnvironmentProblem:
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None if done.code == 0 else None


def spaces(system: System) -> tuple[Space, ...]:
    """The cache and the work folder: what is in the first, and what is free in both."""
    cache, work = system.cache_folder(), system.work_folder()
    return (
        Space(what="cache", path=str(cache), bytes=_size(cache), free=_free(cache)),
        Space(what="work", path=str(work), bytes=None, free=_free(work)),
    )


def _size(folder: Path) -> int | None:
    total = 0
    if not folder.is_dir():
        return 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(place, name).lstat().st_blocks * 512
            except OSError:
                continue
    return total


def _free(folder: Path) -> int | None:
    there = next((path for path in (folder, *folder.parents) if path.is_dir()), None)
    return shutil.disk_usage(there).free if there is not None else None
