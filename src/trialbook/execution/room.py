"""The fresh folders of one trial, and the environment that its processes get.

Everything lies below one folder with a neutral name; nothing in it names the suite, the ledger, the
task or the configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trialbook.model.suite import Configuration

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where one trial happens."""

    root: Path

    @property
    def workspace(self) -> Path:
        """The folder that the agent works in."""
        return self.root / "workspace"

    @property
    def home(self) -> Path:
        """The agent's home, fresh and empty."""
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        """The agent's folder for temporary files."""
        return self.root / "tmp"

    @property
    def files(self) -> Path:
        """The agent's own files, if its configuration gives it any."""
        return self.root / "files"

    @property
    def output(self) -> Path:
        """Where the attempt's artifacts go."""
        return self.root / "output"

    @property
    def prompt_file(self) -> Path:
        """The brief as a file."""
        return self.root / "prompt.md"

    @property
    def proxy(self) -> Path:
        """The socket of the trial's proxy, if it has one; in a folder of its own."""
        return self.root / "proxy" / "socket"

    @property
    def forwarder(self) -> Path:
        """The script that makes the proxy reachable in the sandbox."""
        return self.root / "forward.py"

    def make(self, prompt: str) -> None:
        """Make the folders and write the prompt."""
        for folder in (self.home, self.temporary, self.output):
            folder.mkdir()
        self.prompt_file.write_text(prompt, encoding="utf-8")


def environment_of(
    configuration: Configuration, room: Room, toolchain: Path | None, environ: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of an agent's processes, built from an allow-list.

    ``toolchain`` is the folder of the task's own programs; it comes first on the path. Nothing of
    the operator's passes but what the configuration names. An identity for git is set,
    since an agent may commit and a fresh home has none.
    """
    environment = {
        "PATH": f"{toolchain}:{SYSTEM_PATH}" if toolchain else SYSTEM_PATH,
        "HOME": str(room.home),
        "TMPDIR": str(room.temporary),
        "XDG_CACHE_HOME": str(room.home / ".cache"),
        "XDG_CONFIG_HOME": str(room.home / ".config"),
        "XDG_DATA_HOME": str(room.home / ".local" / "share"),
        "XDG_STATE_HOME": str(room.home / ".local" / "state"),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "agent",
        "GIT_AUTHOR_EMAIL": "agent@localhost",
        "GIT_COMMITTER_NAME": "agent",
        "GIT_COMMITTER_EMAIL": "agent@localhost",
    }
    environment |= configuration.environment
    for name in (*configuration.pass_environment, *configuration.secrets):
        if name in environ:
            environment[name] = environ[name]
    return environment


def secrets_of(configuration: Configuration, environ: Mapping[str, str]) -> dict[str, str]:
    """The values of the configuration's secrets, by name."""
    return {name: environ[name] for name in configuration.secrets if name in environ}
