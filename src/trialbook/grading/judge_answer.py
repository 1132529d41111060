"""A judge's answer to one diff: whether it fits, holds in the diff, and agrees with itself.

The rules, which the prompt tells the judge as well:

- It is one JSON object that fits the schema, of a bounded size.
- A finding is *supported* if its quote stands in the diff, white space folded.
- The best verdict contradicts a question of severity must or high that is answered no, and a
  supported finding of severity must.
- Any other verdict needs a question that is answered no with a supported finding.
- A supported finding of severity must contradicts its question being answered anything but no.

An answer that breaks one of the last three is kept, and does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbook.formats.schema import schema_mistakes
from trialbook.grading.judge_diff import ShownDiff
from trialbook.grading.judge_prompt import Asked
from trialbook.model.judgement import JudgeFinding, JudgeVote
from trialbook.model.rubric import AnswerKind
from trialbook.model.severity import Severity

RULES = 2
"""The version of these rules; a judge under other rules is another judge."""

_MOST_FINDINGS = 50
_LONGEST_QUOTE = 2_000
_LONGEST_TEXT = 4_000
_LONGEST_FILE = 1_000
_MOST_PROBLEMS = 10
_LONGEST_PROBLEM = 300
_BINDING = frozenset({Severity.MUST, Severity.HIGH})


def answer_problems(answer: Any, asked: Asked) -> list[str]:  # noqa: ANN401 - any JSON value
    """What keeps a value from being an answer; empty if nothing does."""
    problems = schema_mistakes(answer, asked.schema, most=_MOST_PROBLEMS)
    if not problems:
        problems = list(_oversized(answer["findings"]))
    return [one[:_LONGEST_PROBLEM] for one in problems[:_MOST_PROBLEMS]]


def vote_of(answer: Mapping[str, Any], asked: Asked, diff: ShownDiff) -> JudgeVote:
    """The vote that an answer without problems is."""
    findings = tuple(_finding(one, diff) for one in answer["findings"])
    answers = {one.id: str(answer["answers"][one.id]) for one in asked.questions}
    said = answer.get("verdict")
    contradictions = tuple(_contradictions(said, answers, findings, asked))
    usable = not contradictions
    return JudgeVote(
        usable=usable,
        verdict=said if usable else None,
        said=said,
        problem="" if usable else f"it contradicts itself: {'; '.join(contradictions)}",
        contradictions=contradictions,
        answers=answers,
        findings=findings,
    )


def _oversized(findings: Sequence[Mapping[str, str]]) -> Iterator[str]:
    if len(findings) > _MOST_FINDINGS:
        yield f"there are {len(findings)} findings; {_MOST_FINDINGS} is the most"
    limits = {"quote": _LONGEST_QUOTE, "text": _LONGEST_TEXT, "file": _LONGEST_FILE}
    for number, finding in enumerate(findings):
        for key, most in limits.items():
            if len(finding[key]) > most:
                yield f"findings[{number}].{key} has {len(finding[key])} characters; {most} fit"


def _finding(said: Mapping[str, str], diff: ShownDiff) -> JudgeFinding:
    spot = diff.find(said["quote"])
    return JudgeFinding(
        question=said["question"],
        quote=_text(said["quote"]),
        file=_text(spot.file if spot and spot.file else said["file"]),
        line=spot.line if spot else None,
        text=_text(said["text"]),
        severity=Severity(said["severity"]),
        supported=spot is not None,
    )


def _contradictions(
    verdict: str | None,
    answers: Mapping[str, str],
    findings: Sequence[JudgeFinding],
    asked: Asked,
) -> Iterator[str]:
    supported = [one for one in findings if one.supported]
    grave = [one for one in supported if one.severity is Severity.MUST]
    noes = [one for one in asked.questions if answers[one.id] == AnswerKind.NO]
    for name in dict.fromkeys(one.question for one in grave):
        if answers[name] != AnswerKind.NO:
            yield f"a finding of severity must on {name}, which is answered {answers[name]}"
    if verdict is None:
        return
    if verdict == asked.rubric.verdicts[0]:
        binding = [one.id for one in noes if one.severity in _BINDING]
        if binding:
            yield f"{verdict}, although {', '.join(binding)} is answered no"
        if grave:
            yield f"{verdict}, beside a finding of severity must"
        return
    if not noes:
        yield f"{verdict}, although no question is answered no"
    elif not {one.question for one in supported} & {one.id for one in noes}:
        bare = "no finding" if not findings else "no finding whose quote is in the diff"
        yield f"{verdict}, with {bare} on what is answered no"


def _text(text: str) -> str:
    """The text as UTF-8 can hold it."""
    return text.encode("utf-8", "backslashreplace").decode()
