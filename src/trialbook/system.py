"""The outside world as one value: clock, environment, randomness.

The one user of `time`, `datetime.now` and `os.urandom`; everything below the command line gets a
`System` passed in, so that time and chance enter as data.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from trialbook.environment import cache_folder, environment, home

_PACKAGE_MANAGERS = {
    "apt-get": "apt-get install -y",
    "dnf": "dnf install -y",
    "zypper": "zypper install -y",
    "pacman": "pacman -S --noconfirm",
    "apk": "apk add",
    "brew": "brew install",
}


def _now() -> datetime:
    return datetime.now(UTC)


def _token(size: int) -> str:
    # What `secrets.token_hex` does, without the time that its import takes at every start.
    return os.urandom(size).hex()


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Clock, environment and entropy.

    ``now`` gives aware UTC; ``monotonic`` and ``sleep`` are in seconds; ``token`` gives that many
    random bytes as hexadecimal.
    """

    now: Callable[[], datetime] = _now
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    token: Callable[[int], str] = _token
    environ: Mapping[str, str] = field(default_factory=environment)

    def unique_name(self) -> str:
        """A name that is unique without coordination and sorts by time, to the second.

        For example ``20261130T151526Z-3f9c2d``.
        """
        return f"{self.now():%Y%m%dT%H%M%SZ}-{self.token(3)}"

    def cache_folder(self) -> Path:
        """Where downloads, templates and toolchains are kept; outside any ledger."""
        return Path(cache_folder(self.environ))

    def work_folder(self) -> Path:
        """Where the fresh folders of trials are made; gone after each trial."""
        chosen = self.environ.get("TRIALBOOK_WORK") or self.environ.get("TMPDIR") or "/tmp"  # noqa: S108
        return Path(chosen).absolute()

    def install_command(self, *packages: str) -> str:
        """The command line that installs packages here, by the package manager that is found."""
        path, words = self.environ.get("PATH"), " ".join(packages)
        for program, command in _PACKAGE_MANAGERS.items():
            if shutil.which(program, path=path):
                root = os.geteuid() == 0 or program == "brew"
                return f"{'' if root else 'sudo '}{command} {words}"
        return f"install {words}"

    def home(self) -> Path:
        """The operator's home; only ever read for git's own configuration and the cache."""
        return Path(home(self.environ))


def operator_environment() -> Mapping[str, str]:
    """The environment of the person who runs trialbook, for what a sandbox needs to know of it.

    Nothing of it may get into a sandbox: what a trial's processes get stands in their `Command`.
    """
    return System().environ


def plugin_folder(name: str) -> Path:
    """A folder below the operator's cache for a plugin's own notes; it need not be there yet."""
    return System().cache_folder() / "plugins" / name


def install_command(*packages: str) -> str:
    """The command line that installs packages on this host, for a hint that can be typed."""
    return System().install_command(*packages)


def timestamp(moment: datetime) -> str:
    """UTC with milliseconds, as in records: ``2026-11-30T15:15:26.123Z``."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def parse_timestamp(text: str) -> datetime:
    """The moment that `timestamp` wrote."""
    return datetime.fromisoformat(text)
