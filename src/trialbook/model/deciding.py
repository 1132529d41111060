"""What an acceptance policy makes of answers: the one function that turns them into an outcome.

Graders of a task, judges and people all answer here, and what each of them may decide is said here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trialbook.model.acceptance import Policy
from trialbook.model.grade import Grade, GradeStatus
from trialbook.model.judge import JUDGE_PREFIX
from trialbook.model.outcome import Outcome
from trialbook.model.trust import JudgeUse, TrustLevel, allows

REVIEW = "review"
"""The name that people have in a policy: ``review:merge``."""

_NAMED = 3

COUNTS_AFTER_LIMIT = frozenset({Outcome.ACCEPTED, Outcome.NEEDS_REVIEW})
"""What stands after a limit was reached, where the plan does not make that a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a grader or a judge said of a trial.

    ``said`` is that in a few words, ``message`` its own sentence. Of a judge, ``verdict`` is what
    it would do and ``trust`` how far it was trusted when it was asked.
    """

    grader: str
    status: str
    accepted: bool | None
    said: str
    message: str = ""
    verdict: str | None = None
    trust: TrustLevel | None = None

    @property
    def counts(self) -> bool:
        """Whether it may decide anything: a judge only if it is trusted that far."""
        level = self.trust or TrustLevel.UNCALIBRATED
        return not is_judge(self.grader) or allows(level, JudgeUse.ACCEPTANCE)


def answer_of(grade: Grade) -> Answer:
    """A grade as a policy takes it."""
    judgement = grade.judgement
    return Answer(
        grader=grade.grader,
        status=grade.status.value,
        accepted=grade.accepted,
        said=_counted(grade) if judgement is None else f"{grade.grader} {judgement.verdict}",
        message=grade.message,
        verdict=judgement.verdict if judgement else None,
        trust=judgement.trust if judgement else None,
    )


def is_judge(grader: str) -> bool:
    """Whether a name in a policy, or of a grade, is a judge's."""
    return grader.startswith(JUDGE_PREFIX)


def is_person(grader: str) -> bool:
    """Whether a name in a policy is that of the people who review."""
    return grader == REVIEW


def decided(
    policy: Policy, given: Iterable[Answer], review: str | None = None
) -> tuple[Outcome, str]:
    """The outcome of a graded trial, and one sentence that says why.

    Any grader that found the rules broken makes a policy violation. Otherwise, a grader that the
    policy names and that gave no usable answer makes a grader failure, even where the others would
    have settled it: what is not known is not accepted and not rejected. Judges and people may
    answer later: until then, and where a judge is not trusted enough, the trial needs a review
    unless the others settle it.

    Args:
        policy: The suite's acceptance policy.
        given: The answers there are; those that the policy does not name decide nothing.
        review: The verdict that people agreed on, if they did.
    """
    answers = {one.grader: one for one in given}
    violation = GradeStatus.VIOLATION.value
    broken = [one for _, one in sorted(answers.items()) if one.status == violation]
    if broken:
        return Outcome.POLICY_VIOLATION, _messages(broken)
    named = sorted(name for name in policy.graders if not is_judge(name) and not is_person(name))
    missing = [name for name in named if name not in answers]
    if missing:
        return Outcome.GRADER_FAILURE, f"no grade from {', '.join(missing)}"
    failed = [answers[name] for name in named if answers[name].accepted is None]
    if failed:
        return Outcome.GRADER_FAILURE, _messages(failed)
    settled = policy.settle(_yes_or_no(policy, answers, review))
    said = [answers[name].said for name in named]
    opinions = sorted(name for name in policy.graders if name not in named)
    counted = [_opinion(name, answers, review) for name in opinions]
    said += [words for words, known in counted if known]
    if settled is None:
        said += [words for words, known in counted if not known]
        return Outcome.NEEDS_REVIEW, "; ".join(said)
    return (Outcome.ACCEPTED if settled else Outcome.REJECTED), "; ".join(said)


def _yes_or_no(
    policy: Policy, answers: Mapping[str, Answer], review: str | None
) -> dict[str, bool]:
    """By name, the answers that count."""
    found: dict[str, bool] = {}
    for name in policy.names:
        grader, _, wanted = name.partition(":")
        if is_person(grader):
            if review is not None:
                found[name] = review.lower() == (wanted or "merge")
            continue
        answer = answers.get(grader)
        if answer is None or answer.accepted is None or not answer.counts:
            continue
        verdict = answer.verdict if is_judge(grader) and wanted else None
        found[name] = answer.accepted if verdict is None else verdict.lower() == wanted
    return found


def _opinion(name: str, answers: Mapping[str, Answer], review: str | None) -> tuple[str, bool]:
    """What a judge or people said, in words, and whether that counts."""
    if is_person(name):
        return (f"review {review}", True) if review else ("people have not agreed on it yet", False)
    answer = answers.get(name)
    if answer is None:
        return f"{name} has not judged it", False
    if answer.accepted is None:
        return f"{name} gave no usable answer: {answer.message}", False
    if not answer.counts:
        level = (answer.trust or TrustLevel.UNCALIBRATED).value
        return f"{answer.said}, which does not count while the judge is {level}", False
    return answer.said, True


def _counted(grade: Grade) -> str:
    """A grade in a few words: ``checks 2/3, not: validation-in-service``."""
    text = f"{grade.grader} {grade.passed}/{grade.total}"
    wrong = [check.id for check in grade.checks if check.passed is False]
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        text += f", not: {', '.join(wrong[:_NAMED])}{more}"
    elif not grade.accepted:
        text += f", not accepted: {grade.message}"
    return text


def _messages(answers: Iterable[Answer]) -> str:
    return "; ".join(f"{one.grader}: {one.message}" for one in answers)
