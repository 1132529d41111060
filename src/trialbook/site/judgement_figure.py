"""What a trial's page shows of a judge: who it was, its votes, and what it found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trialbook.formats.records import plain
from trialbook.model.judgement import Judgement, JudgeVote
from trialbook.model.trust import JudgeUse, allows
from trialbook.reporting.opinions import Opinions
from trialbook.reporting.wording import number_of

_MOST_FINDINGS = 30


def judgement_figure(judgement: Judgement | None) -> dict[str, Any] | None:
    """A judgement; None for any other grader's grade."""
    if judgement is None:
        return None
    return {
        "rubric": judgement.rubric,
        "verdict": judgement.verdict or "no verdict",
        "counts": allows(judgement.trust, JudgeUse.ACCEPTANCE),
        "trust": judgement.trust.value,
        "facts": list(_facts(judgement)),
        "votes": [_vote(number, one) for number, one in enumerate(judgement.votes, start=1)],
        "planted": plain(judgement.planted),
    }


def opinions_figure(opinions: Opinions) -> list[dict[str, str]]:
    """Whether tests pass and whether somebody would merge, as two facts of a trial."""
    words = {True: "yes", False: "no", None: "not known"}
    would = words[opinions.would_merge]
    if opinions.by:
        would += f" ({opinions.by})"
    return [
        {"name": "Tests pass", "value": words[opinions.tests_pass]},
        {"name": "Would merge", "value": would},
    ]


def _facts(judgement: Judgement) -> Iterator[str]:
    """What a reader has to know of these answers, one sentence each."""
    identity = judgement.identity
    client = " ".join(filter(None, (identity.client, identity.client_version)))
    yield f"Asked: {identity.asked}, through {client}; identity {identity.short}."
    if judgement.same_family:
        yield "Judge and agent have models of one family, which may favour its own."
    if not judgement.isolated:
        yield "Its sandbox did not keep the host from it."
    if judgement.left_out:
        files = number_of(judgement.left_out, "binary file")
        yield f"It was not shown the data of {files}."
    if judgement.not_asked:
        yield f"Not asked, since a diff cannot tell: {', '.join(judgement.not_asked)}."
    if judgement.usage.cost_usd is not None:
        yield f"Cost: {judgement.usage.cost_usd} US dollars ({judgement.usage.basis})."


def _vote(number: int, vote: JudgeVote) -> dict[str, Any]:
    return {
        "number": number,
        "verdict": vote.verdict or (f"{vote.said}, not counted" if vote.said else "none"),
        "usable": vote.usable,
        "problem": vote.problem,
        "repaired": vote.repaired,
        "answers": [f"{name}: {answer.replace('_', ' ')}" for name, answer in vote.answers.items()],
        "findings": plain(vote.findings[:_MOST_FINDINGS]),
        "more": max(0, len(vote.findings) - _MOST_FINDINGS),
    }
