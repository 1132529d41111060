"""One run as it is at the head: its plan, its trials, its slots, its corrections, its results."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from trialbook.model.digest import sha256
from trialbook.model.outcome import NOT_RUN
from trialbook.model.plan import Plan, SlotKey
from trialbook.model.runfiles import PLAN, REPORT, RESULTS, FileKind, place_of, rerun_of
from trialbook.model.trial import Trial
from trialbook.storage.objects import DIRECTORY, REGULAR
from trialbook.storage.raw_objects import DamagedObject, Entry, MissingObject, entry_of
from trialbook.verify.codes import Code
from trialbook.verify.corrections import CorrectionCheck
from trialbook.verify.findings import Findings
from trialbook.verify.incidents import IncidentAnswer, IncidentCheck
from trialbook.verify.plan import check_plan
from trialbook.verify.reading import read_record
from trialbook.verify.reviews import ReviewAnswer, ReviewCheck
from trialbook.verify.rules import Rules
from trialbook.verify.slots import SlotCheck, out_of_order
from trialbook.verify.trees import Trees
from trialbook.verify.trial import Checked, RunPlan, TrialCheck


@dataclass(slots=True, kw_only=True)
class RunAnswer:
    """What the check of one run came to.

    ``trials`` has the plan's commit that each record names, by the trial's folder. ``unsettled``
    names derived files that do not follow from the records at the head; they may from those at the
    commit that added them. ``generations`` are the folders of later results. ``unspoken`` has, by
    the file of each later grading, the graded trials that it says nothing of. ``incidents`` and
    ``reviews`` have what only history can decide about them.
    """

    path: str
    findings: Findings
    objects: int = 0
    plan_path: str = ""
    locked: bool = False
    closed: bool = False
    trials: dict[str, str] = field(default_factory=dict)
    unsettled: tuple[str, ...] = ()
    generations: tuple[str, ...] = ()
    unspoken: dict[str, tuple[str, ...]] = field(default_factory=dict)
    incidents: IncidentAnswer = field(default_factory=IncidentAnswer)
    reviews: ReviewAnswer = field(default_factory=ReviewAnswer)


class RunCheck:
    """Checks one run. ``path`` is ``<suite>/<run>``; ``tree`` is the run's folder at ``head``."""

    def __init__(self, path: str, trees: Trees, findings: Findings, rules: Rules) -> None:
        self._trees = trees
        self._findings = findings
        self._rules = rules
        self._folder = f"runs/{path}"
        self._head = b""
        self._sound = False
        self._answer = RunAnswer(path=path, findings=findings)

    def check(self, tree: bytes, head: bytes) -> RunAnswer:
        """Everything that can be seen without history."""
        self._head = head
        files, trials = self._layout(tree)
        contents = self._own_files(files)
        run = self._plan(contents)
        checked: dict[str, Checked] = {}
        check: TrialCheck | None = None
        if run is not None:
            check = TrialCheck(
                run=run, trees=self._trees, findings=self._findings, rules=self._rules, head=head
            )
        for trial_path, inside in trials:
            if check is None:
                self._only_objects(inside, trial_path)
            elif found := check.check(trial_path, inside):
                checked[trial_path] = found
        self._answer.trials = {path: one.trial.plan_commit for path, one in checked.items()}
        if run is not None:
            self._whole(run, checked, contents)
        return self._answer

    # --- what is there -----------------------------------------------------------------------

    def _layout(self, tree: bytes) -> tuple[dict[str, Entry], list[tuple[str, dict[str, Entry]]]]:
        """The run's own files, and each trial's folder with the files in it."""
        own: dict[str, Entry] = {}
        trials: list[tuple[str, dict[str, Entry]]] = []
        for task in self._listing(tree, ""):
            name = os.fsdecode(task.name)
            if task.mode != DIRECTORY:
                own[name] = task
                continue
            for configuration in self._listing(task.oid, name):
                path = f"{name}/{os.fsdecode(configuration.name)}"
                if configuration.mode != DIRECTORY:
                    own[path] = configuration
                    continue
                for trial in self._listing(configuration.oid, path):
                    inside = f"{path}/{os.fsdecode(trial.name)}"
                    if trial.mode != DIRECTORY:
                        own[inside] = trial
                    elif rerun_of(os.fsdecode(trial.name)):
                        trials.append((inside, self._flat(trial.oid, inside)))
                    else:
                        found = self._flat(trial.oid, inside)
                        own |= {f"{inside}/{rest}": entry for rest, entry in found.items()}
        return own, trials

    def _listing(self, oid: bytes, path: str) -> list[Entry]:
        return self._trees.listing(oid, os.fsencode(f"{self._folder}/{path}"), self._head)

    def _flat(self, oid: bytes, path: str) -> dict[str, Entry]:
        """Every file below a folder, by its path in the folder."""
        found: dict[str, Entry] = {}
        pending = [("", oid)]
        while pending:
            prefix, folder = pending.pop()
            try:
                entries = self._trees.objects.tree(folder)
            except (MissingObject, DamagedObject) as error:
                place = os.fsencode(f"{self._folder}/{path}/{prefix}".rstrip("/"))
                self._trees.tell(error, folder, place, self._head)
                continue
            for raw in entries:
                entry = entry_of(raw)
                name = prefix + entry.name.decode("utf-8", "surrogateescape")
                if entry.mode == DIRECTORY:
                    pending.append((name + "/", entry.oid))
                else:
                    found[name] = entry
        return found

    def _own_files(self, files: dict[str, Entry]) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        for path, entry in files.items():
            shown = f"{self._folder}/{path}"
            place = place_of(path)
            if entry.mode != REGULAR:
                self._findings.fault(Code.FILE_MODE, f"its mode is {entry.mode:06o}", path=shown)
                continue
            if place is None or place.kind in (FileKind.ARTIFACT, FileKind.TRIAL):
                self._findings.fault(
                    Code.FILE_UNLISTED, "no file of that name belongs in a run", path=shown
                )
            data = self._trees.blob(entry.oid, os.fsencode(shown), self._head)
            if data is not None:
                contents[path] = data
        return contents

    def _only_objects(self, files: dict[str, Entry], trial_path: str) -> None:
        for path, entry in files.items():
            self._trees.check(entry, os.fsencode(f"{self._folder}/{trial_path}/{path}"), self._head)

    # --- what it means -----------------------------------------------------------------------

    def _plan(self, contents: dict[str, bytes]) -> RunPlan | None:
        path = f"{self._folder}/{PLAN}"
        data = contents.get(PLAN)
        if data is None:
            self._findings.fault(Code.PLAN_MISSING, f"it has no {PLAN}", path=self._folder)
            return None
        plan = read_record(Plan, data, path, self._findings)
        if plan is None:
            return None
        self._sound = check_plan(plan, self._answer.path, path, self._findings)
        self._answer.plan_path = path
        self._answer.locked = plan.status != "draft"
        return RunPlan(plan=plan, sha256=sha256(data), path=self._folder)

    def _whole(self, run: RunPlan, checked: dict[str, Checked], contents: dict[str, bytes]) -> None:
        corrections = CorrectionCheck(run, self._rules, self._findings)
        standing = corrections.check(checked, contents)
        self._answer.incidents = IncidentCheck(run, self._findings).check(checked, contents)
        self._answer.reviews = ReviewCheck(run, self._findings).check(checked, contents)
        trials = _ordered(checked)
        slots = SlotCheck(run.plan, self._folder, standing, self._findings)
        missing = slots.check(trials)
        self._answer.closed = RESULTS in contents
        self._answer.generations = corrections.generations
        self._answer.unspoken = corrections.unspoken
        self._note(run.plan, missing, out_of_order(run.plan, trials))
        if self._answer.closed:
            corrected = corrections.any or self._answer.reviews.any
            self._results(run.plan, checked, contents, corrected=corrected)
            self._check_hidden(missing, contents[RESULTS])

    def _note(self, plan: Plan, missing: Sequence[SlotKey], late: int) -> None:
        if missing:
            state = "closed" if self._answer.closed else "open"
            self._findings.note(
                f"{plan.path} is {state}; {len(missing)} of {len(plan.schedule)} slots have no "
                f"trial, the first is {missing[0].path}"
            )
        if late:
            self._findings.note(f"{plan.path}: {late} trials started after one planned later")

    def _results(
        self,
        plan: Plan,
        checked: dict[str, Checked],
        contents: dict[str, bytes],
        *,
        corrected: bool,
    ) -> None:
        """Make results and report again; what differs may still follow from an earlier commit."""
        there = [name for name in (RESULTS, REPORT) if name in contents]
        if not self._sound:
            self._findings.not_checked(
                "results and report",
                f"the plan of {plan.path} has not the schedule of its seed",
                "they can be made again once that fault is explained",
            )
            self._answer.generations = ()
            return
        self._answer.unsettled = tuple(there)
        if corrected:
            return
        grades = {
            one.trial.path: tuple(
                one.grades[use.grader] for use in one.trial.grades if use.grader in one.grades
            )
            for one in checked.values()
        }
        try:
            made = self._rules.derived(plan, _ordered(checked), grades)
        except (KeyError, ValueError):
            return  # Records that no program wrote; what is said of them is said elsewhere.
        self._answer.unsettled = tuple(name for name in there if made[name] != contents[name])

    def _check_hidden(self, missing: Sequence[SlotKey], results: bytes) -> None:
        shown = _not_run(results) if missing else set()
        for slot in missing:
            if slot not in shown:
                self._findings.fault(
                    Code.SLOT_HIDDEN,
                    f"{RESULTS} does not show it as {NOT_RUN}",
                    path=f"{self._folder}/{slot.path}",
                )


def _ordered(checked: dict[str, Checked]) -> list[Trial]:
    return sorted((one.trial for one in checked.values()), key=lambda one: (*one.slot, one.rerun))


def _not_run(results: bytes) -> set[SlotKey]:
    """The slots that results show as not run."""
    found = set()
    reader = csv.DictReader(io.StringIO(results.decode("utf-8", "replace")))
    for row in reader:
        repetition = row.get("repetition") or ""
        if row.get("outcome") == NOT_RUN and repetition.isdecimal():
            slot = SlotKey(row.get("task") or "", row.get("configuration") or "", int(repetition))
            found.add(slot)
    return found
