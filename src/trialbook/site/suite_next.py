"""What has to be answered next about a suite, for its page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trialbook.model.suite import Split
from trialbook.reporting.brief import RunBrief
from trialbook.reporting.conclusion import Conclusion
from trialbook.reporting.gates import GateEntry
from trialbook.reporting.wording import listed, number_of
from trialbook.site.addresses import run_page
from trialbook.site.ledger_view import LedgerView
from trialbook.storage.reader import RunRef

_MOST = 8
_NAMED = 5


class Step(NamedTuple):
    """A sentence, the command that does it, and the page that it is about with the link's words.

    What there is none of is empty.
    """

    said: str
    command: str = ""
    page: str = ""
    label: str = ""


def next_steps(
    view: LedgerView,
    suite: str,
    known: Sequence[tuple[RunBrief, Conclusion]],
    gates: Sequence[GateEntry],
) -> dict[str, object]:
    """Steps, each a sentence with the page that it is about; and how many more there are."""
    steps = [
        step._asdict()
        for step in (*_of_files(view, suite, known), *_of_runs(known), *_of_gates(gates))
    ]
    return {"steps": steps[:_MOST], "more": max(0, len(steps) - _MOST)}


def _of_files(
    view: LedgerView, suite: str, known: Sequence[tuple[RunBrief, Conclusion]]
) -> Iterator[Step]:
    """What the files of the suite ask for: mistakes, a lock, a first run."""
    if faults := view.faults(suite):
        said = f"{number_of(len(faults), 'mistake')} in its files"
        yield Step(said, command=f"trialbook suite check {suite}")
    authored = view.authored(suite)
    if authored is None:
        return
    protocol = authored.protocol
    if all(stored.lock.protocol != protocol for stored in view.locks(suite)):
        said = f"Protocol version {protocol} is not locked, so every run of it is a draft"
        yield Step(said, command=f"trialbook suite lock {suite}")
    here = [one for one in known if one[0].protocol == protocol and not one[0].draft]
    if not here:
        said = f"No run of protocol version {protocol} that is no draft"
        yield Step(said, command=f"trialbook eval {suite}")
        return
    ran = {task for brief, _ in here for task in brief.tasks}
    held = [one.name for one in authored.tasks if one.split is Split.HELD_OUT]
    if missing := [name for name in held if name not in ran]:
        yield Step(
            f"Held out until a decision: {_some(missing)}",
            command=f"trialbook eval {suite} --decision",
        )
    left = [one.name for one in authored.tasks if one.name not in ran and one.name not in held]
    if left:
        yield Step(f"Never run under protocol version {protocol}: {_some(left)}")


def _of_runs(known: Sequence[tuple[RunBrief, Conclusion]]) -> Iterator[Step]:
    """What runs wait for, newest first; and what would decide the newest whole one."""
    whole = [one for one in known if not one[0].partial and not one[0].draft and not one[1].gate]
    if whole and whole[-1][1].needed and whole[-1][1].verdict in ("inconclusive", "not_ready"):
        brief, concluded = whole[-1]
        said = f"The decision is open. {concluded.needed}"
        yield Step(said, page=run_page(brief.ref), label=brief.run)
    for brief, concluded in reversed(known):
        for said in concluded.waits:
            sentence = f"{said[:1].upper()}{said[1:]}"
            yield Step(sentence, page=run_page(brief.ref), label=brief.run)


def _of_gates(gates: Sequence[GateEntry]) -> Iterator[Step]:
    for entry in reversed(gates):
        suite, _, run = entry.gate.run.partition("/")
        page = run_page(RunRef(suite, run))
        if entry.false_alarm is None:
            said = "A gate failed, and nobody has said if it was right"
            yield Step(said, f"trialbook alarm {run} false|real --because TEXT", page, run)
    for entry in gates[-1:]:
        if entry.gate.advice:
            suite, _, run = entry.gate.run.partition("/")
            said = f"The newest gate is open: {entry.gate.advice}"
            yield Step(said, page=run_page(RunRef(suite, run)), label=run)


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return f"{', '.join(names[:_NAMED])} and {more} more" if more > 0 else listed(names)
