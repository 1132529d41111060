"""Where git looks: its configuration files, an identity, and what it takes for a URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from trialbook.storage.objects import plain_line

_URL = re.compile(r"(?:https?|git|ssh|git\+ssh|file)://|[\w.-]+@[\w.-]+:")


def is_url(text: str) -> bool:
    """Whether this names a repository on a server (or by ``file://``) rather than a folder."""
    return _URL.match(text) is not None


def identity(
    setting: Callable[[str, str], str | None], environ: Mapping[str, str]
) -> tuple[str, str] | None:
    """Name and email as git would take them for a commit, or None if none is configured.

    Args:
        setting: Gives a value of git's configuration by section and key.
        environ: The environment.
    """
    name = environ.get("GIT_AUTHOR_NAME") or setting("user", "name") or ""
    email = environ.get("GIT_AUTHOR_EMAIL") or setting("user", "email") or environ.get("EMAIL", "")
    name, email = plain_line(name), plain_line(email)
    return (name, email) if name and email else None


def config_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """The user's and the system's configuration files that are there, the stronger ones first."""
    return (path for path in _candidates(environ) if path.is_file())


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    home = environ.get("HOME")
    if (chosen := environ.get("GIT_CONFIG_GLOBAL")) is not None:
        yield Path(chosen)
    elif home:
        yield Path(home) / ".gitconfig"
        yield Path(environ.get("XDG_CONFIG_HOME") or f"{home}/.config") / "git" / "config"
    if (system := environ.get("GIT_CONFIG_SYSTEM")) is not None:
        yield Path(system)
    elif environ.get("GIT_CONFIG_NOSYSTEM", "0") in ("", "0", "false", "no", "off"):
        yield Path("/etc/gitconfig")
