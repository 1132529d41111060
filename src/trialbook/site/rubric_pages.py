"""The pages of rubrics: a list of them, and one page for each version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trialbook.api import Page
from trialbook.model.rubric import Question, Rubric
from trialbook.reporting.findings import Group
from trialbook.site.addresses import FINDINGS, RUBRICS, rubric_page
from trialbook.site.findings_page import findings_of_question

_FINDINGS = 3


def rubric_pages(rubrics: Sequence[Rubric], groups: Sequence[Group] = ()) -> Iterator[Page]:
    """All of them; none in a ledger without rubrics. ``groups`` are the ledger's findings."""
    if not rubrics:
        return
    yield Page(
        path=RUBRICS,
        template="rubrics.html",
        title="Rubrics",
        context={"rubrics": [_entry(rubric) for rubric in rubrics]},
    )
    for rubric in rubrics:
        versions = [one for one in rubrics if one.name == rubric.name]
        found = findings_of_question(groups, rubric.name)
        context = {
            **_entry(rubric),
            "sha256": rubric.sha256,
            # The page has the title already.
            "prose": rubric.prose.removeprefix(f"# {rubric.title}\n"),
            "asked": [
                _question(question) | {"findings": found.get(question.id, [])[:_FINDINGS]}
                for question in rubric.questions
            ],
            "findings": FINDINGS if found else "",
            "others": [_entry(one) for one in versions if one is not rubric],
        }
        yield Page(
            path=rubric_page(rubric.name, rubric.version),
            template="rubric.html",
            title=f"{rubric.reference}: {rubric.title}",
            context=context,
        )


def _entry(rubric: Rubric) -> dict[str, Any]:
    return {
        "reference": rubric.reference,
        "title": rubric.title,
        "page": rubric_page(rubric.name, rubric.version),
        "questions": len(rubric.questions),
        "verdicts": list(rubric.verdicts),
    }


def _question(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "text": question.text,
        "no_when": question.no_when,
        "evidence": question.evidence.value,
        "severity": question.severity.value,
        "applies_to": question.applies_to or "",
    }
