"""Generations that are named by their time."""

import gzip
import re
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rotor.actions import Action, Create, Move, Remove
from rotor.config import Rule
from rotor.errors import RotorError


@dataclass(frozen=True)
class CompressDated:
    """Compress a generation that has its time in its name."""

    path: Path
    level: int

    def describe(self) -> str:
        """What it does, in a line."""
        return f"compress {self.path.name}"

    def apply(self) -> None:
        """Do it."""
        target = self.path.with_name(f"{self.path.name}.gz")
        with self.path.open("rb") as source, gzip.open(target, "wb", self.level) as out:
            shutil.copyfileobj(source, out)
        self.path.unlink()


def dated_generations(log: Path) -> list[Path]:
    """Those that are there, newest first."""
    if not log.parent.is_dir():
        return []
    pattern = re.compile(re.escape(log.name) + r"-(\d{8}T\d{6})(\.gz)?")
    found = []
    for path in log.parent.iterdir():
        if (match := pattern.fullmatch(path.name)) and path.is_file():
            found.append((match[1], path))
    return [path for _, path in sorted(found, reverse=True)]


def dated_plan(rule: Rule, now: datetime) -> list[Action]:
    """The actions that set a log aside under a name with the time."""
    target = rule.path.with_name(f"{rule.path.name}-{now:%Y%m%dT%H%M%S}")
    for name in (target.name, f"{target.name}.gz"):
        if target.with_name(name).exists():
            raise RotorError("is there already", name)
    actions: list[Action] = [
        Remove(path) for path in dated_generations(rule.path)[max(rule.keep - 1, 0) :]
    ]
    actions.append(Move(rule.path, target))
    actions.append(Create(rule.path))
    if rule.compress:
        actions.append(CompressDated(target, rule.level))
    return actions
