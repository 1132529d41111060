"""The page of a trial: what was asked, what was changed, how it was judged, all the evidence."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trialbook.api import Page
from trialbook.formats.diff import FileDiff, parse_diff
from trialbook.formats.records import plain
from trialbook.formats.visible import decode
from trialbook.model.evidence import KINDS, LEAKS, Sighting
from trialbook.model.grade import Check, Finding, Grade
from trialbook.model.plan import SlotKey
from trialbook.model.regrade import Regrade
from trialbook.model.runfiles import AMENDMENTS, RECONCILIATIONS, REGRADES, REVIEWS
from trialbook.model.standing import Standing, standing_of
from trialbook.model.trial import CutFile, EgressRecord, Trial
from trialbook.reporting.attempts import attempts_said, cost_said
from trialbook.reporting.facts_said import facts_said
from trialbook.reporting.opinions import opinions_of
from trialbook.reporting.reviews_said import reviews_said
from trialbook.reporting.series import SeriesView
from trialbook.reporting.summary import Cell, Summary
from trialbook.reporting.trial_facts import TrialFacts
from trialbook.reporting.wording import duration, network_said, size, words
from trialbook.site.addresses import run_page, suite_page, trial_page
from trialbook.site.corrections_figure import trial_corrections
from trialbook.site.diff_figure import diff_figure, readable
from trialbook.site.figures import cell_figure, outcome_figure, trial_link, when
from trialbook.site.judgement_figure import judgement_figure, opinions_figure
from trialbook.site.series_figure import series_figure
from trialbook.site.text import excerpt
from trialbook.storage.large import FULL_FOLDER
from trialbook.storage.reader import RunRef

_LOG_HEAD = 48_000
_LOG_TAIL = 16_000
_TEXTS = 40
_FINDINGS = 20
_ARTIFACTS = 500
_ATTEMPT = re.compile(r"sessions/(\d+)/attempt-(\d+)/(.+)")
_PROMPT = "prompt.md"
_NO_TEXTS = tuple(
    f"{folder}/"
    for folder in ("grades", REGRADES, AMENDMENTS, REVIEWS, RECONCILIATIONS, FULL_FOLDER)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFiles:
    """A trial as it counts, the files of its folder that the page shows, and its grades.

    ``standing`` knows what was recorded, None for nothing else than counts; ``regrades`` are the
    run's later generations of grades; ``facts`` are hints about how the agent worked. ``series`` is
    what is said of several sessions, ``session_patches`` what each of them changed.
    """

    trial: Trial
    grades: Sequence[Grade]
    patch: bytes | None
    texts: Mapping[str, bytes]
    standing: Standing | None = None
    regrades: Sequence[Regrade] = ()
    facts: TrialFacts | None = None
    series: SeriesView | None = None
    session_patches: Mapping[int, bytes] = field(default_factory=dict)


def shown_as_text(path: str) -> bool:
    """Whether a file of a trial's folder is text that its page shows."""
    # A grade's name may end in anything; what is added later is no output of the agent.
    return path.endswith((".txt", ".md", ".log")) and not path.startswith(_NO_TEXTS)


def page_of_trial(run: RunRef, summary: Summary, files: TrialFiles) -> Page:
    """The page of one trial."""
    trial = files.trial
    patch = files.patch or b""
    read = readable(patch)
    diff = parse_diff(read)
    cell = summary.cells.get(trial.slot)
    context = {
        "suite": {"name": trial.suite, "page": suite_page(trial.suite)},
        "run": {"name": trial.run, "page": run_page(run)},
        "task": trial.task,
        "configuration": trial.configuration,
        "repetition": trial.repetition,
        "rerun": trial.rerun,
        "nature": _nature(summary, trial.configuration),
        "status": trial.status,
        "outcome": outcome_figure(trial.outcome),
        "reason": trial.reason,
        "graded_anyway": trial.graded_anyway,
        "corrections": trial_corrections(files.standing or standing_of(trial), files.regrades),
        "chain": _chain(run, trial, cell),
        "neighbours": _neighbours(run, summary, trial),
        "reviews": _reviews(files.standing),
        "opinions": _opinions(files.standing),
        "grades": [_grade(grade, diff) for grade in files.grades],
        "sightings": [_sighting(one, diff) for one in trial.sightings or ()],
        "facts": plain(facts_said(trial, files.facts)) if files.facts else [],
        "series": series_figure(files.series, files.session_patches),
        "change": plain(trial.change) if trial.change else None,
        "diff": diff_figure(diff, len(patch) - len(read)),
        **_shown_texts(files),
        "agent": plain(trial.agent) if trial.agent else None,
        "isolation": plain(trial.isolation) if trial.isolation else None,
        "network": network_said(trial.isolation) if trial.isolation else "",
        "network_loose": trial.isolation.network_loose if trial.isolation else False,
        "egress": _egress(trial.egress) if trial.egress else None,
        "toolchain": trial.toolchain.words if trial.toolchain else "",
        "workspace": plain(trial.workspace) if trial.workspace else None,
        "usage": _usage(trial),
        "attempts": [_attempt(plain(attempt)) for attempt in trial.attempts],
        "workflow": _workflow(trial),
        "started": when(trial.started),
        "stages": [
            {"name": words(stage.name), "took": duration(stage.seconds)} for stage in trial.stages
        ],
        "artifacts": [
            {"path": path, "sha256": digest}
            for path, digest in list(trial.artifacts.items())[:_ARTIFACTS]
        ],
        "artifacts_total": len(trial.artifacts),
        "redactions": [f"{kind} ({count})" for kind, count in trial.redactions.items()],
        "plan": {"commit": trial.plan_commit, "sha256": trial.plan_sha256},
        "commands": _commands(trial),
    }
    title = f"{trial.task} · {trial.configuration} · r{trial.repetition}"
    if trial.rerun:
        title += f", rerun {trial.rerun}"
    path = trial_page(run, trial.path)
    return Page(path=path, template="trial.html", title=title, context=context)


def _shown_texts(files: TrialFiles) -> dict[str, Any]:
    """Prompts and logs, as many as a page holds."""
    prompts, logs = _texts(files, prompts=True), _texts(files, prompts=False)
    hidden = max(0, len(logs) - _TEXTS)
    return {"prompts": prompts[:_TEXTS], "logs": logs[:_TEXTS], "logs_hidden": hidden}


def _opinions(standing: Standing | None) -> list[dict[str, str]]:
    """Whether tests pass and whether somebody would merge; empty where nobody judged."""
    if standing is None or not (standing.judged or standing.reviewed):
        return []
    return opinions_figure(opinions_of(standing))


def _reviews(standing: Standing | None) -> dict[str, Any] | None:
    """What people who reviewed it said; None if nobody is asked."""
    said = reviews_said(standing.reviewed) if standing is not None else None
    return None if said is None else plain(said)


def _nature(summary: Summary, configuration: str) -> str:
    return next((r.nature for r in summary.configurations if r.name == configuration), "")


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


def _grade(grade: Grade, diff: Sequence[FileDiff]) -> dict[str, Any]:
    return {
        "grader": grade.grader,
        "version": grade.version,
        "status": grade.status.value,
        "accepted": grade.accepted,
        "passed": grade.passed,
        "total": grade.total,
        "message": grade.message,
        "judgement": judgement_figure(grade.judgement),
        "checks": [_check(check, diff) for check in grade.checks],
        "log": plain(excerpt(grade.log.encode("utf-8", "surrogatepass"), head=8000, tail=8000))
        if grade.log
        else None,
    }


def _check(check: Check, diff: Sequence[FileDiff]) -> dict[str, Any]:
    return {
        "id": check.id,
        "question": check.question,
        "severity": check.severity.value,
        "answer": {True: "yes", False: "no", None: "unknown"}[check.passed],
        "message": check.message,
        "evidence": [
            {**plain(finding), "anchor": _anchor(finding, diff)}
            for finding in check.evidence[:_FINDINGS]
        ],
        "more": max(0, len(check.evidence) - _FINDINGS),
    }


def _sighting(one: Sighting, diff: Sequence[FileDiff]) -> dict[str, Any]:
    meaning = KINDS[one.kind][1] if one.kind in KINDS else LEAKS.get(one.kind, "")
    return {
        **plain(one),
        "place": one.place,
        "title": words(one.kind),
        "meaning": meaning,
        "anchor": _anchor(Finding(text="", file=one.path, line=one.line), diff),
    }


def _anchor(finding: Finding, diff: Sequence[FileDiff]) -> str:
    """Where the page's diff shows what a finding speaks of, or nothing."""
    for number, file in enumerate(diff, start=1):
        if file.path == finding.file:
            line = finding.line
            return f"f{number}n{line}" if line and file.shows(line) else f"f{number}"
    return ""


def _texts(files: TrialFiles, *, prompts: bool) -> list[dict[str, Any]]:
    """The text files of one kind, by session and attempt as their paths say."""
    found = []
    cut = {file.path: _cut(files.trial, file) for file in files.trial.cut}
    for path, data in files.texts.items():
        if path.endswith(f"/{_PROMPT}") is not prompts:
            continue
        place = _ATTEMPT.fullmatch(path)
        found.append(
            {
                "path": path,
                "name": place[3] if place else path,
                "session": int(place[1]) if place else None,
                "attempt": int(place[2]) if place else None,
                "size": size(len(data)),
                "cut": cut.get(path),
                "text": plain(excerpt(data, head=_LOG_HEAD, tail=_LOG_TAIL)),
                "empty": not decode(data[:4096]).strip() and len(data) <= 4096,  # noqa: PLR2004
            }
        )
    # What there is to read comes first, and of it what the agent said.
    return sorted(found, key=lambda text: (text["empty"], not text["name"].endswith("stdout.txt")))


def _cut(trial: Trial, file: CutFile) -> dict[str, str]:
    """What a page says of a log that was cut: how much there was, and how to get at it."""
    whole = f"runs/{trial.suite}/{trial.run}/{trial.path}/{file.full}"
    command = f"git show HEAD:./{shlex.quote(whole)} | git lfs smudge"
    return {
        "size": size(file.bytes),
        "sha256": file.sha256,
        "full": file.full or "",
        "command": command if file.full else "",
    }


def _egress(egress: EgressRecord) -> dict[str, Any]:
    """What was seen of the network."""
    return {
        **plain(egress),
        "sent": size(egress.sent),
        "received": size(egress.received),
    }


def _usage(trial: Trial) -> list[dict[str, str]]:
    """What was used as far as it is known, and what is not."""
    usage = plain(trial.usage)
    del usage["basis"], usage["cost_usd"]
    known = {words(name): f"{value:,}" for name, value in usage.items() if value is not None}
    unknown = [words(name) for name, value in usage.items() if value is None]
    cost = cost_said(trial)
    if cost == "unknown":
        unknown.append("cost")
    else:
        known["cost"] = cost
    if unknown:
        known["not known"] = ", ".join(unknown)
    return [{"name": name, "value": value} for name, value in known.items()]


def _workflow(trial: Trial) -> list[dict[str, Any]]:
    """What each attempt ran, came to and cost, where a trial may have two."""
    return [
        {"title": title, "rows": [[name.capitalize(), value] for name, value in rows]}
        for title, rows in attempts_said(trial)
    ]


def _attempt(attempt: dict[str, Any]) -> dict[str, Any]:
    process = attempt["process"]
    if process is not None:
        attempt["took"] = duration(process["seconds"])
        attempt["ended"] = words(process["ended"])
        memory = process["max_rss_bytes"]
        attempt["memory"] = "unknown" if memory is None else size(memory)
    attempt["said"] = list(_said(attempt)) if attempt["end"] is not None else []
    return attempt


def _said(attempt: dict[str, Any]) -> Iterator[dict[str, str]]:
    """What the adapter gave, and what the agent claims; the grades say what is true."""
    yield {"name": "Ended", "value": f"{words(attempt['end'])}: {attempt['message']}"}
    if attempt["trouble"] is not None:
        yield {"name": "The model did not answer", "value": words(attempt["trouble"])}
    for denial in attempt["denied"]:
        yield {"name": "Not permitted", "value": f"{denial['tool']} {denial['detail']}"}
    for claim in attempt["claims"]:
        yield {"name": f"Says: {words(claim['kind'])}", "value": claim["text"]}
    if attempt["session_id"] is not None:
        yield {"name": "Its session", "value": attempt["session_id"]}


def _commands(trial: Trial) -> list[str]:
    run = f"runs/{trial.suite}/{trial.run}"
    folder = shlex.quote(f"{run}/{trial.path}")
    commands = [
        f"git log --stat -- {folder}",
        f"git show HEAD:./{folder}/trial.json",
        f"trialbook show {shlex.quote(f'{trial.run}/{trial.path}')}",
    ]
    if trial.change is not None:
        commands.insert(2, f"git show HEAD:./{folder}/change.patch")
    return commands
