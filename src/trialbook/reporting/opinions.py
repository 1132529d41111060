"""Whether tests pass and whether somebody would merge: two questions, told apart everywhere.

The second is answered by people, or by a judge that is trusted that far. What any other judge says
is an opinion: it is shown as that, with the judge's name, and enters no other number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trialbook.formats.visible import visible_line
from trialbook.model.acceptance import PolicyError, parse_policy
from trialbook.model.deciding import REVIEW, is_judge, is_person
from trialbook.model.grade import GradeStatus
from trialbook.model.judgement import Judgement
from trialbook.model.plan import Plan
from trialbook.model.regrade import RegradedGrade
from trialbook.model.standing import Standing
from trialbook.model.trust import JudgeUse, TrustLevel, allows

TESTS = "acceptance"
"""The grader whose answer is whether tests pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOpinion:
    """What one judge said of a trial: None for no verdict; ``merges`` if it is the best one."""

    grader: str
    verdict: str | None
    merges: bool | None
    trust: TrustLevel

    @property
    def counts(self) -> bool:
        """Whether it may stand for whether somebody would merge."""
        return self.merges is not None and allows(self.trust, JudgeUse.ACCEPTANCE)

    @property
    def said(self) -> str:
        """In a few words: ``judge-strict REJECT (uncalibrated)``."""
        return f"{visible_line(self.grader)} {self.verdict or 'no verdict'} ({self.trust.value})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinions:
    """The two questions of one trial. None is *nobody says*; ``by`` says whose word would count."""

    tests_pass: bool | None
    would_merge: bool | None
    by: str
    judges: tuple[JudgeOpinion, ...]


def opinions_of(standing: Standing) -> Opinions:
    """What tests, people and judges say of a trial."""
    tests = next((one for one in standing.trial.grades if one.grader == TESTS), None)
    judges = tuple(sorted(map(_opinion, standing.judged), key=lambda one: one.grader))
    would_merge, by = None, ""
    reviewed = standing.reviewed
    if reviewed is not None and reviewed.merges is not None:
        would_merge, by = reviewed.merges, REVIEW
    else:
        counting = [one for one in judges if one.counts]
        # Judges that differ settle nothing.
        if len({one.merges for one in counting}) == 1:
            would_merge = counting[0].merges
            by = "+".join(one.grader for one in counting)
    return Opinions(
        tests_pass=None if tests is None else tests.accepted,
        would_merge=would_merge,
        by=by,
        judges=judges,
    )


def standing_said(judgement: Judgement) -> str:
    """What a judgement counts for, in a few words."""
    by = f"by a judge that is {judgement.trust.value}, with {judgement.rubric}"
    if allows(judgement.trust, JudgeUse.ACCEPTANCE):
        return f"{by}: it counts where the acceptance policy names the judge"
    return f"{by}: an opinion, which decides nothing"


def has_opinions(plan: Plan, standings: Iterable[Standing]) -> bool:
    """Whether anybody judged a trial of a run, or is meant to."""
    if plan.judgement is not None:
        return True
    try:
        named = parse_policy(plan.accept).graders
    except PolicyError:
        named = frozenset()
    if any(is_judge(name) or is_person(name) for name in named):
        return True
    return any(one.judged or one.reviewed is not None for one in standings)


def _opinion(grade: RegradedGrade) -> JudgeOpinion:
    graded = grade.status == GradeStatus.GRADED and grade.verdict is not None
    return JudgeOpinion(
        grader=grade.grader,
        verdict=grade.verdict if graded else None,
        merges=grade.accepted if graded else None,
        trust=grade.trust or TrustLevel.UNCALIBRATED,
    )
