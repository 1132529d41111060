"""What a reader must know before any number of a run, in plain text for every kind of page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trialbook.model.incident import Decision, Incident
from trialbook.model.outcome import NOT_RUN
from trialbook.reporting.corrections import correction_counts, regrade_said
from trialbook.reporting.results import RunResults
from trialbook.reporting.summary import Summary
from trialbook.reporting.wording import listed, number_of, part_said, words

_HOSTS = 5
_GRAVE = frozenset({"invalidated", "not_isolated", "network_not_enforced"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One caution: ``code`` is stable and for programs, ``title`` and ``text`` are for people."""

    code: str
    title: str
    text: str

    @property
    def grave(self) -> bool:
        """Whether it should stand out from the others."""
        return self.code in _GRAVE


def notices(results: RunResults) -> tuple[Notice, ...]:
    """Every caution that applies to a run, the gravest first."""
    summary = results.summary
    return (
        *_invalidated(results),
        *_part(results),
        *_completeness(results, summary),
        *_natures(summary),
        *_incidents(results),
        *_corrections(results),
        *_regrades(results),
        *_isolation(results, summary),
        *_network(results),
        *_views(summary),
    )


def _invalidated(results: RunResults) -> Iterator[Notice]:
    found = [one for one in results.incidents if one.decision is Decision.INVALIDATE]
    if found:
        yield Notice(
            code="invalidated",
            title="Invalidated",
            text=f"Protocol version {results.plan.protocol} was invalidated after an incident: "
            f"{listed(_why(one) for one in found)}. No number here may be used.",
        )


def _incidents(results: RunResults) -> Iterator[Notice]:
    open_ones = [one for one in results.incidents if one.closing is None]
    if open_ones:
        yield Notice(
            code="incident_open",
            title="Incident open",
            text=f"{listed(_why(one) for one in open_ones)}. What it means for these numbers is "
            "not decided yet.",
        )
    settled = [one for one in results.incidents if one.decision in (Decision.KEEP, Decision.RERUN)]
    for one in settled:
        touched = len(one.closing.affected) if one.closing else 0
        done = (
            "run again where nothing valid came out" if one.decision is Decision.RERUN else "kept"
        )
        yield Notice(
            code="incident",
            title="Incident",
            text=f"{_why(one)}; {number_of(touched, 'trial')} ran meanwhile, {done}.",
        )


def _why(incident: Incident) -> str:
    return f"{words(incident.opened.kind)}, {incident.opened.reason}"


def _corrections(results: RunResults) -> Iterator[Notice]:
    counts = correction_counts(results)
    if amended := sum(count.amended for count in counts):
        yield Notice(
            code="amended",
            title="Amended",
            text=f"The outcome of {number_of(amended, 'trial')} was corrected by a person after "
            "the fact. The numbers count what is right now; what was recorded is shown beside it.",
        )
    rescued = [count for count in counts if count.rescued]
    if rescued:
        said = listed(f"{count.configuration} {count.rescued}" for count in rescued)
        yield Notice(
            code="rescued",
            title="Assisted",
            text=f"A person did some of the work in these many trials: {said}. A rescued trial is "
            "another workflow than the one under evaluation.",
        )


def _regrades(results: RunResults) -> Iterator[Notice]:
    if not results.regrades:
        return
    said = regrade_said(results.regrades[-1])
    text = f"{said.came_to}, last on {said.created[:10]} by {said.graders}."
    if said.reason:
        text += f" Why: {said.reason.rstrip('.')}."
    if said.changed_files:
        text += (
            f" {number_of(len(said.changed_files), 'file')} of the suite "
            f"{'was' if len(said.changed_files) == 1 else 'were'} not what the plan froze."
        )
    yield Notice(code="regraded", title="Graded again", text=text)


def _part(results: RunResults) -> Iterator[Notice]:
    if said := part_said(results.plan):
        yield Notice(
            code="partial",
            title="Part of the suite",
            text=f"This run has {said}. It does not stand for the whole suite.",
        )


def _completeness(results: RunResults, summary: Summary) -> Iterator[Notice]:
    if summary.draft:
        yield Notice(
            code="draft",
            title="Draft",
            text=f"{_draft_said(results.plan.draft_because)} The numbers describe work in progress "
            "and compare with no other run.",
        )
    if missing := summary.total.outcomes.get(NOT_RUN, 0):
        yield Notice(
            code="not_run",
            title="Not everything ran",
            text=f"{number_of(missing, 'slot')} of {summary.total.all_scheduled.slots} never ran "
            "and count as not accepted among all scheduled slots.",
        )
    if summary.unplanned:
        yield Notice(
            code="unplanned",
            title="Outside the plan",
            text=f"{number_of(len(summary.unplanned), 'trial')} on record for slots that the plan "
            "does not have; no number here counts them.",
        )


def _draft_said(because: str) -> str:
    if not because:
        return "The suite was not locked when this run was planned."
    return f"When this run was planned, {because}."


def _natures(summary: Summary) -> Iterator[Notice]:
    for nature in dict.fromkeys(row.nature for row in summary.configurations if row.nature):
        rows = [row for row in summary.configurations if row.nature == nature]
        names = listed(row.name for row in rows)
        yield Notice(
            code="nature",
            title=rows[0].label.capitalize(),
            text=f"{names}: {nature}.",
        )


def _isolation(results: RunResults, summary: Summary) -> Iterator[Notice]:
    if summary.not_isolated:
        records = [t.isolation for t in results.trials if t.isolation is not None]
        names = sorted({record.sandbox for record in records if not record.isolated})
        yield Notice(
            code="not_isolated",
            title="Not isolated",
            text=f"{summary.not_isolated} of {number_of(len(results.trials), 'trial')} ran without "
            f"isolation (sandbox {listed(names)}): what ran there could reach whatever the user "
            "running it could.",
        )


def _network(results: RunResults) -> Iterator[Notice]:
    records = [t.isolation for t in results.trials if t.isolation is not None]
    total = number_of(len(results.trials), "trial")
    if loose := [record for record in records if record.network_loose]:
        asked = sorted({record.network_declared for record in loose})
        yield Notice(
            code="network_not_enforced",
            title="Network: not enforced",
            text=f"{len(loose)} of {total} were to have only this network: {listed(asked)}. "
            f"Nothing held them to it (sandbox {listed({record.sandbox for record in loose})}).",
        )
    if is_open := sum(record.network_open for record in records):
        yield Notice(
            code="network_open",
            title="Network: open",
            text=f"{is_open} of {total} had the whole network of the host, as declared. What they "
            "reached is not known.",
        )
    refused = [t for t in results.trials if t.egress is not None and t.egress.refused]
    if refused:
        hosts = sorted({host for t in refused if t.egress for host in t.egress.hosts_refused})
        more = f" and {len(hosts) - _HOSTS} more" if len(hosts) > _HOSTS else ""
        yield Notice(
            code="network_refused",
            title="Forbidden hosts",
            text=f"{len(refused)} of {total} asked for hosts that their policy does not allow, and "
            f"did not get them: {', '.join(hosts[:_HOSTS])}{more}.",
        )


def _views(summary: Summary) -> Iterator[Notice]:
    for one, other in summary.not_comparable:
        yield Notice(
            code="not_comparable",
            title="Valid executions not comparable",
            text=f"{one} and {other} lost clearly different numbers of slots, so that what is left "
            "are two different samples.",
        )
    if summary.total.pending:
        yield Notice(
            code="pending",
            title="Preliminary",
            text=f"A person's verdict on {number_of(summary.total.pending, 'slot')} is due; "
            "no view counts that as accepted yet.",
        )
