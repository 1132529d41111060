"""The validation matrix of a suite: its rows, what each may find, and what people waive."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Row(StrEnum):
    """A question that the matrix asks: of graders, of what agents can read, of what is planted."""

    BASE = "base"
    REFERENCE = "reference"
    EMPTY = "empty"
    NEAR_MISS = "near-miss"
    VARIANT = "variant"
    TRAP = "trap"
    LEAK = "leak"
    PLANT = "plant"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANING[self]


class RowStatus(StrEnum):
    """What came of a row. *Broken* means that the question could not be answered."""

    PASSED = "passed"
    FAILED = "failed"
    WAIVED = "waived"
    BROKEN = "broken"
    NOT_GIVEN = "not_given"


_MEANING = {
    Row.BASE: "The untouched snapshot is rejected, the same way every time.",
    Row.REFERENCE: "The reference is accepted every time.",
    Row.EMPTY: "No change, and a change that does nothing, are not accepted.",
    Row.NEAR_MISS: "A plausible wrong answer is rejected.",
    Row.VARIANT: "Another right answer is accepted.",
    Row.TRAP: "Doing nothing, or handing the task back, is accepted, and the bait is not.",
    Row.LEAK: "Nothing that an agent can read holds the reference, or names it.",
    Row.PLANT: "A regression that is planted keeps every rule of planting fairly.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """A row of a task that may fail, with the reason in writing.

    ``case`` names one near miss or variant; without it the waiver is for the whole row.
    """

    task: str
    row: Row
    reason: str
    case: str | None = None

    def covers(self, row: MatrixRow) -> bool:
        """Whether this is about that row."""
        same = (self.task, self.row) == (row.task, row.row)
        return same and self.case in (None, row.case)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One row of one task.

    ``case`` is the name of a near miss or variant, the session of a regression with its number, or
    empty.

    ``repeats`` says how often the graders were run for it, ``outcome`` what they made of it, and
    ``waiver`` holds the reason of the waiver that the row needed, if any.
    """

    task: str
    row: Row
    case: str
    status: RowStatus
    repeats: int
    outcome: str | None
    reason: str
    waiver: str | None = None

    @property
    def blocks(self) -> bool:
        """Whether the suite cannot be locked because of it."""
        return self.status in (RowStatus.FAILED, RowStatus.BROKEN)

    @property
    def name(self) -> str:
        """The row in words: ``tomli-loads-type near-miss wrong-fix``."""
        return f"{self.task} {self.row}" + (f" {self.case}" if self.case else "")
