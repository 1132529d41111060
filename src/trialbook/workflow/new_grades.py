"""A generation of grades, whoever made them: what each trial comes to, and its one commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialbook.formats.records import to_json
from trialbook.grading.accept import decide_after, violation_reason
from trialbook.model.acceptance import parse_policy
from trialbook.model.digest import sha256
from trialbook.model.evidence import violations
from trialbook.model.grade import Grade
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.regrade import Regrade, RegradedTrial
from trialbook.model.runfiles import regrade_path, regraded_grade
from trialbook.model.standing import standing_of
from trialbook.storage.corrections import regraded
from trialbook.storage.ledger import Ledger
from trialbook.storage.messages import regrade_message
from trialbook.storage.reader import Reader, RunRef
from trialbook.workflow.grade_differences import Again, PlacedGrade, limit_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """The run whose trials are graded once more, and where that goes."""

    ledger: Ledger
    reader: Reader
    run: RunRef
    plan: Plan


def regraded_trial(graded: Graded, name: str, again: Again) -> RegradedTrial:
    """What a trial comes to in the generation called ``name``: its new grades beside the others."""
    record = again.standing.record

    def placed(grade: Grade) -> PlacedGrade:
        file = regraded_grade(name, grade.grader)
        return PlacedGrade(grade=grade, file=file, sha256=sha256(to_json(grade)))

    new = {grade.grader: placed(grade) for grade in again.new}
    stand = [new.get(one.grade.grader, one) for one in again.old]
    stand += (new[grade.grader] for grade in again.first)
    outcome, reason, _ = decide_after(
        parse_policy(graded.plan.accept),
        [one.grade for one in stand],
        limit_of(record, graded.plan),
    )
    broken = violations(record.sightings)
    if broken:
        # What was seen of the agent stays true, whatever graders say now.
        outcome, reason = Outcome.POLICY_VIOLATION, violation_reason(broken)
    earlier = regraded(graded.reader, graded.run).get(record.path)
    was = record.outcome
    if earlier is not None:
        was = standing_of(record, regrade=earlier[0], regraded=earlier[1]).trial.outcome
    return RegradedTrial(
        trial=record.path,
        was=was,
        outcome=outcome,
        reason=reason,
        grades=tuple(one.line for one in stand),
    )


def commit_grades(graded: Graded, regrade: Regrade, again: Sequence[Again]) -> str:
    """Commit a generation whole; gives the commit."""
    base = f"runs/{graded.run.path}"
    files = {
        f"{base}/{one.path}/{regraded_grade(regrade.id, grade.grader)}": to_json(grade)
        for one in again
        if not one.because
        for grade in one.new
    }
    files[f"{base}/{regrade_path(regrade.id)}"] = to_json(regrade)
    return graded.ledger.commit(files, regrade_message(regrade))
