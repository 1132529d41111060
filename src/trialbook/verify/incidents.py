"""Incidents of a run: what their files say, which trials they touched, which reruns they allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, TypeVar

from trialbook.formats.records import RecordError
from trialbook.model.incident import (
    ClosedIncident,
    Decision,
    Incident,
    OpenedIncident,
    affected_slots,
    one_sided,
    overlapping,
)
from trialbook.model.plan import SlotKey
from trialbook.model.runfiles import FileKind, place_of
from trialbook.model.trial import Trial
from trialbook.storage.corrections import read_closing, read_opening
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings
from trialbook.verify.trial import Checked, RunPlan

T = TypeVar("T", OpenedIncident, ClosedIncident)


class Closing(NamedTuple):
    """How an incident was closed: the file, by its path in the run, and what it says."""

    path: str
    said: ClosedIncident


@dataclass(slots=True)
class IncidentAnswer:
    """What only history can decide; all paths are in the run's folder.

    ``opened`` has the opening of each closing; ``unnamed``, by closing, the trials that ran in its
    time and that it does not name: they may have come in later. ``excused`` has, by rerun, the
    closings that allow it, of which one must have come before it.
    """

    opened: dict[str, str] = field(default_factory=dict)
    unnamed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    excused: dict[str, tuple[str, ...]] = field(default_factory=dict)


class IncidentCheck:
    """Checks the incidents of one run."""

    def __init__(self, run: RunPlan, findings: Findings) -> None:
        self._run = run
        self._findings = findings
        self._opened: dict[str, OpenedIncident] = {}
        self._openings: dict[str, str] = {}
        self._closings: dict[str, list[Closing]] = {}
        self._answer = IncidentAnswer()

    def check(
        self, checked: Mapping[str, Checked], contents: Mapping[str, bytes]
    ) -> IncidentAnswer:
        """Check everything that can be seen without history.

        Args:
            checked: The trials by their folders.
            contents: The run's files outside of trials.
        """
        self._read(contents)
        trials = {path: one.trial for path, one in checked.items()}
        for name, closings in self._closings.items():
            opened = self._opened.get(name)
            for closing in closings:
                if opened is None:
                    detail = f"the run has no readable opening of incident {name}"
                    self._fault(Code.INCIDENT_UNOPENED, detail, closing.path)
                else:
                    self._answer.opened[closing.path] = self._openings[name]
                    self._closing(opened, closing, trials)
        self._reruns(trials)
        return self._answer

    # --- files -------------------------------------------------------------------------------

    def _read(self, contents: Mapping[str, bytes]) -> None:
        for path, data in sorted(contents.items()):
            place = place_of(path)
            kind = place.kind if place else None
            if place is None or kind not in (FileKind.INCIDENT, FileKind.INCIDENT_CLOSING):
                continue
            shown = f"{self._run.path}/{path}"
            try:
                if kind is FileKind.INCIDENT:
                    opened = read_opening(data, shown)
                    if self._in_place(opened, place.id, path):
                        self._opened[place.id] = opened
                        self._openings[place.id] = path
                else:
                    closed = read_closing(data, shown)
                    if self._in_place(closed, place.id, path):
                        found = self._closings.setdefault(place.id, [])
                        found.append(Closing(path, closed))
            except RecordError as error:
                said = error.message.removeprefix(f"{shown}: ")
                self._fault(Code.RECORD_UNREADABLE, said, path)

    def _in_place(self, said: T, name: str, path: str) -> bool:
        plan = self._run.plan
        if (said.incident, said.suite, said.run) == (name, plan.suite, plan.run):
            return True
        detail = f"it speaks of incident {said.incident} of {said.suite}/{said.run}"
        self._fault(Code.RECORD_MISPLACED, detail, path)
        return False

    # --- what a closing says -----------------------------------------------------------------

    def _closing(
        self, opened: OpenedIncident, closing: Closing, trials: Mapping[str, Trial]
    ) -> None:
        said = closing.said
        try:
            if datetime.fromisoformat(said.ended) < datetime.fromisoformat(opened.began):
                detail = f"it ended at {said.ended}, before it began at {opened.began}"
                self._fault(Code.INCIDENT_DIFFERS, detail, closing.path)
            touched = {one.path for one in overlapping(trials.values(), opened.began, said.ended)}
        except (TypeError, ValueError) as error:
            detail = f"its times cannot be held against those of the trials: {error}"
            self._fault(Code.INCIDENT_DIFFERS, detail, closing.path)
            return
        for path in sorted(set(said.affected) - touched):
            ran = "ran at another time" if path in trials else "is no trial of the run"
            detail = f"it names {path}, which {ran}"
            self._fault(Code.INCIDENT_DIFFERS, detail, closing.path)
        self._answer.unnamed[closing.path] = tuple(sorted(touched - set(said.affected)))
        self._added(closing)
        slots = affected_slots(self._run.plan, _as_closed(opened, closing))
        only = None if said.decision is Decision.KEEP else one_sided(self._run.plan, slots)
        if only is not None:
            detail = f"it decides to {said.decision.value}, and touches {only} only"
            self._fault(Code.INCIDENT_ONE_SIDED, detail, closing.path)

    def _added(self, closing: Closing) -> None:
        plan = self._run.plan
        for added in closing.said.added:
            known = added.task in plan.tasks and added.repetition <= plan.repetitions
            if not known or not added.because.strip():
                detail = f"it adds {added.task}/r{added.repetition}, which "
                detail += "has no reason" if known else "the plan does not have"
                self._fault(Code.INCIDENT_DIFFERS, detail, closing.path)

    # --- reruns ------------------------------------------------------------------------------

    def _reruns(self, trials: Mapping[str, Trial]) -> None:
        covered: dict[str, frozenset[SlotKey]] = {}
        seen: set[tuple[SlotKey, str]] = set()
        for path, trial in sorted(trials.items()):
            name = trial.incident
            if name is None:
                continue
            if (trial.slot, name) in seen:
                detail = f"{trial.slot.path} was run again for incident {name} before"
                self._fault(Code.RERUN_INCIDENT, detail, path)
            seen.add((trial.slot, name))
            problem = self._problem(trial, name, covered)
            if problem:
                self._fault(Code.RERUN_INCIDENT, problem, path)

    def _problem(
        self, trial: Trial, name: str, covered: dict[str, frozenset[SlotKey]]
    ) -> str | None:
        """Why an incident cannot have allowed a trial, or None and then what may have."""
        opened = self._opened.get(name)
        if trial.rerun == 0:
            return f"it names incident {name}, and replaces no trial"
        if opened is None:
            return f"it names incident {name}, which the run does not have"
        decided = [
            one for one in self._closings.get(name, ()) if one.said.decision is Decision.RERUN
        ]
        if not decided:
            return f"incident {name} was never closed with the decision to rerun"
        for one in decided:
            if one.path not in covered:
                slots = affected_slots(self._run.plan, _as_closed(opened, one))
                covered[one.path] = frozenset(slots)
        fitting = tuple(one.path for one in decided if trial.slot in covered[one.path])
        if not fitting:
            return f"incident {name} is not about {trial.slot.path}"
        self._answer.excused[trial.path] = fitting
        return None

    def _fault(self, code: Code, detail: str, path: str) -> None:
        self._findings.fault(code, detail, path=f"{self._run.path}/{path}")


def _as_closed(opened: OpenedIncident, closing: Closing) -> Incident:
    return Incident(opened=opened, closings=(closing.said,))
