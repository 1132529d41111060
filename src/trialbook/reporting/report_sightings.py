"""The section of ``report.md`` about what was seen of agents: broken rules, and flags."""

from __future__ import annotations

from collections.abc import Iterator

from trialbook.model.evidence import Sighting, violations
from trialbook.model.trial import Trial
from trialbook.reporting.markdown import code
from trialbook.reporting.summary import Summary
from trialbook.reporting.wording import number_of

_TOLD = 5


def sighting_section(summary: Summary) -> Iterator[str]:
    """What was seen, by trial; nothing where nothing was, or nothing looked."""
    trials = [trial for cell in summary.cells.values() for trial in cell.trials if trial.sightings]
    if not trials:
        return
    trials.sort(key=lambda trial: (trial.slot, trial.rerun))
    broken = sum(bool(violations(trial.sightings)) for trial in trials)
    yield "## What was seen\n"
    yield (
        f"In {number_of(len(trials), 'trial')} something was seen that a reviewer should look at; "
        f"in {broken} of them it is a violation. A flag decides nothing.\n"
    )
    yield "".join(line for trial in trials for line in _lines(trial))


def _lines(trial: Trial) -> Iterator[str]:
    sightings = trial.sightings or ()
    yield f"- {code(trial.path)}\n"
    for one in sightings[:_TOLD]:
        yield f"  - {one.severity.value}: {_said(one)}\n"
    if len(sightings) > _TOLD:
        yield f"  - {len(sightings) - _TOLD} more in its record\n"


def _said(one: Sighting) -> str:
    return f"{code(one.place)}: {code(one.detail)}" if one.place else code(one.detail)
