"""Where git's configuration files are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path


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
