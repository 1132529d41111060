"""``trialbook show``: one run, or one trial with all its evidence."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import click

from trialbook.cli.context import Context, called, pass_context
from trialbook.cli.corrections import correction_parts, run_correction_parts
from trialbook.cli.facts import fact_parts
from trialbook.cli.reading import open_reader
from trialbook.cli.reviewed import review_json, review_parts
from trialbook.cli.series import series_json, series_parts, table_parts
from trialbook.cli.terminal import (
    Column,
    Part,
    Text,
    answer_text,
    block,
    facts,
    heading,
    lines,
    matrix_parts,
    outcome_text,
    render,
    safe,
    summary_parts,
    table,
)
from trialbook.formats.records import plain
from trialbook.formats.visible import decode, unstyled
from trialbook.model.evidence import Sighting, SightingSeverity
from trialbook.model.grade import Check, Finding, Grade
from trialbook.model.trial import CutFile, Trial
from trialbook.reporting.attempts import attempts_said, cost_said
from trialbook.reporting.corrections import correction_counts, incident_said, regrade_said
from trialbook.reporting.notices import notices
from trialbook.reporting.opinions import standing_said
from trialbook.reporting.results import RunResults, load_results
from trialbook.reporting.series import series_of
from trialbook.reporting.series_table import series_table
from trialbook.reporting.trial_facts import load_facts
from trialbook.reporting.wording import (
    duration,
    egress_said,
    network_said,
    number_of,
    size,
    words,
)
from trialbook.storage.corrections import grades as standing_grades
from trialbook.storage.corrections import standing
from trialbook.storage.reader import Reader, RunRef
from trialbook.workflow.results import newest_results

_OUTPUT_LINES = 20
_OUTPUT_BYTES = 4000
_LINE_CHARACTERS = 400


@click.command(epilog="Example: trialbook show 20261130-151526-3f9c/negative-amount/current/r2")
@click.argument("what", metavar="RUN|TRIAL")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def command(context: Context, what: str, *, as_json: bool) -> None:
    """Show a run (RUN, or a beginning of it that no other run has) or one of its trials.

    A trial is RUN/TASK/CONFIGURATION/r1 (a rerun: .../r1.rerun1).
    """
    reader = open_reader(context)
    found = reader.resolve(what)
    if isinstance(found, RunRef):
        _show_run(context, reader, found, as_json=as_json)
    else:
        _show_trial(context, reader, *found, as_json=as_json)


# --- a run ---------------------------------------------------------------------------------------


def _show_run(context: Context, reader: Reader, run: RunRef, *, as_json: bool) -> None:
    results = load_results(reader, run)
    newest = newest_results(reader, run)
    closed = newest is not None
    if as_json:
        context.json(_run_json(results, closed=closed) | {"results": newest})
        return
    parts = _run_parts(results, newest, reader.name)
    context.result(render(parts, colour=context.colour))


def _run_json(results: RunResults, *, closed: bool) -> dict[str, Any]:
    summary = results.summary
    return {
        "suite": summary.suite,
        "run": summary.run,
        "protocol": summary.protocol,
        "status": results.plan.status,
        "state": "closed" if closed else "open",
        "decision": results.plan.decision,
        "notices": plain(notices(results)),
        "corrections": plain(correction_counts(results)),
        "incidents": plain([incident_said(one) for one in results.incidents]),
        "regrades": plain([regrade_said(one) for one in results.regrades]),
        "configurations": [
            {
                "name": row.name,
                "nature": row.nature,
                "all_scheduled": plain(row.counts.all_scheduled),
                "valid_execution": plain(row.counts.valid_execution),
                "bounds": plain(row.counts.bounds),
                "outcomes": dict(row.counts.outcomes),
                "pending": row.counts.pending,
                "lost": row.counts.lost,
                "trials": row.counts.trials,
                "checks": plain(row.checks),
                "spend": plain(row.spend),
            }
            for row in summary.configurations
        ],
        "slots": [
            {
                "task": slot.task,
                "configuration": slot.configuration,
                "repetition": slot.repetition,
                "outcome": cell.outcome,
                "trials": [trial.path for trial in cell.trials],
            }
            for slot, cell in summary.cells.items()
        ],
    }


def _run_parts(results: RunResults, newest: str | None, name: str) -> Iterable[Part]:
    summary, plan = results.summary, results.plan
    yield heading(f"{plan.suite}@{plan.protocol}  {plan.run}")
    yield safe(plan.decision)
    yield ""
    for notice in notices(results):
        line = safe(f"{notice.title}: ", style="bold red" if notice.grave else "yellow")
        yield line.append_text(safe(notice.text))
    yield ""
    yield from summary_parts(summary)
    yield ""
    yield from matrix_parts(summary)
    names, views = tuple(plan.configurations), tuple(results.series.values())
    yield from table_parts(series_table(names, views))
    yield from run_correction_parts(results)
    yield ""
    folder = f"runs/{plan.path}"
    rows = [("folder", folder), ("commits", f"{_log(name)} -- {shlex.quote(folder)}")]
    rows.append(("plan", f"git show {name}:./{shlex.quote(folder)}/plan.json"))
    rows.append(("trials", f"{called()} show {plan.run}/TASK/CONFIGURATION/r1"))
    if newest:
        rows.append(("results", f"{folder}/{newest}"))
    if plan.judgement is not None:
        rows.append(("reviews", f"{called()} review status --run {plan.run}"))
    if newest is None:
        rows.append(("next", f"{called()} resume {plan.run}"))
    yield from lines(rows)


# --- a trial -------------------------------------------------------------------------------------


def _show_trial(context: Context, reader: Reader, run: RunRef, path: str, *, as_json: bool) -> None:
    found = standing(reader, run, path)
    trial = found.trial
    grades = standing_grades(reader, run, found)
    commit = reader.commit_of(run, f"{path}/trial.json")
    made = load_facts(reader, run, reader.plan(run), found.record)
    view = series_of(reader, run, reader.plan(run), found.record)
    if as_json:
        context.json(
            {
                "commit": commit,
                "trial": plain(found.record),
                "grades": plain(grades),
                "standing": {
                    "outcome": trial.outcome.value,
                    "reason": trial.reason,
                    "corrected_by": found.corrected_by,
                    "regrade": found.regrade,
                    "rescued": found.rescued,
                },
                "amendments": plain(found.amendments),
                "reviews": review_json(found.reviewed),
                "facts": plain(made),
                "series": series_json(view),
            }
        )
        return
    parts = [
        *_trial_head(trial),
        *correction_parts(found),
        *review_parts(found.reviewed),
        *series_parts(view),
        *_attempts(trial),
        *_seen(trial),
        *fact_parts(trial, made),
        *_checks(grades),
        *_output(reader, run, trial),
        *_evidence(trial, commit, reader.name),
    ]
    context.result(render(parts, colour=context.colour))


def _trial_head(trial: Trial) -> Iterable[Part]:
    yield heading(f"{trial.suite}@{trial.protocol}  {trial.run}/{trial.path}")
    yield outcome_text(trial.outcome).append_text(safe(f": {trial.reason}"))
    if trial.graded_anyway:
        yield safe("graded all the same, after the limit")
    yield ""
    rows: list[tuple[str, str | Text]] = [("status", trial.status)]
    if trial.agent is not None:
        said = (
            f", says it is {trial.agent.reported_version}" if trial.agent.reported_version else ""
        )
        rows.append(("agent", f"{trial.agent.name} {trial.agent.version}{said}"))
        rows.append(("model", trial.agent.model or "none named"))
    if trial.isolation is not None:
        isolated = "isolated" if trial.isolation.isolated else "not isolated"
        rows.append(("sandbox", f"{trial.isolation.sandbox}, {isolated}"))
        style = "bold red" if trial.isolation.network_loose else ""
        rows.append(("network", safe(network_said(trial.isolation), style=style)))
    if trial.egress is not None:
        rows.append(("reached", egress_said(trial.egress)))
    if trial.toolchain is not None:
        rows.append(("toolchain", trial.toolchain.words))
    if trial.change is not None:
        change = trial.change
        rows.append(
            (
                "change",
                f"{number_of(change.files, 'file')} +{change.insertions} -{change.deletions}",
            )
        )
        if (own := change.own) is not None:
            told = f"{number_of(own.files, 'file')} +{own.insertions} -{own.deletions}"
            rows.append(("by the agent", f"{told}; the rest was laid in between sessions"))
        if change.redacted:
            rows.append(("redacted", "something secret was taken out of the patch after grading"))
        rows += [("not in patch", f"{file.path}: {file.reason}") for file in change.omitted]
    if trial.replaces is not None:
        why = words(trial.rerun_reason or "unknown")
        why += f", incident {trial.incident}" if trial.incident else ""
        rows.append(("replaces", f"{trial.replaces} ({why})"))
    rows.append(("cost", cost_said(trial)))
    rows += [(words(name), duration(seconds)) for name, seconds in _stages(trial)]
    yield facts(rows)


def _stages(trial: Trial) -> Iterable[tuple[str, float]]:
    """How long each stage took; in a series, in all sessions together."""
    if not trial.sessions:
        return [(stage.name, stage.seconds) for stage in trial.stages]
    whole: dict[str, float] = {}
    for stage in trial.stages:
        whole[stage.name] = whole.get(stage.name, 0.0) + stage.seconds
    return list(whole.items())


def _attempts(trial: Trial) -> Iterable[Part]:
    """What each attempt of a workflow ran, came to and cost."""
    for title, rows in attempts_said(trial):
        yield ""
        yield heading(title)
        yield facts([(name, safe(value)) for name, value in rows])


def _seen(trial: Trial) -> Iterable[Part]:
    """What was seen of broken rules, violations first."""
    if not trial.sightings:
        return
    yield ""
    yield heading(f"what was seen  {len(trial.sightings)}")
    columns = [Column(head="weight"), Column(head="kind"), Column(head="where and what")]
    yield table(columns, [_sighting(one) for one in trial.sightings])


def _sighting(one: Sighting) -> list[str | Text]:
    style = "bold red" if one.severity is SightingSeverity.VIOLATION else "yellow"
    told = safe(f"{one.place}  " if one.place else "", style="cyan")
    told.append_text(safe(one.detail))
    if one.excerpt:
        told.append("\n").append_text(safe(one.excerpt[:_LINE_CHARACTERS], style="dim"))
    return [safe(one.severity.value, style=style), words(one.kind), told]


def _checks(grades: Sequence[Grade]) -> Iterable[Part]:
    for grade in grades:
        yield ""
        yield heading(f"{grade.grader}  {grade.passed}/{grade.total}  {grade.status.value}")
        yield safe(grade.message)
        if grade.judgement is not None:
            yield safe(standing_said(grade.judgement), style="dim")
        if grade.checks:
            columns = [Column(head="answer"), Column(head="check"), Column(head="evidence")]
            yield table(columns, [_check(check) for check in grade.checks])


def _check(check: Check) -> list[str | Text]:
    evidence = safe(check.message)
    for finding in check.evidence:
        evidence.append("\n").append_text(_finding(finding))
    return [answer_text(check.passed), safe(check.id, style="bold"), evidence]


def _finding(finding: Finding) -> Text:
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    shown = safe(f"{place}  " if place else "", style="cyan")
    return shown.append_text(safe(finding.text[:_LINE_CHARACTERS]))


def _output(reader: Reader, run: RunRef, trial: Trial) -> Iterable[Part]:
    """The first lines of what the agent printed; files that hold nothing are left out."""
    whole = {file.path: file.bytes for file in trial.cut}
    for path in reader.files(run, trial.path):
        if not path.startswith("sessions/") or not path.endswith((".txt", ".log")):
            continue
        data = reader.file(run, f"{trial.path}/{path}")
        if not data:
            continue
        yield ""
        of_all = f" of {size(whole[path])}" if path in whole else ""
        yield heading(f"{path}  {size(len(data))}{of_all}")
        head = b"\n".join(data.split(b"\n", _OUTPUT_LINES)[:_OUTPUT_LINES])[:_OUTPUT_BYTES]
        yield block(unstyled(decode(head)))
        if len(head) < len(data.rstrip(b"\n")):
            yield Text(f"  ... {size(len(data) - len(head))} more", style="dim")


def _log(name: str) -> str:
    return "git log --stat" if name == "HEAD" else f"git log --stat {name}"


def _whole(folder: str, file: CutFile, name: str) -> str:
    """How to get at a log that was cut."""
    if file.full is None:
        return f"{file.path}: only its sha256 was kept, {file.sha256}"
    return f"git show {name}:./{folder}/{shlex.quote(file.full)} | git lfs smudge"


def _evidence(trial: Trial, commit: str | None, name: str) -> Iterable[Part]:
    folder = shlex.quote(f"runs/{trial.suite}/{trial.run}/{trial.path}")
    yield ""
    yield heading("in the ledger")
    rows = [("folder", folder)]
    if commit is not None:
        rows.append(("commit", f"git show {commit}"))
    rows.append(("history", f"{_log(name)} -- {folder}"))
    if trial.change is not None:
        rows.append(("change", f"git show {name}:./{folder}/change.patch"))
    rows += [("taken out", f"{kind}: {count}") for kind, count in trial.redactions.items()]
    rows += [("whole log", _whole(folder, file, name)) for file in trial.cut]
    rows += [("artifact", path) for path in trial.artifacts]
    yield from lines(rows)
