"""The votes of a judge on one diff become a grade: what more than half of them say, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from trialbook.grading.judge_diff import ShownDiff
from trialbook.grading.judge_prompt import Asked
from trialbook.model.grade import Check, Finding, Grade, GradeStatus
from trialbook.model.judgement import (
    JudgeFinding,
    JudgeIdentity,
    Judgement,
    JudgeVote,
    Planted,
    Trusted,
)
from trialbook.model.rubric import AnswerKind, Question
from trialbook.model.usage import added

_MOST_EVIDENCE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """What all grades of one judging have in common.

    ``asked`` is what the rubric asks, ``votes`` how many votes there are to be.
    """

    grader: str
    asked: Asked
    identity: JudgeIdentity
    trust: Trusted
    votes: int
    isolated: bool


def grade_of(
    panel: Panel,
    votes: Sequence[JudgeVote],
    diff: ShownDiff,
    planted: tuple[Planted, ...],
    *,
    same_family: bool | None,
) -> Grade:
    """The grade that votes come to. Without a majority it has failed: that is no verdict."""
    rubric = panel.asked.rubric
    usable = [vote for vote in votes if vote.usable]
    verdict, agreed = None, len(usable)
    if rubric.verdicts:
        verdict, agreed = _majority((vote.verdict for vote in usable), panel.votes)
    answers = _answers(panel, usable, verdict)
    judgement = Judgement(
        rubric=rubric.reference,
        rubric_sha256=rubric.sha256,
        identity=panel.identity,
        verdict=verdict,
        asked=panel.votes,
        agreed=agreed,
        answers=answers,
        votes=tuple(votes),
        not_asked=panel.asked.not_asked,
        planted=planted,
        trust=panel.trust.level,
        calibration=panel.trust.calibration,
        same_family=same_family,
        isolated=panel.isolated,
        left_out=diff.left_out,
        usage=added([vote.usage for vote in votes]),
    )
    grade = Grade(
        grader=panel.grader,
        version=panel.identity.short,
        status=GradeStatus.FAILED,
        accepted=None,
        passed=0,
        total=0,
        message=_failure(panel, votes),
        judgement=judgement,
    )
    answered = verdict is not None if rubric.verdicts else len(usable) * 2 > panel.votes
    if not answered:
        return grade
    checks = tuple(_checks(panel, answers, usable))
    passed = sum(check.passed is True for check in checks)
    accepted = verdict == rubric.verdicts[0] if rubric.verdicts else passed == len(checks)
    return replace(
        grade,
        status=GradeStatus.GRADED,
        accepted=accepted,
        passed=passed,
        total=len(checks),
        message=_said(panel, judgement),
        checks=checks,
    )


def refused(panel: Panel, diff: ShownDiff, because: str) -> Grade:
    """The grade of a diff that the judge was not shown."""
    grade = grade_of(panel, (), diff, (), same_family=None)
    return replace(grade, message=f"no verdict: {because}")


def with_trust(grade: Grade, trust: Trusted) -> Grade:
    """A grade from before, with how far its judge is trusted now."""
    if grade.judgement is None:
        return grade
    judgement = replace(grade.judgement, trust=trust.level, calibration=trust.calibration)
    return replace(grade, judgement=judgement)


def _majority(values: Iterable[str | None], votes: int) -> tuple[str | None, int]:
    """What more than half of all votes say, with how many; votes that give nothing count too."""
    counts = Counter(value for value in values if value is not None)
    for value, count in counts.most_common(1):
        if count * 2 > votes:
            return value, count
    return None, max(counts.values(), default=0)


def _answers(panel: Panel, usable: Sequence[JudgeVote], verdict: str | None) -> dict[str, str]:
    """What most of the votes that carry the verdict answer; a question without such is left out."""
    carrying = [vote for vote in usable if vote.verdict == verdict]
    found = {}
    for question in panel.asked.questions:
        answer, _ = _majority((vote.answers[question.id] for vote in carrying), len(carrying))
        if answer is not None:
            found[question.id] = answer
    return found


def _checks(panel: Panel, answers: dict[str, str], usable: Sequence[JudgeVote]) -> Iterable[Check]:
    """The questions that were answered yes or no, each with the findings of all votes on it."""
    for question in panel.asked.questions:
        answer = answers.get(question.id)
        if answer not in (AnswerKind.YES, AnswerKind.NO):
            continue
        findings = [one for vote in usable for one in vote.findings if one.question == question.id]
        yield Check(
            id=question.id,
            question=question.text,
            passed=answer == AnswerKind.YES,
            message=_answer_said(question, answer, findings),
            severity=question.severity,
            evidence=tuple(_evidence(findings)),
        )


def _answer_said(question: Question, answer: str, findings: Sequence[JudgeFinding]) -> str:
    supported = [one for one in findings if one.supported]
    if supported:
        return f"{answer}: {supported[0].text}"
    if answer == AnswerKind.NO:
        bare = "its quote is not in the diff" if findings else "without a finding"
        return f"no, and {bare}: {question.no_when}"
    return "yes"


def _evidence(findings: Iterable[JudgeFinding]) -> list[Finding]:
    """Supported findings as evidence, each place once."""
    found: dict[tuple[str, str], Finding] = {}
    for one in findings:
        if one.supported:
            text = f"{one.text}\n{one.quote}"
            found.setdefault(
                (one.file, one.quote), Finding(text=text, file=one.file or None, line=one.line)
            )
    return list(found.values())[:_MOST_EVIDENCE]


def _said(panel: Panel, judgement: Judgement) -> str:
    """The grade in one sentence."""
    said = judgement.verdict or "every question has an answer"
    if judgement.asked > 1:
        said += f", by {judgement.agreed} of {judgement.asked} votes"
    findings = [one for vote in judgement.votes for one in vote.findings]
    bare = sum(not one.supported for one in findings)
    if bare:
        said += f"; {bare} of {len(findings)} findings quote lines that are not in the diff"
    no_majority = [one.id for one in panel.asked.questions if one.id not in judgement.answers]
    if no_majority:
        said += f"; the votes are divided on {', '.join(no_majority)}"
    return said + _planted_said(judgement.planted)


def _failure(panel: Panel, votes: Sequence[JudgeVote]) -> str:
    """Why there is no verdict, in one sentence."""
    problems = [vote.problem for vote in votes if not vote.usable]
    if len(votes) == 1 and problems:
        return f"no verdict: {problems[0]}"
    counts = Counter(vote.verdict for vote in votes if vote.verdict is not None)
    said = [f"{verdict} {count}" for verdict, count in counts.most_common()]
    if problems:
        said.append(f"no usable answer {len(problems)} ({problems[0]})")
    return f"no verdict has more than half of {panel.votes} votes: {', '.join(said) or 'none'}"


def _planted_said(planted: Sequence[Planted]) -> str:
    if not planted:
        return ""
    places = f"{len(planted)} places" if len(planted) > 1 else "1 place"
    return f"; planted instructions seen ({places})"
