"""How far a judge is trusted: the one place that says so, by the calibrations on record.

What a record says of the level is not believed: it is worked out again from the reviews and grades
that were in the ledger when the record came, and from the time that has passed since. A file that
is not committed counts for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from trialbook.model.calibration import Calibration, Cited
from trialbook.model.judgement import JudgeIdentity, Trusted
from trialbook.model.ledgerfiles import calibration_path
from trialbook.model.trust import TrustLevel
from trialbook.stats.calibrated import trust_at
from trialbook.stats.trust import Trust
from trialbook.storage.calibrations import calibration_faults, calibrations
from trialbook.storage.reader import Reader
from trialbook.system import parse_timestamp


def trust_of(
    root: Path, reader: Reader, identity: JudgeIdentity, rubric: str, now: datetime
) -> Trusted:
    """How far a judge may be trusted with a rubric at some time.

    A calibration is of exactly one identity: whatever changes the judge, the newest one of its own
    counts, and without any it is uncalibrated.

    Args:
        root: The ledger.
        reader: Its records.
        identity: The judge.
        rubric: The rubric's reference, such as ``merge@1``.
        now: The time; what came later counts for nothing.
    """
    mine = [
        one
        for one in calibrations(reader, rubric)
        if one.judge == identity.sha256 and parse_timestamp(one.created) <= now
    ]
    if not mine:
        return Trusted(because=f"{identity.judge} was never calibrated as it is now, with {rubric}")
    newest = mine[-1]
    if problem := _problem(root, reader, newest):
        because = f"the calibration {newest.id} does not hold: {problem}"
        return Trusted(calibration=newest.id, because=because)
    age = (now - parse_timestamp(_compared_at(mine))) / timedelta(days=1)
    earned = trust_at(newest.judged, newest.labels, age)
    return Trusted(level=earned.level, calibration=newest.id, because=_because(newest, earned))


def _compared_at(mine: Sequence[Calibration]) -> str:
    """When the last of some records was compared: when all that it rests on was first on record.

    Noting something, or drawing the same labels with another seed, compares nothing anew.
    """
    wanted = _evidence(mine[-1])
    return next(one.created for one in mine if wanted <= _evidence(one))


def _evidence(record: Calibration) -> frozenset[tuple[Cited, ...]]:
    """What people and judge said of every labelled change, by the files that hold it."""
    grades = {one.trial: one.grades for one in record.judged}
    return frozenset(
        (*grades.get(one.trial, ()), *one.reviews, *one.reconciliations) for one in record.labels
    )


def _problem(root: Path, reader: Reader, record: Calibration) -> str:
    """Why a record counts for nothing; empty if it holds."""
    added = reader.record_added(calibration_path(record.rubric, record.id))
    if added is None:
        return "no commit added it"
    then = Reader.open(root, added)
    try:
        return "; ".join(calibration_faults(root, then, record))
    finally:
        then.close()


def _because(record: Calibration, earned: Trust) -> str:
    said = f"by the calibration {record.id}"
    if earned.level is TrustLevel.GATING:
        return said
    levels = list(TrustLevel)
    above = levels[levels.index(earned.level) + 1]
    missing = [one.message for one in earned.unmet if one.level is above]
    return f"{said}; to be {above.value} it lacks: {'; '.join(missing)}"
