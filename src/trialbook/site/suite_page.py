"""The page of a suite: its decision and what is answered of it, its parts, runs and history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trialbook.api import Page
from trialbook.model.lock import Lock
from trialbook.model.suite import Configuration
from trialbook.reporting.brief import RunBrief
from trialbook.reporting.conclusion import Conclusion, conclusion_of
from trialbook.reporting.protocols import protocol_changes
from trialbook.reporting.wording import number_of
from trialbook.site.addresses import (
    GATES,
    configuration_page,
    run_page,
    suite_page,
    suite_runs_page,
)
from trialbook.site.comparison_page import across_links
from trialbook.site.figures import counts_figure, run_figure, when
from trialbook.site.gate_figure import gate_row
from trialbook.site.history_plot import history_plot
from trialbook.site.ledger_view import LedgerView
from trialbook.site.paging import paged
from trialbook.site.suite_next import next_steps
from trialbook.site.suite_tasks_figure import task_table

_RUNS = 30
_GATES = 5
_DETAILS = 12


def suite_pages(view: LedgerView, suite: str) -> Iterator[Page]:
    """The page of a suite, and where it has more runs than that bears, the list of all of them."""
    runs = view.runs_of(suite)
    known = [(view.brief(run), conclusion_of(view.reader, run)) for run in runs]
    found = [entry for entry in view.gates if entry.gate.suite == suite]
    authored = view.authored(suite)
    locks = [stored.lock for stored in view.locks(suite)]
    newest = known[-1][0] if known else None
    protocol = authored.protocol if authored else newest.protocol if newest else None
    context = {
        "suite": suite,
        "decision": authored.decision if authored else newest.decision if newest else "",
        "description": authored.description if authored else "",
        "protocol": protocol,
        "locked": any(lock.protocol == protocol for lock in locks),
        "there": authored is not None or bool(view.faults(suite)),
        "answered": _answered(known),
        "history": history_plot([brief for brief, _ in known]),
        "next": next_steps(view, suite, known, found),
        "tasks": task_table(view, suite, locks),
        "configurations": _configurations(view, suite, known),
        "runs": [run_figure(brief) for brief in reversed(view.briefs(suite)[-_RUNS:])],
        "across": across_links(view, suite),
        "more": suite_runs_page(suite) if len(runs) > _RUNS else "",
        "counts": [
            ["Tasks", len(view.tasks(suite))],
            ["Configurations", len(view.configurations(suite))],
            ["Runs", len(runs)],
            ["Trials", sum(brief.total.trials for brief, _ in known)],
            ["Gates", len(found)],
        ],
        "apart": _apart(known[-_RUNS:]),
        "openings": _openings(known),
        "gates": [gate_row(entry) for entry in reversed(found[-_GATES:])],
        "gates_page": GATES,
        "protocols": _protocols(locks),
        "command": f"trialbook eval {suite}",
        "commands": [
            f"git log --oneline -- suites/{suite}",
            f"trialbook suite check {suite}",
            f"trialbook eval {suite}",
        ],
    }
    yield Page(path=suite_page(suite), template="suite.html", title=suite, context=context)
    if len(runs) > _RUNS:
        for part in paged(view.briefs(suite)[::-1], suite_runs_page(suite), "run"):
            rows = [run_figure(brief) for brief in part.rows]
            yield Page(
                path=part.path,
                template="suite_runs.html",
                title=f"Runs of {suite}, page {part.number}",
                context={"suite": suite, "page_of": suite_page(suite), "runs": rows, "paged": part},
            )


Known = tuple[RunBrief, Conclusion]
"""A run in short, and what it came to."""


def _apart(known: Sequence[Known]) -> bool:
    """Whether some of these runs do not compare with the others."""
    kinds = {(brief.protocol, brief.tasks, concluded.lock) for brief, concluded in known}
    return len(known) > 1 and (len(kinds) > 1 or any(brief.draft for brief, _ in known))


def _answered(known: Sequence[Known]) -> dict[str, Any] | None:
    """What the newest run says to the decision, of those of the whole suite if there are some."""
    able = [one for one in known if one[1].answer and not one[1].gate]
    whole = [one for one in able if not one[0].partial and not one[0].draft]
    found = (whole or able)[-1:]
    if not found:
        return None
    brief, concluded = found[0]
    return {
        "said": concluded.sentence,
        "verdict": concluded.verdict,
        "needed": concluded.needed,
        "run": brief.run,
        "page": run_page(brief.ref),
        "created": when(brief.created),
        "protocol": brief.protocol,
        "draft": brief.draft,
        "part": brief.part,
        "closed": brief.closed,
    }


def _configurations(view: LedgerView, suite: str, known: Sequence[Known]) -> list[dict[str, Any]]:
    authored = view.authored(suite)
    described = {one.name: one for one in authored.configurations} if authored else {}
    return [
        _configuration(suite, name, described.get(name), known)
        for _, name in view.configurations(suite)
    ]


def _configuration(
    suite: str, name: str, mine: Configuration | None, known: Sequence[Known]
) -> dict[str, Any]:
    """One as its newest run had it; as it is on disk, if none had it."""
    had = [(brief, part) for brief, one in known for part in one.parts if part.name == name]
    figure: dict[str, Any] = {
        "name": name,
        "page": configuration_page(suite, name),
        "description": mine.description if mine else "",
        "label": "",
        "agent": mine.agent if mine else "",
        "version": (mine.version or "") if mine else "",
        "model": (mine.model or "") if mine else "",
        "instructions": (mine.instructions or "") if mine else "",
        "runs": len(had),
        "contents": len({part.digest for _, part in had}),
        "last": None,
    }
    if had:
        brief, part = had[-1]
        row = next(row for row in brief.configurations if row.name == name)
        figure |= {
            "label": row.label,
            "agent": part.agent,
            "version": part.version,
            "model": part.model,
            "instructions": part.instructions,
            "last": {
                "page": run_page(brief.ref),
                "created": when(brief.created),
                "counts": counts_figure(row.counts),
            },
        }
    return figure


def _openings(known: Sequence[Known]) -> list[dict[str, Any]]:
    """The runs that had held-out tasks, newest first."""
    return [
        {
            "number": concluded.opened,
            "run": brief.run,
            "page": run_page(brief.ref),
            "created": when(brief.created),
            "protocol": brief.protocol,
            "kind": concluded.kind,
            "tasks": number_of(len(concluded.held_out), "task"),
            "names": ", ".join(concluded.held_out),
        }
        for brief, concluded in reversed(known)
        if concluded.held_out
    ]


def _protocols(locks: Sequence[Lock]) -> list[dict[str, Any]]:
    """Every locked version, newest first, with what is not as in the one before."""
    found = []
    for index, lock in enumerate(locks):
        before = locks[index - 1] if index else None
        changes = protocol_changes(before, lock) if before else []
        found.append(
            {
                "protocol": lock.protocol,
                "before": before.protocol if before else None,
                "created": when(lock.created),
                "by": lock.locked_by or "not recorded",
                "digest": lock.digest,
                "size": ", ".join(
                    (
                        number_of(len(lock.tasks), "task"),
                        number_of(len(lock.configurations), "configuration"),
                        number_of(len(lock.files), "frozen file"),
                    )
                ),
                "program": f"trialbook {lock.runner.trialbook}",
                "changes": [
                    {
                        "kind": one.kind,
                        "name": one.name,
                        "how": one.how,
                        "details": list(one.details[:_DETAILS]),
                        "hidden": max(0, len(one.details) - _DETAILS),
                    }
                    for one in changes
                ],
                "file": f"suites/{lock.suite}/locks/{lock.protocol}.json",
            }
        )
    return found[::-1]
