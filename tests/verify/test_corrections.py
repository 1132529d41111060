"""Corrections: honest ones are no fault, and each of their own rules has its code."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.verify.book import BASE, BROKEN, RUN, SUITE, Book

from trialbook.formats.records import from_json, to_json
from trialbook.model.amendment import Amendment, OutcomeCorrection
from trialbook.model.digest import sha256
from trialbook.model.generation import Generation
from trialbook.model.grade import Grade
from trialbook.model.outcome import Outcome
from trialbook.model.regrade import LeftOut, Regrade, RegradedGrade, RegradedTrial
from trialbook.model.trial import Trial

ID = "20261130T180000Z-abcdef"
GOOD = "large/new/r1"
FIRST = BROKEN.path


def amendment(book: Book, place: str = GOOD, **changes: object) -> dict[str, bytes]:
    """An amendment of the trial in a folder, by its path."""
    fields: dict[str, object] = {
        "id": ID,
        "run": f"{SUITE}/{RUN}",
        "trial": place,
        "trial_sha256": sha256(book.file(f"{BASE}/{place}/trial.json")),
        "created": "2026-11-30T18:00:00.000Z",
        "author": "Test Person",
        "reason": "it was so",
        "note": "to be known",
    }
    made = Amendment(**{**fields, **changes})  # type: ignore[arg-type]
    return {f"{BASE}/{place}/amendments/{ID}.json": to_json(made)}


def correction(was: Outcome, now: Outcome, *evidence: str) -> OutcomeCorrection:
    return OutcomeCorrection(was=was, now=now, evidence=evidence)


def test_a_note_on_a_trial_is_no_fault(book: Book) -> None:
    book.commit(amendment(book))
    assert book.codes() == set()


def test_an_amendment_may_not_be_changed_either(book: Book) -> None:
    book.commit(amendment(book))
    book.commit(amendment(book, note="to be known, or not"))
    assert book.codes() == {"record-changed"}


@pytest.mark.parametrize(
    "changes",
    [
        {"run": f"{SUITE}/other"},
        {"trial": "large/new/r2"},
        {"trial_sha256": "0" * 64},
        {"id": "20261130T180000Z-000000"},
    ],
)
def test_an_amendment_of_something_else_is_misplaced(
    book: Book, changes: dict[str, object]
) -> None:
    (path,) = amendment(book)
    (data,) = amendment(book, **changes).values()
    book.commit({path: data})
    assert book.codes() == {"record-misplaced"}


def test_an_amendment_that_judges_is_a_fault(book: Book) -> None:
    judged = correction(Outcome.REJECTED, Outcome.ACCEPTED, "I looked at it")
    book.commit(amendment(book, "large/current/r1", outcome=judged))
    assert book.codes() == {"outcome-differs"}


def test_an_amendment_that_excuses_without_evidence_is_a_fault(book: Book) -> None:
    excused = correction(Outcome.REJECTED, Outcome.PROVIDER_OUTAGE)
    book.commit(amendment(book, "large/current/r1", outcome=excused))
    assert book.codes() == {"outcome-differs"}


def test_a_rerun_may_follow_what_an_amendment_made_of_a_trial(book: Book) -> None:
    made = correction(Outcome.ENVIRONMENT_FAILURE, Outcome.PROVIDER_OUTAGE, "HTTP 529")
    book.commit(amendment(book, FIRST, outcome=made))
    assert book.codes() == set()


def test_a_file_that_only_looks_like_an_amendment_is_unlisted(book: Book) -> None:
    book.commit({f"{BASE}/{GOOD}/amendments/mine.json": b"{}\n"})
    assert book.codes() == {"file-unlisted", "trial-apart"}


def regrade(book: Book, *, outcome: Outcome, accepted: bool) -> dict[str, bytes]:
    """A later grade of one trial, and the record that names it."""
    folder = f"{BASE}/{GOOD}"
    graded = [path.split("/")[3:6] for path in book.paths() if "/grades/" in path]
    others = sorted({"/".join(parts) for parts in graded} - {GOOD})
    old = from_json(Grade, book.file(f"{folder}/grades/checks.json"), "grade")
    new = Grade(
        grader="checks",
        version="2",
        status=old.status,
        accepted=accepted,
        passed=2 if accepted else 1,
        total=2,
        message="judged again",
    )
    data = to_json(new)
    file = f"regrades/{ID}/checks.json"
    use = RegradedGrade(
        grader="checks",
        version="2",
        status=new.status.value,
        accepted=accepted,
        passed=new.passed,
        total=2,
        sha256=sha256(data),
        file=file,
    )
    trial = RegradedTrial(
        trial=GOOD, was=Outcome.ACCEPTED, outcome=outcome, reason="again", grades=(use,)
    )
    record = Regrade(
        id=ID,
        run=f"{SUITE}/{RUN}",
        created="2026-11-30T18:00:00.000Z",
        author="Test Person",
        reason="a better check",
        trialbook="0.1.0",
        graders=(),
        left_out=tuple(LeftOut(trial=path, because="as before") for path in others),
        trials=(trial,),
    )
    return {f"{BASE}/regrades/{ID}.json": to_json(record), f"{folder}/{file}": data}


def test_a_later_grade_is_no_fault(book: Book) -> None:
    book.commit(regrade(book, outcome=Outcome.REJECTED, accepted=False))
    assert book.codes() == set()


def test_grading_again_in_part_is_a_fault(book: Book) -> None:
    files = regrade(book, outcome=Outcome.REJECTED, accepted=False)
    path = f"{BASE}/regrades/{ID}.json"
    record = from_json(Regrade, files[path], "regrade")
    book.commit({**files, path: to_json(replace(record, left_out=record.left_out[1:]))})
    (fault,) = book.verify().faults
    assert fault.code.value == "regrade-partial"
    assert record.left_out[0].trial in fault.detail


def changed_regrade(book: Book, change: Callable[[Regrade], Regrade]) -> set[str]:
    """The codes of a later grading whose record says something else."""
    files = regrade(book, outcome=Outcome.REJECTED, accepted=False)
    path = f"{BASE}/regrades/{ID}.json"
    record = from_json(Regrade, files[path], "regrade")
    book.commit({**files, path: to_json(change(record))})
    return book.codes()


def test_a_trial_left_out_without_a_reason_is_a_fault(book: Book) -> None:
    def change(record: Regrade) -> Regrade:
        return replace(record, left_out=(replace(record.left_out[0], because=" "),
                                         *record.left_out[1:]))  # fmt: skip

    assert changed_regrade(book, change) == {"regrade-partial"}


def test_a_trial_judged_again_and_left_out_is_a_fault(book: Book) -> None:
    def change(record: Regrade) -> Regrade:
        return replace(record, left_out=(*record.left_out, LeftOut(trial=GOOD, because="no")))

    assert changed_regrade(book, change) == {"regrade-partial"}


def test_a_grader_that_judges_one_configuration_again_and_keeps_the_other_is_a_fault(
    book: Book,
) -> None:
    other = "large/current/r1"
    old = book.file(f"{BASE}/{other}/grades/checks.json")
    grade = from_json(Grade, old, "grade")
    kept = RegradedGrade(
        grader="checks",
        version=grade.version,
        status=grade.status.value,
        accepted=grade.accepted,
        passed=grade.passed,
        total=grade.total,
        sha256=sha256(old),
        file="grades/checks.json",
    )
    trial = RegradedTrial(
        trial=other, was=Outcome.REJECTED, outcome=Outcome.REJECTED, reason="", grades=(kept,)
    )

    def change(record: Regrade) -> Regrade:
        rest = tuple(out for out in record.left_out if out.trial != other)
        return replace(record, trials=(*record.trials, trial), left_out=rest)

    assert changed_regrade(book, change) == {"regrade-partial"}


def test_a_later_outcome_follows_from_the_later_grade(book: Book) -> None:
    book.commit(regrade(book, outcome=Outcome.ACCEPTED, accepted=False))
    assert book.codes() == {"outcome-differs"}


def test_later_grades_come_with_the_record_that_names_them(book: Book) -> None:
    files = regrade(book, outcome=Outcome.REJECTED, accepted=False)
    for path, data in files.items():
        book.commit({path: data})
    assert book.codes() == {"trial-apart"}


def test_a_later_grade_that_nothing_names_is_unlisted(book: Book) -> None:
    files = regrade(book, outcome=Outcome.REJECTED, accepted=False)
    book.commit({path: data for path, data in files.items() if GOOD in path})
    assert book.codes() == {"file-unlisted", "trial-apart"}


def test_a_later_grade_that_is_not_there_is_a_fault(book: Book) -> None:
    files = regrade(book, outcome=Outcome.REJECTED, accepted=False)
    book.commit({path: data for path, data in files.items() if GOOD not in path})
    assert book.codes() == {"grade-differs"}


def test_a_later_grade_with_other_bytes_is_a_fault(book: Book) -> None:
    files = regrade(book, outcome=Outcome.REJECTED, accepted=False)
    book.commit({p: d.replace(b"judged again", b"judged so") for p, d in files.items()})
    assert book.codes() == {"grade-differs"}


def generation(book: Book, records: str, **files: bytes) -> dict[str, bytes]:
    folder = f"{BASE}/results/{ID}"
    made = Generation(
        id=ID,
        run=f"{SUITE}/{RUN}",
        created="2026-11-30T18:00:00.000Z",
        because="an amendment",
        records=records,
        trialbook="0.1.0",
        files={name: sha256(data) for name, data in files.items()},
    )
    found = {f"{folder}/{name}": data for name, data in files.items()}
    return found | {f"{folder}/generation.json": to_json(made)}


def results(book: Book) -> dict[str, bytes]:
    return {path.rpartition("/")[2]: data for path, data in book.derived().items()}


def amended(book: Book) -> str:
    excused = correction(Outcome.REJECTED, Outcome.PROVIDER_OUTAGE, "HTTP 529")
    return book.commit(amendment(book, "large/current/r1", outcome=excused))


def test_later_results_are_no_fault(book: Book) -> None:
    book.commit(generation(book, amended(book), **results(book)))
    assert book.codes() == set()


def test_later_results_that_say_something_else_are_a_fault(book: Book) -> None:
    before = results(book)
    book.commit(generation(book, amended(book), **before))
    assert book.codes() == {"results-differ"}


def test_later_results_come_from_records_before_them(book: Book) -> None:
    records = amended(book)
    made = generation(book, records, **results(book))
    book.move(book.git("rev-parse", "main~1"))
    book.commit(made)
    assert book.codes() == {"results-differ"}


def test_later_results_with_another_digest_are_a_fault(book: Book) -> None:
    made = generation(book, amended(book), **results(book))
    path = f"{BASE}/results/{ID}/report.md"
    book.commit({**made, path: made[path] + b"\nVery good.\n"})
    assert book.codes() == {"artifact-differs", "results-differ"}


@pytest.mark.slow
def test_the_whole_flow_verifies_at_every_step(ledger: Path) -> None:
    """Run, correct, declare an incident, run again, grade again: all by the commands."""
    trialbook(ledger, "eval", "mini", "--jobs", "2", "--repetitions", "1")
    (run,) = (path.name for path in (ledger / "runs/mini").iterdir())
    trialbook(ledger, "verify")
    outcome = ["--outcome", "provider_outage", "--evidence", "HTTP 529"]
    trialbook(ledger, "amend", f"{run}/first/bad/r1", "--reason", "the net was down", *outcome)
    trialbook(ledger, "verify")
    said = ["--kind", "provider", "--reason", "529", "--from", "2026-01-01T00:00Z", "--json"]
    opened = json.loads(trialbook(ledger, "incident", "open", run, *said).stdout)
    name = next(path.stem for path in (ledger / "runs/mini" / run / "incidents").iterdir())
    assert name in json.dumps(opened)
    trialbook(ledger, "verify")
    trialbook(ledger, "incident", "close", name, "--decision", "rerun", "--reason", "as decided")
    trialbook(ledger, "verify")
    trialbook(ledger, "rerun", run, "--incident", name)
    trialbook(ledger, "verify")
    checks = ledger / "suites/mini/tasks/first/checks.yaml"
    checks.write_text(checks.read_text().replace("^first ", "^another "))
    git(ledger, "commit", "-q", "-am", "a stricter check")
    trialbook(ledger, "regrade", run, "--reason", "the check was too mild")
    done = trialbook(ledger, "verify")
    assert "1 run, 5 trials" in done.stdout
    record = ledger / "runs/mini" / run / "first/good/r1/trial.json"
    assert from_json(Trial, record.read_bytes(), "trial").outcome is Outcome.ACCEPTED
