from __future__ import annotations

from pathlib import Path

from trialbook.model.outcome import Outcome
from trialbook.model.trial import Trial, TrialBundle
from trialbook.workflow.journal import Journal


def bundle(repetition: int) -> TrialBundle:
    record = Trial(
        run="20261130T000000Z-aaaaaa",
        suite="s",
        protocol=1,
        status="draft",
        task="t",
        configuration="c",
        repetition=repetition,
        outcome=Outcome.ACCEPTED,
        reason="all",
        plan_commit="0" * 40,
        plan_sha256="0" * 64,
        started="2026-11-30T00:00:00.000Z",
        finished="2026-11-30T00:00:01.000Z",
    )
    return TrialBundle(record=record, files={"change.patch": b"\x00\xff"})


def test_a_started_trial_is_in_flight_until_it_is_committed(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.started("t/c/r1", "now")
    journal.started("t/c/r2", "later")
    assert [note.path for note in journal.in_flight()] == ["t/c/r1", "t/c/r2"]
    journal.committed("t/c/r1")
    assert [note.path for note in Journal(tmp_path).in_flight()] == ["t/c/r2"]


def test_a_finished_trial_comes_back_byte_for_byte(tmp_path: Path) -> None:
    Journal(tmp_path).finished(bundle(1))
    assert list(Journal(tmp_path).spooled()) == [bundle(1)]


def test_a_committed_trial_is_forgotten(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.started("t/c/r1", "now")
    journal.finished(bundle(1))
    journal.committed("t/c/r1")
    assert list(journal.spooled()) == []
    assert journal.in_flight() == []


def test_the_unfinished_file_of_a_killed_writer_is_passed_over(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.finished(bundle(1))
    (tmp_path / "spool" / ".trialbook-tmp-123-0").write_bytes(b"half")
    assert len(list(journal.spooled())) == 1


def test_committing_what_was_never_noted_is_fine(tmp_path: Path) -> None:
    Journal(tmp_path).committed("t/c/r9")
