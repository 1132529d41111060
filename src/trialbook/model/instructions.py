"""Instruction files that are taken from a revision instead of a folder of the suite."""

from __future__ import annotations

from dataclasses import dataclass

WORK_TREE = "."
"""The revision that means: the files as they are in the work tree now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionsFrom:
    """Instruction files taken from a git revision.

    ``repository`` is relative to the suite's folder; None is the repository of the task's snapshot.
    """

    revision: str
    paths: tuple[str, ...]
    repository: str | None = None
