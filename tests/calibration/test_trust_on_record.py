"""Ways around the rules of trust, each of which must lead nowhere and be seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.calibration.compared import (
    CREATED,
    IDENTITY,
    Case,
    cases,
    compare,
    compared_ledger,
    note_all,
    reader_of,
    trust_by_hand,
)
from tests.conftest import git
from trialbook.formats.records import to_json
from trialbook.model.calibration import Calibration, Numbers
from trialbook.model.judgement import Trusted
from trialbook.model.trust import TrustLevel
from trialbook.storage.ledger import Ledger
from trialbook.storage.trust import trust_of
from trialbook.system import System, parse_timestamp, timestamp
from trialbook.verify.codes import Code
from trialbook.workflow.verify_ledger import VerifyRequest, verify_ledger

MINE = {
    Code.CALIBRATION_DIFFERS,
    Code.TRUST_DIFFERS,
    Code.RECORD_CHANGED,
    Code.RECORD_REMOVED,
    Code.RECORD_UNREADABLE,
    Code.FILE_UNLISTED,
}
FOLDER = "rubrics/merge/calibrations"


def faults(root: Path) -> list[Code]:
    verdict = verify_ledger(root, System(), VerifyRequest(), lambda *_: None)
    return [one.code for one in verdict.faults if one.code in MINE]


def trusted(root: Path) -> Trusted:
    return trust_of(root, reader_of(root), IDENTITY, "merge@1", datetime.now(UTC))


def forged(root: Path, record: Calibration, name: str = "20261201T120000Z-ffffff") -> None:
    """Commit a record that nobody's comparison came to."""
    path = f"{FOLDER}/{name}.json"
    ledger = Ledger.open(root, System())
    ledger.commit({path: to_json(replace(record, id=name))}, "calibrate by hand\n")
    ledger.close()


def better(numbers: Numbers) -> Numbers:
    return replace(numbers, level=TrustLevel.GATING, unmet=())


def test_a_comparison_verifies_from_the_ledger_alone(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((8, 8), (7, 8)))
    compare(root)
    assert faults(root) == []


def test_a_record_that_is_not_committed_counts_for_nothing(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((8, 8), (8, 8)))
    record = compare(root).record
    assert record is not None
    name = "20261201T120000Z-ffffff"
    (root / f"{FOLDER}/{name}.json").write_bytes(
        to_json(replace(record, id=name, numbers=better(record.numbers)))
    )
    assert trusted(root).calibration == record.id


def _level(record: Calibration) -> Calibration:
    return replace(record, numbers=better(record.numbers))


def _without_an_error(record: Calibration) -> Calibration:
    wrong = set(record.numbers.disagreements)
    return replace(record, labels=tuple(one for one in record.labels if one.trial not in wrong))


def _people_agree(record: Calibration) -> Calibration:
    labels = tuple(
        replace(one, verdict="MERGE", accepted=True)
        if one.trial in record.numbers.disagreements
        else one
        for one in record.labels
    )
    return replace(record, labels=labels)


def _judge_was_right(record: Calibration) -> Calibration:
    judged = tuple(
        replace(one, verdict="REJECT", accepted=False)
        if one.trial in record.numbers.disagreements
        else one
        for one in record.judged
    )
    return replace(record, judged=judged)


def _repeated_more_often(record: Calibration) -> Calibration:
    judged = tuple(replace(one, votes=one.votes * 3) for one in record.judged)
    return replace(record, judged=judged)


def _nothing_is_critical(record: Calibration) -> Calibration:
    return replace(record, critical=())


def _another_model(record: Calibration) -> Calibration:
    return replace(record, identity=replace(record.identity, model="scripted-9"))


def _another_judge(record: Calibration) -> Calibration:
    return replace(record, identity=replace(record.identity, sha256="cd" * 32))


@pytest.mark.parametrize(
    "change",
    [
        _level,
        _without_an_error,
        _people_agree,
        _judge_was_right,
        _repeated_more_often,
        _nothing_is_critical,
        _another_model,
        _another_judge,
    ],
)
def test_a_record_that_the_ledger_does_not_bear_out_is_a_fault_and_lets_nobody_do_anything(
    tmp_path: Path, change: Callable[[Calibration], Calibration]
) -> None:
    root = compared_ledger(tmp_path, cases((8, 8), (7, 8)))
    record = compare(root).record
    assert record is not None
    later = replace(record, created=timestamp(datetime.now(UTC)))
    forged(root, change(later))
    assert set(faults(root)) == {Code.CALIBRATION_DIFFERS}
    found = trusted(root)
    assert found.level is TrustLevel.UNCALIBRATED
    assert "does not hold" in found.because


def test_a_record_that_is_younger_than_its_commit_lengthens_no_trust(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((8, 8), (8, 8)))
    record = compare(root).record
    assert record is not None
    later = datetime.now(UTC) + timedelta(days=60)
    forged(root, replace(record, created=timestamp(later)))
    assert set(faults(root)) == {Code.CALIBRATION_DIFFERS}
    found = trust_of(root, reader_of(root), IDENTITY, "merge@1", later + timedelta(days=1))
    assert "the commit that added it is older" in found.because


@pytest.mark.parametrize("said", ["tomorrow", "2026-19-39T29:59:59.000Z"])
def test_a_record_with_a_time_that_is_none_is_passed_over(tmp_path: Path, said: str) -> None:
    root = compared_ledger(tmp_path, cases((2, 2), (2, 2)))
    record = compare(root).record
    assert record is not None
    forged(root, replace(record, created=said))
    assert trusted(root).calibration == record.id


def test_what_is_no_record_is_a_fault(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((2, 2), (2, 2)))
    (root / FOLDER).mkdir()
    (root / FOLDER / "20261201T120000Z-ffffff.json").write_text("{}\n")
    (root / FOLDER / "mine.json").write_text("{}\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")
    assert sorted(faults(root)) == [Code.FILE_UNLISTED, Code.RECORD_UNREADABLE]
    assert trusted(root).level is TrustLevel.UNCALIBRATED


def test_a_record_is_never_changed_and_never_removed(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((2, 2), (2, 2)))
    (path,) = [root / FOLDER / f"{compare(root).record.id}.json"]  # type: ignore[union-attr]
    data = path.read_bytes()
    path.write_bytes(data.replace(b"uncalibrated", b"gating"))
    git(root, "commit", "-qam", "better")
    assert Code.RECORD_CHANGED in faults(root)
    git(root, "rm", "-q", str(path))
    git(root, "commit", "-qm", "gone")
    assert Code.RECORD_REMOVED in faults(root)


def test_a_grade_that_claims_more_trust_than_there_was_is_a_fault(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, [Case(people=("MERGE", "MERGE"), votes=("MERGE",) * 3)])
    trust_by_hand(root, TrustLevel.GATING, CREATED)
    assert faults(root) == [Code.TRUST_DIFFERS]


@pytest.mark.slow
@pytest.mark.parametrize(("days", "wrong"), [(89, False), (91, True)])
def test_after_ninety_days_a_grade_may_not_say_gating(
    tmp_path: Path, days: int, *, wrong: bool
) -> None:
    root = compared_ledger(tmp_path, cases((30, 30), (30, 30)))
    record = note_all(root)
    later = parse_timestamp(record.created) + timedelta(days=days)
    trust_by_hand(root, TrustLevel.GATING, timestamp(later))
    assert bool(faults(root)) is wrong
