"""The page of a trial: what was asked, what was changed, how it was judged, all the evidence."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from trialbook.api import Page
from trialbook.formats.records import plain
from trialbook.model.plan import SlotKey
from trialbook.model.runfiles import PATCH
from trialbook.model.standing import Standing, standing_of
from trialbook.model.trial import Trial
from trialbook.reporting.facts_said import facts_said
from trialbook.reporting.opinions import opinions_of
from trialbook.reporting.reviews_said import reviews_said
from trialbook.reporting.summary import Cell, Summary
from trialbook.reporting.wording import words
from trialbook.site.addresses import (
    change_page,
    configuration_page,
    relative,
    run_page,
    suite_page,
    task_page,
    trial_page,
)
from trialbook.site.corrections_figure import trial_corrections
from trialbook.site.diff.figure import Change
from trialbook.site.diff.remarks import Remark
from trialbook.site.figures import cell_figure, outcome_figure, trial_link
from trialbook.site.judgement_figure import opinions_figure
from trialbook.site.ledger_view import LedgerView
from trialbook.site.series_figure import series_figure
from trialbook.site.trial.conditions import conditions
from trialbook.site.trial.evidence import Evidence, sightings_of
from trialbook.site.trial.files import TrialFiles, read_files
from trialbook.site.trial.texts import shown_texts, text_pages
from trialbook.site.trial.trajectory import TrajectoryPages
from trialbook.site.units import TrialRef
from trialbook.storage.reader import RunRef

_ARTIFACTS = 500


def trial_pages(view: LedgerView, ref: TrialRef) -> Iterator[Page]:
    """All pages of a trial in the ledger."""
    yield from pages_of_trial(ref.run, view.results(ref.run).summary, read_files(view, ref))


def pages_of_trial(run: RunRef, summary: Summary, files: TrialFiles) -> Iterator[Page]:
    """The page of one trial, those of a change too large for it, of its trajectories and texts."""
    trial = files.trial
    change = Change.read(files.patch or b"")
    evidence = Evidence(change, run, trial.path)
    trajectories = TrajectoryPages(run, trial, files.trajectories)
    title = _title(trial)
    context = {
        **_who(run, summary, trial),
        **_judged(files, evidence),
        "facts": plain(facts_said(trial, files.facts)) if files.facts else [],
        "series": _series(files, trajectories),
        "change": plain(trial.change) if trial.change else None,
        "trajectories": trajectories.strips(),
        **shown_texts(run, files),
        **conditions(trial),
        "artifacts": [
            {"path": path, "sha256": digest}
            for path, digest in list(trial.artifacts.items())[:_ARTIFACTS]
        ],
        "artifacts_total": len(trial.artifacts),
        "redactions": [f"{kind} ({count})" for kind, count in trial.redactions.items()],
        "plan": {"commit": trial.plan_commit, "sha256": trial.plan_sha256},
        "commands": _commands(trial),
        "patch_command": _show(trial, PATCH),
    }
    # What stands beside lines is known by now.
    context["diff"] = change.figure(0, evidence.remarks)
    context["sheets"] = _sheets(run, trial, change)
    path = trial_page(run, trial.path)
    yield Page(path=path, template="trial.html", title=title, context=context)
    yield from _change_pages(run, trial, change, evidence.remarks)
    yield from trajectories.pages()
    yield from text_pages(run, files)


def _change_pages(
    run: RunRef, trial: Trial, change: Change, remarks: Sequence[Remark]
) -> Iterator[Page]:
    """What of a change is not on the page of its trial."""
    home = trial_page(run, trial.path)
    for number in range(1, len(change.sheets)):
        path = change_page(run, trial.path, number + 1)
        context = {
            "suite": {"name": trial.suite, "page": suite_page(trial.suite)},
            "run": {"name": trial.run, "page": run_page(run)},
            "trial": {"name": _title(trial), "page": home},
            "number": number + 1,
            "diff": change.figure(number, remarks, relative(path, home)),
            "sheets": _sheets(run, trial, change),
            "patch_command": _show(trial, PATCH),
        }
        title = f"Change, page {number + 1}: {_title(trial)}"
        yield Page(path=path, template="change.html", title=title, context=context)


def _sheets(run: RunRef, trial: Trial, change: Change) -> list[list[str]]:
    """The pages of the change where it has several: label and path."""
    if len(change.sheets) < 2:  # noqa: PLR2004 - one page needs no list
        return []
    return [
        ["With the trial", trial_page(run, trial.path)],
        *(
            [f"Page {number}", change_page(run, trial.path, number)]
            for number in range(2, len(change.sheets) + 1)
        ),
    ]


def _title(trial: Trial) -> str:
    title = f"{trial.task} · {trial.configuration} · r{trial.repetition}"
    return f"{title}, rerun {trial.rerun}" if trial.rerun else title


def _who(run: RunRef, summary: Summary, trial: Trial) -> dict[str, Any]:
    """Which trial it is, and which others there are."""
    neighbours = _neighbours(run, summary, trial)
    planned = next((r for r in summary.configurations if r.name == trial.configuration), None)
    return {
        "suite": {"name": trial.suite, "page": suite_page(trial.suite)},
        "run": {"name": trial.run, "page": run_page(run)},
        "task": trial.task,
        "task_page": task_page(trial.suite, trial.task),
        "configuration": trial.configuration,
        "configuration_page": configuration_page(trial.suite, trial.configuration),
        "repetition": trial.repetition,
        "rerun": trial.rerun,
        "nature": planned.nature if planned else "",
        "description": planned.description if planned else "",
        "status": trial.status,
        "outcome": outcome_figure(trial.outcome),
        "reason": trial.reason,
        "graded_anyway": trial.graded_anyway,
        "chain": _chain(run, trial, summary.cells.get(trial.slot)),
        "neighbours": neighbours,
        "steps": _steps(neighbours),
    }


def _judged(files: TrialFiles, evidence: Evidence) -> dict[str, Any]:
    """What graders, tools and people said of it."""
    standing = files.standing
    said = reviews_said(standing.reviewed) if standing is not None else None
    return {
        "corrections": trial_corrections(standing or standing_of(files.trial), files.regrades),
        "opinions": _opinions(standing),
        "grades": [evidence.grade(grade) for grade in files.grades],
        "sightings": sightings_of(evidence, files.trial.sightings),
        "reviews": evidence.reviews(said),
    }


def _series(files: TrialFiles, trajectories: TrajectoryPages) -> dict[str, Any] | None:
    """What is said of several sessions, each with the way to what its agent did."""
    figure = series_figure(files.series, files.session_patches)
    for session in figure["sessions"] if figure is not None else ():
        session["trajectory"] = trajectories.of_session(session["number"])
    return figure


def _opinions(standing: Standing | None) -> list[dict[str, str]]:
    """Whether tests pass and whether somebody would merge; empty where nobody judged."""
    if standing is None or not (standing.judged or standing.reviewed):
        return []
    return opinions_figure(opinions_of(standing))


def _chain(run: RunRef, trial: Trial, cell: Cell | None) -> list[dict[str, Any]]:
    """All trials of the slot where it has more than one, this one marked."""
    trials = cell.trials if cell else ()
    if len(trials) < 2:  # noqa: PLR2004 - a chain of one needs no list
        return []
    return [
        {
            **trial_link(run, other),
            "here": other.path == trial.path,
            "because": _because(other),
        }
        for other in trials
    ]


def _because(trial: Trial) -> str:
    """Why a trial was run: for what it replaced, and the incident that allowed it."""
    reason = words(trial.rerun_reason or "")
    return f"{reason}, incident {trial.incident}" if trial.incident else reason


def _neighbours(run: RunRef, summary: Summary, trial: Trial) -> list[dict[str, Any]]:
    """The same task under every configuration and repetition, to go from one to the other."""
    rows = []
    for configuration in summary.configurations:
        keys = [
            SlotKey(trial.task, configuration.name, number)
            for number in range(1, summary.repetitions + 1)
        ]
        cells = [
            {**cell_figure(run, summary.cells[key]), "here": key == trial.slot}
            for key in keys
            if key in summary.cells
        ]
        rows.append({"configuration": configuration.name, "cells": cells})
    return rows


def _steps(neighbours: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The trial of the same task before this one, and the one after it."""
    cells = [
        {"label": f"{row['configuration']} r{cell['repetition']}", **cell}
        for row in neighbours
        for cell in row["cells"]
    ]
    here = next((index for index, cell in enumerate(cells) if cell["here"]), 0)
    before = [cell for cell in cells[:here] if cell["page"]]
    after = [cell for cell in cells[here + 1 :] if cell["page"]]
    return {"previous": before[-1] if before else None, "next": after[0] if after else None}


def _show(trial: Trial, name: str) -> str:
    path = f"runs/{trial.suite}/{trial.run}/{trial.path}/{name}"
    return f"git show HEAD:./{shlex.quote(path)}"


def _commands(trial: Trial) -> list[str]:
    folder = f"runs/{trial.suite}/{trial.run}/{trial.path}"
    return [
        f"git log --stat -- {shlex.quote(folder)}",
        _show(trial, "trial.json"),
        *([_show(trial, PATCH)] if trial.change is not None else []),
        *(_show(trial, f"grades/{grade.grader}.json") for grade in trial.grades),
        f"git ls-tree -r --name-only HEAD {shlex.quote(f'{folder}/')}",
        f"trialbook show {shlex.quote(f'{trial.run}/{trial.path}')}",
    ]
