"""What can be done to files. An action says what it does before it does it."""

import gzip
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Action(Protocol):
    """One step of a plan."""

    def describe(self) -> str:
        """What it does, in a line."""

    def apply(self) -> None:
        """Do it."""


@dataclass(frozen=True)
class Move:
    """Give a file another name in the same folder."""

    source: Path
    target: Path

    def describe(self) -> str:
        """What it does, in a line."""
        return f"move {self.source.name} to {self.target.name}"

    def apply(self) -> None:
        """Do it."""
        self.source.rename(self.target)


@dataclass(frozen=True)
class Remove:
    """Remove a file."""

    path: Path

    def describe(self) -> str:
        """What it does, in a line."""
        return f"remove {self.path.name}"

    def apply(self) -> None:
        """Do it."""
        self.path.unlink()


@dataclass(frozen=True)
class Create:
    """Make an empty file, for who writes the log to find."""

    path: Path

    def describe(self) -> str:
        """What it does, in a line."""
        return f"create {self.path.name}"

    def apply(self) -> None:
        """Do it."""
        self.path.touch(exist_ok=False)


@dataclass(frozen=True)
class Compress:
    """Replace a file by a compressed one."""

    source: Path
    target: Path
    level: int = 6

    def describe(self) -> str:
        """What it does, in a line."""
        return f"compress {self.source.name}"

    def apply(self) -> None:
        """Do it; the source stays until the target is whole."""
        with self.source.open("rb") as data, gzip.open(self.target, "wb", self.level) as out:
            shutil.copyfileobj(data, out)
        self.source.unlink()
