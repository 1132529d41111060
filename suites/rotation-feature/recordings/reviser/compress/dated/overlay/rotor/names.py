"""Generations of a log: what they are called, and which there are."""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

COMPRESSED = ".gz"


@dataclass(frozen=True)
class Generation:
    """One that was set aside; `stamp` is the time in its name, and sorts by it."""

    stamp: str
    path: Path

    @property
    def compressed(self) -> bool:
        """Whether it has to be read with gzip."""
        return self.path.name.endswith(COMPRESSED)


def path_of(log: Path, when: datetime, *, compressed: bool = False) -> Path:
    """What a generation is called, from the moment when it is set aside on."""
    return log.with_name(f"{log.name}-{when:%Y%m%dT%H%M%S}{COMPRESSED if compressed else ''}")


def generations(log: Path) -> list[Generation]:
    """Those that are there, newest first."""
    if not log.parent.is_dir():
        return []
    pattern = re.compile(re.escape(log.name) + r"-(\d{8}T\d{6})(\.gz)?")
    found = []
    for path in log.parent.iterdir():
        if (match := pattern.fullmatch(path.name)) and path.is_file():
            found.append(Generation(match[1], path))
    return sorted(found, key=lambda one: one.stamp, reverse=True)
