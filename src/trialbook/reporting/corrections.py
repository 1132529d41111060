"""What was corrected in a run, per configuration and trial by trial, in words for every page.

Both values are always said: what was recorded, and what counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trialbook.model.incident import Addition, Incident
from trialbook.model.outcome import Outcome
from trialbook.model.regrade import Regrade
from trialbook.model.standing import Standing
from trialbook.reporting.results import RunResults
from trialbook.reporting.wording import listed, number_of, words
from trialbook.stats.views import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionsCount:
    """One configuration's corrections.

    ``amended`` and ``regraded`` count trials whose outcome was changed by the one or the other.
    ``interventions`` are people's, with their ``minutes``; ``rescued`` counts trials with a rescue.
    ``alone`` is accepted slots of all scheduled ones, those with any intervention not accepted.
    """

    configuration: str
    amended: int
    regraded: int
    interventions: int
    minutes: float
    rescued: int
    alone: Tally

    @property
    def anything(self) -> bool:
        """Whether there is something to show."""
        return bool(self.amended or self.regraded or self.interventions)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentSaid:
    """An incident in words. ``id`` and ``kind`` are codes."""

    id: str
    kind: str
    state: str
    began: str
    ended: str
    reason: str
    because: str
    touched: str
    evidence: tuple[str, ...]
    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegradeSaid:
    """A generation of grades in words. ``differences`` and ``left_out`` name trials."""

    id: str
    created: str
    author: str
    reason: str
    graders: str
    came_to: str
    changed_files: tuple[str, ...]
    differences: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[str, str], ...]


def correction_counts(results: RunResults) -> tuple[CorrectionsCount, ...]:
    """Per configuration, in the plan's order."""
    return tuple(_count(results, name) for name in results.plan.configurations)


def _count(results: RunResults, name: str) -> CorrectionsCount:
    trials = [trial for trial in results.trials if trial.configuration == name]
    found = [results.standing(trial) for trial in trials]
    slots = [slot for slot in results.plan.schedule if slot.configuration == name]
    helped = {one.record.slot for one in found if one.interventions}
    first = {
        trial.slot for trial in trials if not trial.rerun and trial.outcome is Outcome.ACCEPTED
    }
    scheduled = {slot.key for slot in slots}
    people = [one for standing in found for one in standing.interventions]
    return CorrectionsCount(
        configuration=name,
        amended=sum(one.corrected_by == "amendment" for one in found),
        regraded=sum(one.corrected_by == "regrade" for one in found),
        interventions=len(people),
        minutes=sum(one.minutes for one in people),
        rescued=sum(one.rescued for one in found),
        alone=Tally(accepted=len((first & scheduled) - helped), slots=len(slots)),
    )


def corrected(results: RunResults) -> Iterator[Standing]:
    """Every trial with an amendment, or whose outcome is not the recorded one."""
    for trial in results.trials:
        standing = results.standing(trial)
        if standing.amendments or standing.changed:
            yield standing


def change_said(standing: Standing) -> str:
    """Both outcomes and where the change comes from; empty if the recorded one stands."""
    if not standing.changed:
        return ""
    source = {"amendment": "amended", "regrade": "graded again"}.get(standing.corrected_by, "")
    return (
        f"recorded as {words(standing.record.outcome)}, {source}: "
        f"counts as {words(standing.trial.outcome)}"
    )


def people_said(standing: Standing) -> str:
    """People's part in a trial: ``clarification 5 min, rescue 20 min``; empty for none."""
    return ", ".join(f"{one.kind} {one.minutes:g} min" for one in standing.interventions)


def incident_said(incident: Incident) -> IncidentSaid:
    """An incident in words."""
    opened, closing = incident.opened, incident.closing
    if closing is None:
        state = "open"
    else:
        state = f"closed: {words(closing.decision)}"
        if len(incident.closings) > 1:
            state += f" (closed {len(incident.closings)} times, this is the last)"
    touched = "not settled while it is open"
    if closing is not None:
        touched = number_of(len(closing.affected), "trial")
        if closing.added:
            touched += f" by time; added: {listed(_addition(one) for one in closing.added)}"
    return IncidentSaid(
        id=incident.id,
        kind=words(opened.kind),
        state=state,
        began=opened.began,
        ended=closing.ended if closing else "",
        reason=opened.reason,
        because=closing.reason if closing else "",
        touched=touched,
        evidence=(*opened.evidence, *(closing.evidence if closing else ())),
        author=opened.author if closing is None else closing.author,
    )


def _addition(one: Addition) -> str:
    return f"{one.task}/r{one.repetition} ({one.because})"


def regrade_said(regrade: Regrade) -> RegradeSaid:
    """A generation of grades in words."""
    changed = [trial for trial in regrade.trials if trial.was is not trial.outcome]
    flaky = sum(one.flaky for one in regrade.differences)
    came_to = (
        f"{number_of(len(regrade.trials), 'trial')} graded again, "
        f"{number_of(len(changed), 'outcome')} changed"
    )
    if flaky:
        came_to += f", {number_of(flaky, 'flaky grade')}"
    if regrade.left_out:
        came_to += f", {number_of(len(regrade.left_out), 'trial')} left out"
    return RegradeSaid(
        id=regrade.id,
        created=regrade.created,
        author=regrade.author,
        reason=regrade.reason,
        graders=listed(f"{one.grader} {one.version}" for one in regrade.graders),
        came_to=came_to,
        changed_files=regrade.changed_files,
        differences=tuple(
            (
                one.trial,
                f"{one.grader}: {one.was}, now {one.now}" + (" (flaky)" if one.flaky else ""),
            )
            for one in regrade.differences
        ),
        left_out=tuple((one.trial, one.because) for one in regrade.left_out),
    )
