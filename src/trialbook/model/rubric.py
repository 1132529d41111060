"""Rubrics: versioned questions that need judgement, each answerable from evidence that is named."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trialbook.model.severity import Severity

MERGE, FIX, REJECT = "MERGE", "FIX", "REJECT"
VERDICTS = (MERGE, FIX, REJECT)
"""The verdicts that a rubric may ask for, from best to worst."""


class AnswerKind(StrEnum):
    """What may be said to a question. *Not applicable* is no answer and enters no score."""

    YES = "yes"
    NO = "no"
    NOT_APPLICABLE = "not_applicable"


class EvidenceKind(StrEnum):
    """What an answer has to point at."""

    DIFF = "diff"
    CHECK = "check"
    TRAJECTORY = "trajectory"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of a rubric. *Yes* is always the good answer.

    ``no_when`` says what makes the answer no; ``applies_to`` when the question applies at all, and
    None means always. ``critical`` marks a *no* that a judge may never overlook.
    """

    id: str
    text: str
    no_when: str
    evidence: EvidenceKind
    severity: Severity = Severity.HIGH
    applies_to: str | None = None
    critical: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """One version of a rubric, as ``rubrics/<name>/v<version>.md`` holds it.

    ``verdicts`` are from best to worst, and empty where a rubric asks for none. ``prose`` is the
    CommonMark text below the questions; ``sha256`` is the whole file's digest.
    """

    name: str
    version: int
    title: str
    verdicts: tuple[str, ...]
    questions: tuple[Question, ...]
    prose: str
    sha256: str

    @property
    def reference(self) -> str:
        """How records and files name it: ``merge@1``."""
        return f"{self.name}@{self.version}"

    def question(self, name: str) -> Question | None:
        """The question with that id; None if there is none."""
        return next((one for one in self.questions if one.id == name), None)

    @property
    def critical(self) -> tuple[str, ...]:
        """The questions whose *no* a judge may never overlook.

        Those that are marked so; in a rubric that marks none, all whose severity is *must*.
        """
        marked = tuple(one.id for one in self.questions if one.critical)
        musts = tuple(one.id for one in self.questions if one.severity is Severity.MUST)
        return marked or musts
