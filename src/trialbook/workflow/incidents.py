"""Opens and closes incidents: files beside the trials they touched, added and never changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path

from trialbook.errors import UserError
from trialbook.formats.authored_text import to_yaml
from trialbook.formats.records import plain
from trialbook.model.incident import (
    Addition,
    ClosedIncident,
    Decision,
    Incident,
    IncidentKind,
    OpenedIncident,
    affected_slots,
    one_sided,
    overlapping,
)
from trialbook.model.runfiles import closing_path, incident_path
from trialbook.storage.corrections import incidents
from trialbook.storage.ledger import Ledger
from trialbook.storage.messages import closed_message, opened_message
from trialbook.storage.reader import Reader, RunRef
from trialbook.system import System, parse_timestamp, timestamp
from trialbook.workflow.authorship import all_worded, author_of, worded
from trialbook.workflow.results import one_corrects, refresh_results

_LEAD = "Written by trialbook; added to, never edited. It is closed by a file of its own."


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """What happened. ``where`` is a run or a suite; ``began`` a time, by default now."""

    where: str
    kind: IncidentKind
    reason: str
    author: str | None = None
    began: str | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseRequest:
    """What was decided. ``until`` is a time, by default now.

    ``added`` is what was touched although the times do not say so.
    """

    incident: str
    decision: Decision
    reason: str
    author: str | None = None
    until: str | None = None
    added: tuple[Addition, ...] = ()
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was committed: the incident as it is now in each run, by the run's name."""

    id: str
    commit: str
    runs: dict[RunRef, Incident]
    warnings: tuple[str, ...]


def open_incident(root: Path, system: System, request: OpenRequest) -> Written:
    """Commit an incident to a run, or to every run of a suite that it touches.

    Raises:
        UserError: no such run or suite, a time that is none, or nothing that it could touch.
        EnvironmentProblem: the ledger cannot be written.
    """
    ledger = Ledger.open(root, system)
    reader = Reader.open(root, ledger.ref)
    now = timestamp(system.now())
    began = now if request.began is None else _time(request.began, "--from")
    if parse_timestamp(began) > parse_timestamp(now):
        raise UserError(f"the incident would begin in the future: {began}")
    scope, runs = _touched(reader, request.where, began)
    name = system.unique_name()
    found = {
        run: OpenedIncident(
            incident=name,
            scope=scope,
            suite=run.suite,
            run=run.run,
            kind=request.kind,
            began=began,
            opened=now,
            author=author_of(ledger, request.author),
            reason=worded("reason", request.reason),
            evidence=all_worded("evidence", request.evidence),
        )
        for run in runs
    }
    files = {
        f"runs/{run.path}/{incident_path(name)}": to_yaml(plain(opened), lead=_LEAD)
        for run, opened in found.items()
    }
    message = opened_message(found[runs[0]], [run.path for run in runs])
    commit = ledger.commit(files, message)
    _refresh(root, ledger, runs, f"incident {name} was opened", system)
    return Written(
        id=name,
        commit=commit,
        runs={run: Incident(opened=opened) for run, opened in found.items()},
        warnings=tuple(ledger.warnings),
    )


def close_incident(root: Path, system: System, request: CloseRequest) -> Written:
    """Commit how an incident ended, in every run that has it.

    Which trials it touched follows from their times, for every configuration alike.

    Raises:
        UserError: no such incident, one that is closed, or a decision that cannot be.
        EnvironmentProblem: the ledger cannot be written.
    """
    ledger = Ledger.open(root, system)
    reader = Reader.open(root, ledger.ref)
    name, found = find_incident(reader, request.incident)
    if all(incident.closing is not None for incident in found.values()):
        raise UserError(
            f"incident {name} is closed already", hint="what else happened is another incident"
        )
    now = timestamp(system.now())
    ended = now if request.until is None else _time(request.until, "--until")
    if parse_timestamp(ended) > parse_timestamp(now):
        raise UserError(f"the incident would end in the future: {ended}")
    found = {run: one for run, one in found.items() if one.closing is None}
    late = _begun_meanwhile(reader, found, ended)
    found |= late
    _check_added(reader, found, request.added)
    author = author_of(ledger, request.author)
    closed = {
        run: Incident(
            opened=incident.opened,
            closings=(_closing(reader, run, incident, request, (ended, now, author)),),
        )
        for run, incident in found.items()
    }
    for run, incident in closed.items():
        _check_decision(reader, run, incident, request.decision)
    runs = list(closed)
    files = {
        f"runs/{run.path}/{closing_path(name, system.token(3))}": to_yaml(
            plain(incident.closing), lead="Written by trialbook; added to, never edited."
        )
        for run, incident in closed.items()
    }
    files |= {
        f"runs/{run.path}/{incident_path(name)}": to_yaml(plain(incident.opened), lead=_LEAD)
        for run, incident in late.items()
    }
    closing = closed[runs[0]].closing
    if closing is None:
        raise UserError(f"incident {name} is nowhere")
    commit = ledger.commit(files, closed_message(closing, [run.path for run in runs]))
    _refresh(root, ledger, runs, f"incident {name} was closed", system)
    return Written(id=name, commit=commit, runs=closed, warnings=tuple(ledger.warnings))


def find_incident(reader: Reader, text: str) -> tuple[str, dict[RunRef, Incident]]:
    """The incident of a name, or of the beginning of one that no other has, in each of its runs.

    Raises:
        UserError: there is none, or more than one.
    """
    known = all_incidents(reader)
    fits = [name for name in known if name.startswith(text.strip())] if text.strip() else []
    if len(fits) == 1:
        return fits[0], known[fits[0]]
    if fits:
        raise UserError(f"{text!r} fits {len(fits)} incidents", hint=f"one of {', '.join(fits)}")
    raise UserError(
        f"there is no incident {text!r}",
        hint=f"there are: {', '.join(known) or 'none'}; see `trialbook incident list`",
    )


def all_incidents(reader: Reader) -> dict[str, dict[RunRef, Incident]]:
    """Every incident of the ledger in each of its runs, oldest first."""
    found: dict[str, dict[RunRef, Incident]] = {}
    for run in reader.runs():
        for incident in incidents(reader, run):
            found.setdefault(incident.id, {})[run] = incident
    return dict(
        sorted(found.items(), key=lambda item: min(one.opened.opened for one in item[1].values()))
    )


def _time(text: str, option: str) -> str:
    """A time as records write it; one without an offset is UTC."""
    try:
        moment = parse_timestamp(text.strip())
    except ValueError:
        raise UserError(
            f"{option} {text!r} is no time", hint="write it as 2026-11-30T15:15Z"
        ) from None
    return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _touched(reader: Reader, where: str, began: str) -> tuple[str, list[RunRef]]:
    runs = reader.runs()
    of_suite = [run for run in runs if run.suite == where.strip("/")]
    if not of_suite:
        return "run", [reader.resolve_run(where)]
    touched = [
        run
        for run in of_suite
        if not reader.is_closed(run) or overlapping(reader.trials(run), began, None)
    ]
    if not touched:
        raise UserError(
            f"no run of {where} is open or has a trial that ran after {began}",
            hint="say when it began with --from, or name a run",
        )
    return "suite", touched


def _begun_meanwhile(
    reader: Reader, found: dict[RunRef, Incident], ended: str
) -> dict[RunRef, Incident]:
    """Runs of the suite that an incident of the whole suite touched after it was opened."""
    opened = next(iter(found.values())).opened
    if opened.scope != "suite":
        return {}
    return {
        run: Incident(opened=replace(opened, run=run.run))
        for run in reader.runs()
        if run.suite == opened.suite
        and not any(one.id == opened.incident for one in incidents(reader, run))
        and overlapping(reader.trials(run), opened.began, ended)
    }


def _closing(
    reader: Reader,
    run: RunRef,
    incident: Incident,
    request: CloseRequest,
    signed: tuple[str, str, str],
) -> ClosedIncident:
    ended, now, author = signed
    began = incident.opened.began
    if parse_timestamp(ended) < parse_timestamp(began):
        raise UserError(f"the incident would end at {ended}, before it began at {began}")
    planned = reader.plan(run).tasks
    return ClosedIncident(
        incident=incident.id,
        suite=run.suite,
        run=run.run,
        ended=ended,
        closed=now,
        decision=request.decision,
        author=author,
        reason=worded("reason", request.reason),
        evidence=all_worded("evidence", request.evidence),
        affected=tuple(trial.path for trial in overlapping(reader.trials(run), began, ended)),
        added=tuple(one for one in request.added if one.task in planned),
    )


def _check_added(reader: Reader, found: dict[RunRef, Incident], added: Sequence[Addition]) -> None:
    plans = [reader.plan(run) for run in found]
    for one in added:
        worded("reason of what is added", one.because)
        if not any(one.task in p.tasks and one.repetition <= p.repetitions for p in plans):
            raise UserError(
                f"no run of this incident has a slot {one.task}/r{one.repetition}",
                hint=f"tasks: {', '.join(sorted({task for p in plans for task in p.tasks}))}",
            )


def _check_decision(reader: Reader, run: RunRef, incident: Incident, decision: Decision) -> None:
    if decision is Decision.KEEP:
        return
    plan = reader.plan(run)
    slots = affected_slots(plan, incident)
    if decision is Decision.RERUN and not slots and incident.opened.scope == "run":
        raise UserError(
            f"no trial of {run.path} ran between {incident.opened.began} and the end: there is "
            "nothing to run again",
            hint="say until when with --until, or add slots with --add",
        )
    only = one_sided(plan, slots)
    if only is not None:
        raise UserError(
            f"every trial of {run.path} that it touched is of configuration {only}, and a decision "
            f"to {decision.value} cannot be about one configuration only",
            hint="add what the others did at the same turn: --add 'TASK/r1=why'; that names the "
            "slot of every configuration",
        )


def _refresh(
    root: Path, ledger: Ledger, runs: Iterable[RunRef], because: str, system: System
) -> None:
    for run in runs:
        with one_corrects(ledger, run):
            refresh_results(root, ledger, run, because, system)
