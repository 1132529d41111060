"""How a trial stands now: its record, and what amendments and later grades made of it since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trialbook.model.amendment import (
    Amendment,
    Intervention,
    InterventionKind,
    correction_problem,
)
from trialbook.model.outcome import Outcome
from trialbook.model.regrade import RegradedGrade, RegradedTrial
from trialbook.model.review import Reviewed
from trialbook.model.trial import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A trial as recorded, and as it counts.

    ``trial`` is the record with the outcome, reason and grades that stand now; nothing else in it
    differs. ``grade_files`` says where each of its grades is, in the trial's folder. ``regrade`` is
    the generation that the grades come from; None for the record's own. ``amendments`` are in order
    of time. ``reviewed`` is what people make of it; None if nobody is asked. ``unreviewed`` is the
    outcome without them, where they changed it. ``judged`` are the judges' grades that stand.
    """

    record: Trial
    trial: Trial
    grade_files: tuple[str, ...]
    regrade: str | None = None
    amendments: tuple[Amendment, ...] = ()
    reviewed: Reviewed | None = None
    unreviewed: Outcome | None = None
    judged: tuple[RegradedGrade, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the outcome that counts is not the recorded one.

        What people decide that was left to them is no change.
        """
        left_to_people = self.record.outcome is Outcome.NEEDS_REVIEW and self.settled
        return self.trial.outcome is not self.record.outcome and not left_to_people

    @property
    def settled(self) -> bool:
        """Whether people who review have decided the outcome."""
        known = self.reviewed is not None and self.reviewed.verdict is not None
        return known and self.correction is None and self.trial.outcome is not self.before_people

    @property
    def before_people(self) -> Outcome:
        """The outcome without what reviewers say."""
        return self.trial.outcome if self.unreviewed is None else self.unreviewed

    @property
    def correction(self) -> Amendment | None:
        """The amendment whose outcome stands, if any."""
        return _correction(self.amendments)

    @property
    def corrected_by(self) -> str:
        """What the outcome comes from: ``amendment``, ``regrade``, or empty for the record."""
        if self.correction is not None:
            return "amendment"
        return "regrade" if self.regrade is not None and self.changed else ""

    @property
    def interventions(self) -> tuple[Intervention, ...]:
        """Every human intervention on record."""
        return tuple(one for amendment in self.amendments for one in amendment.interventions)

    @property
    def rescued(self) -> bool:
        """Whether a person did some of the work."""
        return any(one.kind is InterventionKind.RESCUE for one in self.interventions)


def standing_of(
    record: Trial,
    *,
    amendments: Sequence[Amendment] = (),
    regrade: str | None = None,
    regraded: RegradedTrial | None = None,
) -> Standing:
    """A trial with its corrections.

    Args:
        record: The trial as recorded.
        amendments: Its amendments, in any order.
        regrade: The newest generation of grades that has the trial.
        regraded: What that generation says of it.
    """
    ordered = tuple(sorted(amendments, key=lambda one: (one.created, one.id)))
    trial = record
    files = tuple(f"grades/{grade.grader}.json" for grade in record.grades)
    if regraded is not None:
        trial = replace(
            trial,
            outcome=regraded.outcome,
            reason=regraded.reason,
            grades=tuple(grade.summary for grade in regraded.grades),
        )
        files = tuple(grade.file for grade in regraded.grades)
    correction = _correction(ordered)
    if correction is not None and correction.outcome is not None:
        trial = replace(trial, outcome=correction.outcome.now, reason=correction.reason)
    return Standing(
        record=record,
        trial=trial,
        grade_files=files,
        regrade=regrade if regraded is not None else None,
        amendments=ordered,
        judged=tuple(one for one in regraded.grades if one.trust is not None) if regraded else (),
    )


def _correction(amendments: Sequence[Amendment]) -> Amendment | None:
    """The last that may say what it says; one that may not changes no number."""
    return next(
        (
            one
            for one in reversed(amendments)
            if one.outcome is not None and correction_problem(one.outcome) is None
        ),
        None,
    )
