"""What the terminal shows of a trial's facts: how the agent worked, what its change is like."""

from __future__ import annotations

from collections.abc import Iterable

from trialbook.cli.terminal import Column, Part, Text, heading, safe, table
from trialbook.model.trial import Trial
from trialbook.reporting.facts_said import Fact, facts_said
from trialbook.reporting.trial_facts import TrialFacts


def fact_parts(trial: Trial, facts: TrialFacts) -> Iterable[Part]:
    """The facts in tables; nothing if there are none."""
    for group in facts_said(trial, facts):
        yield ""
        yield heading(f"{group.title.lower()}  hints, no scores")
        if group.note:
            yield safe(group.note, style="yellow")
        if group.facts:
            columns = [Column(head="fact"), Column(head="count", number=True), Column(head="more")]
            yield table(columns, [_row(one) for one in group.facts])


def _row(fact: Fact) -> list[str | Text]:
    value = safe(fact.value, style="yellow" if fact.notable else "")
    return [fact.name, value, safe(fact.more)]
