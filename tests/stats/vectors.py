"""The worked numbers that the statistics are held to, and what tests build from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from trialbook.stats.paired import PairedTask, paired
from trialbook.stats.passk import TaskTrials

VECTORS: dict[str, Any] = json.loads(
    Path(__file__).with_name("vectors.json").read_text(encoding="utf-8")
)
A = (3, 3, 3, 3, 3, 3, 2, 2, 1, 1)
B = (3, 3, 3, 3, 3, 3, 3, 2, 2, 0)
"""Ten tasks, three trials each: the suite of 24/30 against 25/30."""


def trials(accepted: Sequence[int], counted: int = 3) -> list[TaskTrials]:
    return [
        TaskTrials(task=f"t{number:02}", counted=counted, accepted=one)
        for number, one in enumerate(accepted, start=1)
    ]


def pairs(one: Sequence[int], other: Sequence[int], counted: int = 3) -> tuple[PairedTask, ...]:
    return paired(trials(one, counted), trials(other, counted))


def fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
