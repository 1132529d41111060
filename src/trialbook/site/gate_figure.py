"""One gate as a row of a list."""

from __future__ import annotations

from typing import Any

from trialbook.reporting.gates import OPEN, GateEntry, GateSide
from trialbook.reporting.gates_said import alarm_said, minutes_said, spend_said
from trialbook.site.addresses import configuration_page, run_page
from trialbook.site.figures import when
from trialbook.storage.reader import RunRef

TONES = {"pass": "accepted", "fail": "failed", "inconclusive": "pending", OPEN: "absent"}
LETTERS = {"pass": "P", "fail": "F", "inconclusive": "I", OPEN: "·"}
_COMMIT = 12


def gate_row(entry: GateEntry) -> dict[str, Any]:
    """A gate: what it said, of which sides, what it took, and if it was right."""
    gate = entry.gate
    return {
        "anchor": gate.run.replace("/", "-"),
        "run": gate.run.partition("/")[2],
        "suite": gate.suite,
        "protocol": gate.protocol,
        "created": when(gate.created),
        "page": _page(gate.run),
        "runs": [{"run": path.partition("/")[2], "page": _page(path)} for path in gate.runs],
        "older": {"run": gate.baseline_from, "page": _page(gate.baseline_from)}
        if gate.baseline_from
        else None,
        "verdict": gate.verdict,
        "tone": TONES.get(gate.verdict, "errored"),
        "letter": LETTERS.get(gate.verdict, "!"),
        "reason": gate.reason,
        "advice": gate.advice,
        "stage": gate.stage,
        "repetitions": gate.repetitions,
        "baseline": side_figure(gate.suite, gate.baseline),
        "candidate": side_figure(gate.suite, gate.candidate),
        "equal": gate.equal,
        "difference": gate.difference,
        "p": gate.p,
        "minutes": minutes_said(entry),
        "sort_minutes": "" if gate.minutes is None else gate.minutes,
        "trials": gate.trials,
        "spend": spend_said(gate.spend),
        "alarm": alarm_said(entry),
        "alarms": [
            {
                "kind": alarm.kind.value,
                "meaning": alarm.kind.meaning,
                "created": when(alarm.created),
                "author": alarm.author,
                "because": alarm.because,
            }
            for alarm in entry.alarms
        ],
    }


def side_figure(suite: str, side: GateSide) -> dict[str, str]:
    """One side of a gate, with the page of its configuration."""
    revision = ""
    if side.revision:
        revision = f"{side.revision} {side.commit[:_COMMIT]}" if side.commit else "work tree"
    return {
        "name": side.name,
        "page": configuration_page(suite, side.name) if side.digest else "",
        "revision": revision,
        "accepted": side.accepted,
    }


def _page(path: str) -> str:
    suite, _, run = path.partition("/")
    return run_page(RunRef(suite, run))
