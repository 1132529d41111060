"""Generations of a log: what they are called, and which there are."""

import re
from dataclasses import dataclass
from pathlib import Path

COMPRESSED = ".gz"


@dataclass(frozen=True)
class Generation:
    """One that was set aside; number 1 is the newest."""

    number: int
    path: Path

    @property
    def compressed(self) -> bool:
        """Whether it has to be read with gzip."""
        return self.path.name.endswith(COMPRESSED)


def path_of(log: Path, number: int, *, compressed: bool = False) -> Path:
    """What a generation is called."""
    return log.with_name(f"{log.name}.{number}{COMPRESSED if compressed else ''}")


def generations(log: Path) -> list[Generation]:
    """Those that are there, newest first."""
    if not log.parent.is_dir():
        return []
    pattern = re.compile(re.escape(log.name) + r"\.([1-9]\d*)(\.gz)?")
    found = []
    for path in log.parent.iterdir():
        if (match := pattern.fullmatch(path.name)) and path.is_file():
            found.append(Generation(int(match[1]), path))
    return sorted(found, key=lambda one: one.number)
