"""The first page: suites and their answers, decisions, what moved, newest runs, what waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from trialbook.api import Page
from trialbook.reporting.conclusion import conclusion_of
from trialbook.reporting.gates import GateEntry
from trialbook.reporting.since import Since, last_two, moved_said, since, tally_said
from trialbook.reporting.wording import listed, number_of, words
from trialbook.site.addresses import OVERVIEW, run_page, suite_page, task_page
from trialbook.site.figures import run_figure, when
from trialbook.site.ledger_health import Known, health
from trialbook.site.ledger_view import LedgerView
from trialbook.storage.reader import RunRef

_NEWEST = 12
_DECISIONS = 8
_LOOK_BACK = 30
_MOVED = 12

_VERDICTS = {
    "better": "good",
    "equivalent": "good",
    "no_regression": "good",
    "pass": "good",
    "worse": "bad",
    "fail": "bad",
}


def overview_page(view: LedgerView) -> Page:
    """The first page of the site."""
    known = [Known(view.brief(run), conclusion_of(view.reader, run)) for run in view.runs]
    found = view.gates
    suites = [_suite(view, name, _of(known, name)) for name in view.suites]
    briefs = [one.brief for one in known]
    context = {
        "tiles": [
            ["suites", len(suites)],
            ["runs", len(known)],
            ["trials", f"{sum(brief.total.trials for brief in briefs):,}"],
            ["gates", len(found)],
        ],
        "suites": [suite for suite in suites if suite["latest"]],
        "unrun": [suite for suite in suites if not suite["latest"]],
        "decisions": list(islice(_decisions(known, found), _DECISIONS)),
        "since": [one for name in view.suites for one in _since(view, name)],
        "runs": [run_figure(brief) for brief in reversed(briefs[-_NEWEST:])],
        "older": max(0, len(known) - _NEWEST),
        "health": health(view, known),
        "head": view.reader.head,
    }
    return Page(path=OVERVIEW, template="index.html", title="Results", context=context)


def _of(known: Sequence[Known], suite: str) -> list[Known]:
    return [one for one in known if one.brief.suite == suite]


def _suite(view: LedgerView, name: str, known: Sequence[Known]) -> dict[str, Any]:
    # What stands for the suite is a run of all of it, as long as there is one.
    latest = ([one for one in known if not one.brief.partial] or known)[-1:]
    authored = view.authored(name)
    decision = known[-1].brief.decision if known else authored.decision if authored else ""
    return {
        "name": name,
        "page": suite_page(name),
        "decision": decision,
        "runs": len(known),
        "latest": run_figure(latest[0].brief) if latest else None,
        "latest_of_all": list(latest) == list(known[-1:]),
        "answer": _answer(latest[0]) if latest else None,
        "command": f"trialbook eval {name}",
    }


def _answer(one: Known) -> dict[str, str]:
    """What a run says to its suite's decision, in words; without a comparison, its counts."""
    found = one.conclusion
    if found.answer:
        return {"said": _sentence(found.answer), **_verdict(found.verdict)}
    total = one.brief.total.all_scheduled
    rest = f"{total.accepted} of {number_of(total.slots, 'scheduled slot')} accepted"
    return {"said": f"{rest}; no comparison was declared.", **_verdict("")}


def _verdict(verdict: str) -> dict[str, str]:
    return {"verdict": words(verdict), "tone": _VERDICTS.get(verdict, "open")}


def _sentence(text: str) -> str:
    """As a sentence of its own; what the mark beside it says is not said twice.

    Names of configurations at its beginning stay as they are.
    """
    told = text.removeprefix("inconclusive: ").removeprefix("not ready: ")
    if told == text and not text.startswith("no comparison"):
        return text
    return told[:1].upper() + told[1:]


def _decisions(known: Sequence[Known], found: Sequence[GateEntry]) -> Iterator[dict[str, Any]]:
    """Comparisons and gates, newest first; a run of a gate is told as the gate."""
    told = [_comparison(one) for one in known if one.conclusion.verdict and not _gated(one)]
    told += [_gate(entry) for entry in found]
    yield from sorted(told, key=lambda one: (str(one["when"]), str(one["run"])), reverse=True)


def _gated(one: Known) -> bool:
    return one.conclusion.gate


def _comparison(one: Known) -> dict[str, Any]:
    brief = one.brief
    return {
        "kind": "comparison",
        "suite": brief.suite,
        "protocol": brief.protocol,
        "suite_page": suite_page(brief.suite),
        "run": brief.run,
        "page": run_page(brief.ref),
        "when": when(brief.last or brief.created),
        "said": _sentence(one.conclusion.answer),
        "decision": brief.decision,
        **_verdict(one.conclusion.verdict),
    }


def _gate(entry: GateEntry) -> dict[str, Any]:
    gate = entry.gate
    suite, _, run = gate.run.partition("/")
    return {
        "kind": "gate",
        "suite": suite,
        "protocol": gate.protocol,
        "suite_page": suite_page(suite),
        "run": run,
        "page": run_page(RunRef(suite, run)),
        "when": when(gate.finished or gate.created),
        "said": f"{gate.candidate.name} against {gate.baseline.name}: {gate.reason}",
        "decision": "",
        **_verdict(gate.verdict),
    }


def _since(view: LedgerView, suite: str) -> Iterator[dict[str, Any]]:
    """What moved between the last two runs of a suite that compare, if there are two."""
    pair = last_two(view.reader, view.runs_of(suite), _LOOK_BACK)
    if pair is None:
        return
    before, after = pair
    found = since(view.reader, before, after, {run: view.rows(run) for run in pair})
    was, now = (conclusion_of(view.reader, run).verdict for run in pair)
    yield {
        "suite": suite,
        "page": suite_page(suite),
        "before": _run_link(view, before),
        "after": _run_link(view, after),
        "said": moved_said(found),
        "verdict": _verdicts_said(was, now),
        "changed": _changed_said(found),
        "moved": [
            {
                "task": one.task,
                "page": task_page(suite, one.task),
                "configuration": one.configuration,
                "said": tally_said(one),
                "up": one.up,
            }
            for one in found.moved[:_MOVED]
        ],
        "more": max(0, len(found.moved) - _MOVED),
    }


def _verdicts_said(was: str, now: str) -> str:
    if not was and not now:
        return ""
    if was == now:
        return f"The verdict stays {words(now)}."
    return f"The verdict was {words(was) or 'none'} and is {words(now) or 'none'}."


def _changed_said(found: Since) -> str:
    if not found.changed:
        return "No configuration changed in between."
    return f"Changed in between: {listed(found.changed)}."


def _run_link(view: LedgerView, run: RunRef) -> dict[str, str]:
    return {"run": run.run, "page": run_page(run), "when": when(view.brief(run).created)}
