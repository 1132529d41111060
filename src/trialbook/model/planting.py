"""Whether a fault was planted fairly: the rules, and what came of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PlantRule(StrEnum):
    """A rule that a planted regression has to keep."""

    APPLIES = "applies"
    VISIBLE = "visible-stays-green"
    REPORTED = "reported-breaks"
    SIBLINGS = "siblings-break"
    INPUTS = "siblings-have-other-inputs"
    REVERT = "no-revert-repairs"
    WORDS = "words-are-neutral"
    SEARCH = "cause-is-not-first-hit"
    SIZE = "looks-like-an-integration"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANING[self]


_MEANING = {
    PlantRule.APPLIES: "The change can be laid on top of the work of the sessions before.",
    PlantRule.VISIBLE: "Nothing that the agent can see fails because of it.",
    PlantRule.REPORTED: "The reported tests pass before it, and fail after it.",
    PlantRule.SIBLINGS: "At least three siblings pass before it, and fail after it.",
    PlantRule.INPUTS: "Every sibling has another input than the reported tests.",
    PlantRule.REVERT: "Taking back any one of the last ten commits does not make all pass.",
    PlantRule.WORDS: "Neither message nor change has a word that gives the fault away.",
    PlantRule.SEARCH: "A search for the words of the symptom does not lead to the cause first.",
    PlantRule.SIZE: "It has 8 files and 150 changed lines, of which at most 5 % are the fault.",
}


class RuleStatus(StrEnum):
    """What came of a rule. *Unknown* means that it could not be tried."""

    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """What came of one rule: why, and what to do where it is not kept."""

    rule: PlantRule
    status: RuleStatus
    reason: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantResult:
    """What came of all rules for one regression of a task.

    ``number`` counts the regressions of the session from 1. ``state`` says in words what it was
    planted on.
    """

    task: str
    session: str
    number: int
    kind: str
    state: str
    rules: tuple[RuleResult, ...]

    @property
    def fair(self) -> bool | None:
        """Whether every rule is kept; None if one could not be tried and none is broken."""
        found = {one.status for one in self.rules}
        if RuleStatus.BROKEN in found:
            return False
        return None if RuleStatus.UNKNOWN in found else True
