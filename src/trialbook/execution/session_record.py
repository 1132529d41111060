"""What is written down of a session that is over: its record, its handover, its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trialbook.execution.change import difference_of
from trialbook.execution.findings import Findings
from trialbook.execution.handover import (
    BASELINE,
    Cleared,
    notes_of,
    notes_tree,
    open_failures,
    things_of,
    written_down,
)
from trialbook.execution.session_done import DoneSession, GivenGrade
from trialbook.execution.session_outcome import session_outcome
from trialbook.execution.session_start import Beginning
from trialbook.execution.setting import Setting
from trialbook.model.change import AttemptChange
from trialbook.model.digest import sha256
from trialbook.model.outcome import Outcome
from trialbook.model.runfiles import EGRESS_LOG, session_folder
from trialbook.model.series import SessionPlan
from trialbook.model.session import Handover, RepositoryState, SessionRecord, Thing
from trialbook.model.usage import Usage, added
from trialbook.system import timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Writes down one session, given how it began. ``before`` are those that are done."""

    setting: Setting
    number: int
    plan: SessionPlan
    before: Sequence[DoneSession]
    interrupted: int
    begun: Beginning

    def left_out(self, found: Findings, because: str) -> DoneSession:
        """A session that could not be: the repository stays as it was."""
        state = replace(self.begun.before, lost="")
        record = replace(self._record(found, state, None), reason=because, start=state)
        return DoneSession(
            record=record,
            handover=replace(self._handover(), start=state, equal=True),
            stages=tuple(found.stages),
        )

    def done(
        self,
        found: Findings,
        end: RepositoryState,
        cleared: Cleared,
        grades: Sequence[GivenGrade],
    ) -> DoneSession:
        """A session whose agent ended."""
        store, places = self.setting.store, self.setting.spec.task.notes
        start, change = self.begun.state, found.change
        outcome, reason = session_outcome(self.setting.spec, found, grades)
        things: tuple[Thing, ...] = ()
        if self.before:
            isolation = found.isolation
            things = tuple(things_of(self.before, start, cleared, found.attempts, isolation))
        handover = replace(
            self._handover(),
            things=things,
            failing=tuple(open_failures(grades, written_down(store, start, end, places))),
        )
        egress = found.egress
        lines = found.files.pop(EGRESS_LOG, b"")
        files = dict(found.files)
        if lines:
            files[f"{session_folder(self.number)}/{EGRESS_LOG}"] = lines
        notes = [notes_tree(store, one.tree, places) for one in (self._left, end)]
        return DoneSession(
            record=replace(self._record(found, end, outcome), reason=reason),
            handover=handover,
            attempts=tuple(found.attempts),
            agent=found.agent,
            isolation=found.isolation,
            grades=tuple(grades),
            files=files,
            patch=b"" if change is None else change.patch,
            planted=self._difference(self._left.tree, start.tree),
            notes=self._difference(*notes),
            visible=dict(found.visible),
            patches=dict(found.patches),
            secrets=tuple(found.secrets),
            omitted=() if change is None else change.omitted,
            sightings=None if found.sightings is None else tuple(found.sightings),
            stages=tuple(found.stages),
            egress=egress,
            egress_lines=lines,
        )

    @property
    def _left(self) -> RepositoryState:
        return self.begun.before

    def _difference(self, old: str, new: str) -> bytes:
        return difference_of(self.setting.store, old, new, work=self.setting.work)[0]

    def _record(
        self, found: Findings, end: RepositoryState, outcome: Outcome | None
    ) -> SessionRecord:
        change = found.change
        unknown = [Usage()] if self.interrupted else []
        used = [one.usage or Usage() for one in found.attempts]
        return SessionRecord(
            session=self.number,
            name=self.plan.name,
            brief_sha256=sha256(self.begun.brief.encode()),
            started=found.started,
            finished=timestamp(self.setting.runner.system.now()),
            outcome=outcome,
            reason="",
            start=self.begun.state,
            end=end,
            change=None
            if change is None
            else AttemptChange(
                tree=change.tree,
                files=len(change.changed),
                insertions=change.insertions,
                deletions=change.deletions,
                omitted=len(change.omitted),
            ),
            usage=added([*used, *unknown]),
            regression=self.begun.regression,
            interrupted=self.interrupted,
        )

    def _handover(self) -> Handover:
        start = self.begun.state
        ends = [(BASELINE, self.setting.made.tree)]
        ends += [(f"session-{one.record.session}", one.record.end.tree) for one in self.before]
        notes = notes_of(self.setting.store, start, ends, self.setting.spec.task.notes)
        return Handover(
            session=self.number,
            name=self.plan.name,
            before=self.begun.before if self.before else None,
            start=start,
            equal=start == replace(self.begun.before, lost=""),
            planted=self.begun.planted,
            brief_sha256=sha256(self.begun.brief.encode()),
            notes=tuple(notes),
            things=(),
        )
