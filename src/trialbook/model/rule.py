"""Where something that was sent back became a rule, so that nobody has to find it again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RuleKind(StrEnum):
    """What a finding became."""

    RUBRIC = "rubric"
    INSTRUCTIONS = "instructions"
    HOOK = "hook"
    TASK = "task"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANING[self]


_MEANING = {
    RuleKind.RUBRIC: "A question of a rubric asks for it.",
    RuleKind.INSTRUCTIONS: "The instructions that agents are given say it.",
    RuleKind.HOOK: "A hook or a check stops it.",
    RuleKind.TASK: "A task of a suite has it as its subject.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a group of findings is about: its first finding.

    ``source`` says who sends such things back (*check*, *question* or *remark*), ``item`` which
    check or question it is; ``place`` is the file that it is about, empty for none.
    """

    source: str
    item: str
    place: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One finding that became a rule.

    ``link`` is a path of the ledger, which was there in ``commit``, or an address. What is sent
    back in trials that began after ``created`` is a repeat.
    """

    schema: str = "trialbook/rule/1"
    id: str
    created: str
    author: str
    trialbook: str
    group: str
    about: About
    kind: RuleKind
    link: str
    commit: str
    note: str = ""
