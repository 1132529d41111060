"""Numbers and rules about a series: counts by dimension, who is first, and two closed outcomes.

Dimensions are never added up, and nobody is first over all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trialbook.model.series import Answer, ConflictOutcome, RepairClass, Said

LEAST_APPLICABLE = 3
"""Below so many answers there is no share, only the counts."""

OUTCOME, CONTINUITY, REPAIR = "outcome", "continuity", "repair"
MAINTAINABILITY, TRAJECTORY = "maintainability", "trajectory"
DIMENSIONS = (OUTCOME, CONTINUITY, REPAIR, MAINTAINABILITY, TRAJECTORY)
"""The dimensions, in the order in which they stand side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The answers of one dimension, counted. What does not apply is not in any share."""

    dimension: str
    yes: int = 0
    no: int = 0
    not_applicable: int = 0
    unknown: int = 0

    @property
    def answered(self) -> int:
        """Answers that are yes or no."""
        return self.yes + self.no

    @property
    def share(self) -> Fraction | None:
        """Yes of yes and no; None if that would be of fewer than three."""
        return Fraction(self.yes, self.answered) if self.answered >= LEAST_APPLICABLE else None

    def __add__(self, other: Score) -> Score:
        """The counts of two series together."""
        return Score(
            dimension=self.dimension,
            yes=self.yes + other.yes,
            no=self.no + other.no,
            not_applicable=self.not_applicable + other.not_applicable,
            unknown=self.unknown + other.unknown,
        )


def dimension_of(question: str) -> str:
    """The dimension that a question counts to: what stands before the slash of its name."""
    return question.partition("/")[0]


def scores(answers: Iterable[Answer]) -> tuple[Score, ...]:
    """The score of every dimension."""
    found = {name: Score(dimension=name) for name in DIMENSIONS}
    for one in answers:
        name = dimension_of(one.question)
        if name in found:
            found[name] += Score(dimension=name, **{one.answer.value: 1})
    return tuple(found.values())


def summed(every: Iterable[Sequence[Score]]) -> tuple[Score, ...]:
    """The scores of several series together, by dimension."""
    found = {name: Score(dimension=name) for name in DIMENSIONS}
    for scored in every:
        for one in scored:
            found[one.dimension] += one
    return tuple(found.values())


def first_of(found: Mapping[str, Score]) -> str | None:
    """Whose share is the largest; None for a tie, or if somebody's is not known."""
    shares = {name: score.share for name, score in found.items()}
    known = [share for share in shares.values() if share is not None]
    if len(known) < len(shares) or len(known) < 2:
        return None
    ahead = [name for name, share in shares.items() if share == max(known)]
    return ahead[0] if len(ahead) == 1 else None


def mean_share(every: Sequence[Score]) -> Fraction | None:
    """The mean of the shares of several projects, each counting once; None if one has no share."""
    shares = [one.share for one in every]
    known = [share for share in shares if share is not None]
    return sum(known, Fraction()) / len(known) if known and len(known) == len(shares) else None


def conflict_outcome(
    holds: bool | None,  # noqa: FBT001 - three answers, each of which may be missing
    named: Said,
    one_path: Said,
) -> ConflictOutcome | None:
    """What became of a decision that a later requirement is against; None: not to be told yet.

    Args:
        holds: Whether the decision's property still holds where that requirement was met.
        named: Whether the change of the decision is named as one.
        one_path: Whether only one way is left by which the changed behaviour comes about.
    """
    if one_path is Said.NO:
        return ConflictOutcome.PARALLEL_PATH
    if one_path is Said.UNKNOWN or holds is None:
        return None
    if holds:
        return ConflictOutcome.HONOURED
    return {
        Said.YES: ConflictOutcome.REVISED_EXPLICITLY,
        Said.NO: ConflictOutcome.SILENTLY_CONTRADICTED,
    }.get(named)


def repair_class(reported: Said, siblings: Said, cause: Said) -> RepairClass | None:
    """How far a regression was repaired; None: not to be told yet.

    Args:
        reported: Whether the reported case passes.
        siblings: Whether all siblings do.
        cause: Whether the repair is where the sealed key says that the cause is.
    """
    if reported is Said.NO:
        return RepairClass.NOT_FIXED
    if reported is not Said.YES or siblings not in (Said.YES, Said.NO):
        return None
    if siblings is Said.NO:
        return RepairClass.SYMPTOM_ONLY
    return {Said.YES: RepairClass.ROOT_CAUSE, Said.NO: RepairClass.PARTIAL}.get(cause)
