"""Sessions of a series as they are kept: records free of secrets, with the files beside them."""

from __future__ import annotations

from dataclasses import replace

from trialbook.execution.findings import Findings
from trialbook.execution.session_done import DoneSession
from trialbook.model.change import OwnChange
from trialbook.model.digest import sha256
from trialbook.model.runfiles import (
    OWN_PATCH,
    handover_path,
    notes_patch,
    planted_patch,
    session_grade,
    session_patch,
)
from trialbook.model.session import SessionGrade, SessionRecord
from trialbook.workflow.grade_lines import grade_line
from trialbook.workflow.keeping import Keeper, Kept


def keep_session(keeper: Keeper, kept: Kept, done: DoneSession) -> SessionRecord:
    """Add the files of a session to a trial's; gives its record as it goes into the trial's own."""
    number = done.record.session
    change = done.record.change
    if change is not None:
        redacted = keeper.keep_patch(kept, done.patch, session_patch(number))
        change = replace(change, redacted=redacted)
        keeper.keep_patch(kept, done.notes, notes_patch(number))
    if done.planted:
        keeper.keep_patch(kept, done.planted, planted_patch(number))
    keeper.keep_record(kept, done.handover, handover_path(number))
    lines = []
    for given in done.grades:
        path = session_grade(number, given.part, given.moment)
        clean = keeper.keep_grade(kept, given.grade, path)
        line = grade_line(clean, sha256(kept.files[path]))
        lines.append(SessionGrade(part=given.part, moment=given.moment, grade=line))
    return replace(done.record, change=change, grades=tuple(lines))


def keep_own(keeper: Keeper, kept: Kept, found: Findings) -> OwnChange | None:
    """Add what the agents of a series changed themselves; None if nothing was laid in between."""
    own = found.own
    if own is None or found.ground is None:
        return None
    redacted = keeper.keep_patch(kept, own.patch, OWN_PATCH)
    return OwnChange(
        base=found.ground,
        patch_sha256=sha256(kept.files[OWN_PATCH]),
        files=len(own.changed),
        insertions=own.insertions,
        deletions=own.deletions,
        redacted=redacted,
        lines_before=dict(own.lines_before),
    )
