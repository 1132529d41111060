"""What was tried over a series, against the sessions that it was tried on."""

from __future__ import annotations

from collections.abc import Iterator

from trialbook.model.series_record import RepairRecord, SeriesRecord
from trialbook.model.trial import Trial


def series_faults(trial: Trial, tried: SeriesRecord) -> Iterator[str]:
    """What cannot be as it is, one sentence each: trees and sessions have to be the record's."""
    ran = {one.session: one for one in trial.sessions if one.outcome is not None}
    stated = {one.id: one for one in tried.decisions}
    for one in tried.properties:
        which = f"the property of {one.decision} after session {one.session}"
        record = ran.get(one.session)
        if one.decision not in stated:
            yield f"{which} is of no decision that it names"
        if record is None or record.end.tree != one.tree:
            yield f"{which} was asked of a tree that the session did not leave"
    asked = [(one.decision, one.session) for one in tried.properties]
    wanted = [
        (one.id, session) for one in tried.decisions for session in ran if session >= one.session
    ]
    if sorted(asked) != sorted(wanted):
        yield "not every decision was asked for once after every session from its own on"
    if ran and tried.change.tree != ran[max(ran)].end.tree:
        yield "the whole change that it speaks of is not what the last session left"
    own = None if trial.change is None else trial.change.own
    began = None if trial.workspace is None else trial.workspace.baseline_tree
    if tried.change.base not in ("", began if own is None else own.base):
        yield "the whole change that it speaks of is seen against another tree than the record's"
    used = [one.session for one in ran.values() if one.regression is not None]
    if (tried.repair is None) is bool(used):
        yield "it speaks of a repair, and no session had one" if not used else "it has no repair"
    elif tried.repair is not None:
        yield from _repair(trial, tried.repair, used)


def _repair(trial: Trial, repair: RepairRecord, used: list[int]) -> Iterator[str]:
    if repair.session != used[-1]:
        yield f"its repair is of session {repair.session}, the regression was in {used[-1]}"
        return
    record = next(one for one in trial.sessions if one.session == repair.session)
    if (repair.start, repair.end) != (record.start.tree, record.end.tree):
        yield "its repair begins or ends with other trees than the session"
    for one in repair.earlier:
        if (one.before.tree, one.after.tree) != (repair.before, repair.end):
            yield f"the tests of session {one.session} were run on other trees than it says"
    for own, tree in ((repair.own_before, repair.start), (repair.own_after, repair.end)):
        if own is not None and own.tree != tree:
            yield "the agent's own tests were run on other trees than it says"
