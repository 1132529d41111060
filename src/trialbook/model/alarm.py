"""What people found out about a gate that failed: whether something was wrong at all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AlarmKind(StrEnum):
    """What a failed gate was."""

    FALSE = "false"
    REAL = "real"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANING[self]


_MEANING = {
    AlarmKind.FALSE: "Nothing was worse: the gate failed by chance, or for another reason.",
    AlarmKind.REAL: "Something was worse, as the gate said.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """What somebody found out about one gate; the newest of several counts.

    ``run`` is the gate's last run, a path below ``runs/``.
    """

    schema: str = "trialbook/alarm/1"
    id: str
    created: str
    author: str
    trialbook: str
    run: str
    kind: AlarmKind
    because: str
