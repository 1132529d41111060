"""One vote of a judge: asked, its answer checked, and asked once more where that did not fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from trialbook.api import AgentEnd, AgentResult, JudgeReply, Trouble, Usage, added
from trialbook.errors import EnvironmentProblem, ExitCode, TrialbookError
from trialbook.formats.visible import visible_line
from trialbook.grading.judge_answer import answer_problems, vote_of
from trialbook.grading.judge_diff import ShownDiff
from trialbook.grading.judge_prompt import Asked, prompt_of, repair_prompt
from trialbook.model.judgement import JudgeVote

Ask = Callable[[str, Mapping[str, Any]], JudgeReply]
"""Asks the judge's client a prompt, for a value of a schema, in a context of its own."""

_MOST_SAID = 400
_GO_ON = "what was judged is kept; the same command goes on from there"
_NO_SECOND_TRY = frozenset({AgentEnd.TIMED_OUT, AgentEnd.BUDGET, AgentEnd.VIOLATION})


class Cancelled(TrialbookError):
    """The judging was stopped by a person."""

    exit_code = ExitCode.INTERRUPTED

    def __init__(self) -> None:
        super().__init__("the judging was stopped", hint=_GO_ON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What all votes on one diff are asked. ``token`` gives random bytes as hexadecimal."""

    asked: Asked
    brief: str
    diff: ShownDiff
    token: Callable[[int], str]


def vote(case: Case, ask: Ask) -> JudgeVote:
    """Have the judge judge once.

    An answer that does not fit is repaired at most once: with the same prompt and what was wrong
    with it. After that there is no vote, and never a verdict by default.

    Raises:
        EnvironmentProblem: the judge cannot be asked: its client, sandbox or provider is in
            trouble. That says nothing of the diff.
        Cancelled: somebody stopped it.
    """
    asked = case.asked
    prompt = text = prompt_of(asked, case.brief, case.diff, case.token)
    usages: list[Usage] = []
    seconds = 0.0
    problems: list[str] = []
    for turn in (1, 2):
        reply = ask(text, asked.schema)
        result = reply.result
        usages.append(result.usage)
        seconds += result.process.seconds if result.process else 0.0
        _need_answerable(result)
        problems = _problems(reply, asked)
        if not problems:
            found = vote_of(reply.answer, asked, case.diff)
            return replace(found, repaired=turn > 1, seconds=round(seconds, 3), usage=added(usages))
        if result.end in _NO_SECOND_TRY:
            break
        text = repair_prompt(prompt, _said(reply), problems, case.token)
    return JudgeVote(
        usable=False,
        problem=visible_line("; ".join(problems[:3]))[:_MOST_SAID],
        seconds=round(seconds, 3),
        usage=added(usages),
    )


def _need_answerable(result: AgentResult) -> None:
    """Stop where nothing was measured: the judge was not in a position to answer."""
    if result.end is AgentEnd.CANCELLED:
        raise Cancelled
    # A prompt that the model does not take is a matter of this diff alone.
    in_trouble = result.trouble not in (None, Trouble.REQUEST)
    if in_trouble or result.end in (AgentEnd.ENVIRONMENT, AgentEnd.OUTAGE):
        raise EnvironmentProblem(
            f"the judge cannot be asked: {result.message}",
            hint=_GO_ON,
        )


def _problems(reply: JudgeReply, asked: Asked) -> list[str]:
    result = reply.result
    if result.end is not AgentEnd.FINISHED:
        return [result.message]
    if reply.answer is None:
        return [reply.missing or "it gave no answer"]
    return answer_problems(reply.answer, asked)


def _said(reply: JudgeReply) -> str:
    """The answer as text, for the judge to see what it wrote."""
    if reply.said or reply.answer is None:
        return reply.said
    return json.dumps(reply.answer, ensure_ascii=False)[:20_000]
