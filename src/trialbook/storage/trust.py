"""How far a judge is trusted: the one place that says so, by the calibrations on record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from trialbook.model.judgement import JudgeIdentity, Trusted
from trialbook.model.trust import TrustLevel
from trialbook.stats.trust import OLDEST_DAYS
from trialbook.storage.rubrics import RUBRICS_FOLDER
from trialbook.system import parse_timestamp

CALIBRATIONS = "calibrations"


def trust_of(root: Path, identity: JudgeIdentity, rubric: str, now: datetime) -> Trusted:
    """How far a judge may be trusted with a rubric now.

    A calibration is of exactly one identity: whatever changes the judge, the newest one of its own
    counts, and without any it is uncalibrated.

    Args:
        root: The ledger.
        identity: The judge.
        rubric: The rubric's reference, such as ``merge@1``.
        now: The time.
    """
    mine = [one for one in _calibrations(root, rubric) if one.get("judge") == identity.sha256]
    if not mine:
        return Trusted(because=f"{identity.judge} was never calibrated as it is now, with {rubric}")
    newest = max(mine, key=lambda one: (str(one["created"]), str(one["id"])))
    level, name = TrustLevel(newest["level"]), str(newest["id"])
    age = now - parse_timestamp(str(newest["created"]))
    if level is TrustLevel.GATING and age > timedelta(days=OLDEST_DAYS):
        because = f"the calibration {name} is older than {OLDEST_DAYS} days"
        return Trusted(level=TrustLevel.ADVISORY, calibration=name, because=because)
    return Trusted(level=level, calibration=name, because=f"by the calibration {name}")


def _calibrations(root: Path, rubric: str) -> Iterator[Mapping[str, Any]]:
    """The records of a rubric's calibrations that can be read as such."""
    folder = root / RUBRICS_FOLDER / rubric.partition("@")[0] / CALIBRATIONS
    for path in sorted(folder.glob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        if isinstance(record, dict) and {"id", "created", "judge", "level"} <= record.keys():
            yield record
