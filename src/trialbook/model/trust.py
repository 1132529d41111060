"""How far a judge is trusted, and what that lets its verdicts be used for."""

from __future__ import annotations

from enum import StrEnum


class TrustLevel(StrEnum):
    """What the comparison with people has shown of a judge so far, from least to most."""

    UNCALIBRATED = "uncalibrated"
    ADVISORY = "advisory"
    GATING = "gating"


class JudgeUse(StrEnum):
    """What somebody wants to do with a judge's verdicts."""

    OPINION = "opinion"
    """Show them, marked as the judge's opinion."""
    FINDINGS = "findings"
    """Count its findings among those that come back again and again."""
    QUEUE = "queue"
    """Let them say what people review first."""
    CORRECTED_RATE = "corrected_rate"
    """Show a rate corrected for its errors, in a column of its own."""
    ACCEPTANCE = "acceptance"
    """Let them decide whether a trial is accepted, and so whether a configuration is better."""


_LEAST = {
    JudgeUse.OPINION: TrustLevel.UNCALIBRATED,
    JudgeUse.FINDINGS: TrustLevel.ADVISORY,
    JudgeUse.QUEUE: TrustLevel.ADVISORY,
    JudgeUse.CORRECTED_RATE: TrustLevel.ADVISORY,
    JudgeUse.ACCEPTANCE: TrustLevel.GATING,
}
_LEVELS = tuple(TrustLevel)


def allows(level: TrustLevel, use: JudgeUse) -> bool:
    """Whether a judge of that level may be used for that."""
    return _LEVELS.index(level) >= _LEVELS.index(_LEAST[use])
