"""One trial's folder against its record, its plan, and itself."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from trialbook.errors import Refused
from trialbook.model.digest import sha256
from trialbook.model.grade import Grade, GradeSummary
from trialbook.model.plan import Plan
from trialbook.model.runfiles import (
    EGRESS_LOG,
    OWN_PATCH,
    PATCH,
    TRIAL,
    FileKind,
    attempt_folder,
    place_of,
    session_grade,
    visible_grade,
)
from trialbook.model.trial import Trial
from trialbook.storage.large import FULL_FOLDER, cut_problem
from trialbook.storage.objects import REGULAR
from trialbook.storage.raw_objects import BLOB, DamagedObject, Entry, MissingObject
from trialbook.verify.attempts import attempt_faults
from trialbook.verify.codes import Code
from trialbook.verify.egress import egress_problem
from trialbook.verify.findings import Findings
from trialbook.verify.outcome import outcome_problem
from trialbook.verify.reading import read_record
from trialbook.verify.rules import NotHere, Rules
from trialbook.verify.sessions import SessionFiles
from trialbook.verify.trees import Trees

_LATER = {
    FileKind.AMENDMENT,
    FileKind.RECONCILIATION,
    FileKind.REGRADED_GRADE,
    FileKind.REVIEW,
}
_MOST_BEFORE = 256
_LARGEST_BEFORE = 1 << 16
_LATER_FOLDERS = ("amendments/", "reconciliations/", "regrades/", "reviews/")


class Checked(NamedTuple):
    """A trial's record with its grades.

    ``later`` are the files that came after it, with bytes; only if there are any, ``sha256`` is the
    record's digest.
    """

    trial: Trial
    sha256: str
    grades: dict[str, Grade]
    later: dict[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The plan of a run, and where: ``path`` is the run's folder from the ledger's root."""

    plan: Plan
    sha256: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCheck:
    """Checks trials of one run.

    ``before`` has files of earlier trials, by their paths in a trial's folder, with id, bytes and
    digest: the next trial often has the same (the brief of a task, an empty log).
    """

    run: RunPlan
    trees: Trees
    findings: Findings
    rules: Rules
    head: bytes
    before: dict[str, tuple[bytes, bytes, str]] = field(default_factory=dict)

    def check(self, trial_path: str, files: dict[str, Entry]) -> Checked | None:
        """Check the trial in a folder; None if it has no record that can be read.

        Args:
            trial_path: The folder in the run.
            files: Everything in it, by path in the folder.
        """
        folder = f"{self.run.path}/{trial_path}"
        contents, digests = self._contents(folder, files)
        data = contents.pop(TRIAL, None)
        if data is None:
            if TRIAL not in files:
                self._fault(Code.RECORD_MISSING, f"it has no {TRIAL}", folder)
            return None
        trial = read_record(Trial, data, f"{folder}/{TRIAL}", self.findings)
        if trial is None:
            return None
        later = self._artifacts(trial, folder, files, (contents, digests))
        self._identity(trial, trial_path, f"{folder}/{TRIAL}")
        self._workspace(trial, f"{folder}/{TRIAL}")
        self._cut(trial, folder, contents)
        self._egress(trial, folder, contents)
        self._attempts(trial, folder, contents, digests)
        self._sessions(trial, folder, contents, digests)
        grades = self._grades(trial, folder, contents, digests)
        self._change(trial, folder, contents.get(PATCH), digests.get(PATCH, ""))
        self._own(trial, folder, contents.get(OWN_PATCH), digests.get(OWN_PATCH, ""))
        if len(grades) == len(trial.grades):
            problem = outcome_problem(self.run.plan, trial, grades, self.rules)
            if problem:
                self._fault(Code.OUTCOME_DIFFERS, problem, f"{folder}/{TRIAL}")
        return Checked(trial, digests[TRIAL] if later else "", grades, later)

    def _contents(
        self, folder: str, files: dict[str, Entry]
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        """Every file's bytes, and their digests. What cannot be read is a fault, and left out."""
        found: dict[str, bytes] = {}
        digests: dict[str, str] = {}
        read = self.trees.objects.read
        before = self.before
        if len(before) > _MOST_BEFORE:
            before.clear()
        for path, entry in files.items():
            if entry.mode != REGULAR:
                self._fault(Code.FILE_MODE, f"its mode is {entry.mode:06o}", f"{folder}/{path}")
                continue
            known = before.get(path)
            if known is not None and known[0] == entry.oid:
                _, found[path], digests[path] = known
                continue
            try:
                data = read(entry.oid, BLOB)
            except (MissingObject, DamagedObject) as error:
                self.trees.tell(error, entry.oid, os.fsencode(f"{folder}/{path}"), self.head)
                continue
            found[path], digests[path] = data, sha256(data)
            if len(data) <= _LARGEST_BEFORE:
                before[path] = entry.oid, data, digests[path]
        return found, digests

    def _artifacts(
        self,
        trial: Trial,
        folder: str,
        files: dict[str, Entry],
        there: tuple[dict[str, bytes], dict[str, str]],
    ) -> dict[str, bytes]:
        """Digests of everything that the record lists; gives what may come later than it."""
        later: dict[str, bytes] = {}
        listed = trial.artifacts
        contents, digests = there
        for path, data in contents.items():
            digest = listed.get(path)
            if digest is not None:
                if digests[path] != digest:
                    detail = f"its sha256 is {digests[path]}, recorded is {digest}"
                    self._fault(Code.ARTIFACT_DIFFERS, detail, f"{folder}/{path}")
            elif _may_be_later(trial.path, path):
                later[path] = data
            else:
                detail = f"{TRIAL} does not list it"
                self._fault(Code.FILE_UNLISTED, detail, f"{folder}/{path}")
        for path in listed.keys() - files.keys():
            detail = f"{TRIAL} lists it with sha256 {listed[path]}"
            self._fault(Code.ARTIFACT_MISSING, detail, f"{folder}/{path}")
        return later

    def _identity(self, trial: Trial, trial_path: str, path: str) -> None:
        plan = self.run.plan
        said = f"{trial.suite}/{trial.run}/{trial.path}"
        if said != f"{plan.suite}/{plan.run}/{trial_path}":
            self._fault(Code.RECORD_MISPLACED, f"it is the record of {said}", path)
        if (trial.protocol, trial.status) != (plan.protocol, plan.status):
            detail = (
                f"it is of protocol {trial.protocol} ({trial.status}), "
                f"the plan of {plan.protocol} ({plan.status})"
            )
            self._fault(Code.RECORD_MISPLACED, detail, path)
        if trial.plan_sha256 != self.run.sha256:
            detail = f"its plan has sha256 {trial.plan_sha256}, the run's has {self.run.sha256}"
            self._fault(Code.PLAN_DIGEST_WRONG, detail, path)

    def _workspace(self, trial: Trial, path: str) -> None:
        workspace = trial.workspace
        task = self.run.plan.tasks.get(trial.task)
        configuration = self.run.plan.configurations.get(trial.configuration)
        if workspace is None or task is None or configuration is None:
            return
        planned = {
            "source": (workspace.source, task.source),
            "snapshot": (workspace.snapshot_tree, task.tree),
            "baseline": (workspace.baseline_tree, configuration.workspaces.get(trial.task)),
        }
        for what, (recorded, wanted) in planned.items():
            if recorded != wanted:
                detail = f"its {what} is {recorded}, planned is {wanted}"
                self._fault(Code.WORKSPACE_DIFFERS, detail, path)

    def _cut(self, trial: Trial, folder: str, contents: dict[str, bytes]) -> None:
        """Both ends of long logs, and the pointers to the whole, against the record."""
        pointers = {path for path in trial.artifacts if path.startswith(f"{FULL_FOLDER}/")}
        for path in sorted(pointers - {file.full for file in trial.cut}):
            self._fault(Code.CUT_DIFFERS, "the record knows of no such log", f"{folder}/{path}")
        for file in trial.cut:
            problem = cut_problem(file, contents)
            if problem:
                self._fault(Code.CUT_DIFFERS, problem, f"{folder}/{file.path}")

    def _egress(self, trial: Trial, folder: str, contents: dict[str, bytes]) -> None:
        if trial.egress is None:
            return
        log = contents.get(EGRESS_LOG, b"" if trial.egress.log is None else None)
        problem = None if log is None else egress_problem(trial.egress, log)
        if problem:
            self._fault(Code.EGRESS_DIFFERS, problem, f"{folder}/{EGRESS_LOG}")

    def _grades(
        self, trial: Trial, folder: str, contents: dict[str, bytes], digests: dict[str, str]
    ) -> dict[str, Grade]:
        uses = [(use, f"grades/{use.grader}.json") for use in trial.grades]
        found = self._read_grades(uses, folder, contents, digests)
        extra = {n for n in contents if n.startswith("grades/") and n in trial.artifacts}
        for name in sorted(extra - {f"grades/{use.grader}.json" for use in trial.grades}):
            detail = "the record lists it, and does not count it as a grade"
            self._fault(Code.GRADE_DIFFERS, detail, f"{folder}/{name}")
        return found

    def _read_grades(
        self,
        uses: Iterable[tuple[GradeSummary, str]],
        folder: str,
        contents: dict[str, bytes],
        digests: dict[str, str],
    ) -> dict[str, Grade]:
        """The grades that lines of a record speak of, each in its file."""
        found: dict[str, Grade] = {}
        for use, name in uses:
            data = contents.get(name)
            path = f"{folder}/{name}"
            if data is None:
                self._fault(Code.GRADE_DIFFERS, "the record names it, and it is not there", path)
                continue
            grade = read_record(Grade, data, path, self.findings)
            if grade is None:
                continue
            found[use.grader] = grade
            problem = grade_problem(use, grade, digests[name])
            if problem:
                self._fault(Code.GRADE_DIFFERS, problem, path)
        return found

    def _attempts(
        self, trial: Trial, folder: str, contents: dict[str, bytes], digests: dict[str, str]
    ) -> None:
        """The attempts, with what each left and what visible checks said of it.

        In a series a patch is against the start of its session: see `SessionFiles`.
        """
        for detail in attempt_faults(self.run.plan, trial):
            self._fault(Code.ATTEMPT_DIFFERS, detail, f"{folder}/{TRIAL}")
        for attempt in trial.attempts:
            inside = attempt_folder(attempt.session, attempt.attempt)
            checks = attempt.after.checks if attempt.after is not None else ()
            uses = [(use, visible_grade(inside, use.grader)) for use in checks]
            self._read_grades(uses, folder, contents, digests)
            name = f"{inside}/{PATCH}"
            if attempt.change is None:
                continue
            if name not in contents:
                detail = "the record has a change, and the patch is gone"
                self._fault(Code.PATCH_DIFFERS, detail, f"{folder}/{name}")
            elif not attempt.change.redacted and not trial.sessions:
                given = (contents[name], digests[name])
                self._gives(trial, given, attempt.change.tree, f"{folder}/{name}")

    def _sessions(
        self, trial: Trial, folder: str, contents: dict[str, bytes], digests: dict[str, str]
    ) -> None:
        """The sessions of a series, with their handovers, patches and grades."""
        for one in trial.sessions:
            for given in one.grades:
                name = session_grade(one.session, given.part, given.moment)
                self._read_grades([(given.grade, name)], folder, contents, digests)
        SessionFiles(
            plan=self.run.plan,
            trial=trial,
            folder=folder,
            contents=contents,
            findings=self.findings,
            rules=self.rules,
        ).check()

    def _change(self, trial: Trial, folder: str, patch: bytes | None, digest: str) -> None:
        """The patch, if there is one, with its digest."""
        change = trial.change
        path = f"{folder}/{PATCH}"
        if change is None:
            if patch is not None:
                self._fault(Code.PATCH_DIFFERS, "the record knows of no change", path)
            return
        if patch is None:
            self._fault(Code.PATCH_DIFFERS, "the record has a change, and the patch is gone", path)
            return
        if digest != change.patch_sha256:
            detail = f"its sha256 is {digest}, recorded is {change.patch_sha256}"
            self._fault(Code.PATCH_DIFFERS, detail, path)
        if change.redacted:
            self.findings.not_checked(
                "patches against the final state",
                "something secret was taken out of the patch",
                "only a run without the secret can show it",
            )
            return
        self._gives(trial, (patch, digest), change.tree, path)

    def _own(self, trial: Trial, folder: str, patch: bytes | None, digest: str) -> None:
        """The change without what was laid in between sessions, where something was."""
        own = None if trial.change is None else trial.change.own
        path = f"{folder}/{OWN_PATCH}"
        if (own is None) != (patch is None):
            detail = "the record does not know of it" if own is None else "it is gone"
            self._fault(Code.PATCH_DIFFERS, detail, path)
        if own is None or patch is None or trial.change is None or trial.workspace is None:
            return
        if digest != own.patch_sha256:
            detail = f"its sha256 is {digest}, recorded is {own.patch_sha256}"
            self._fault(Code.PATCH_DIFFERS, detail, path)
        if not own.redacted:
            based = replace(trial, workspace=replace(trial.workspace, baseline_tree=own.base))
            self._gives(based, (patch, digest), trial.change.tree, path)

    def _gives(self, trial: Trial, patch: tuple[bytes, str], wanted: str, path: str) -> None:
        """A patch, with its digest, makes the recorded tree of the baseline."""
        try:
            tree = self.rules.patched(self.run.plan, trial, *patch)
        except NotHere as missing:
            self.findings.not_checked(
                "patches against the final state", missing.message, missing.hint
            )
        except Refused as refusal:
            detail = f"it does not apply to the baseline: {refusal.message}"
            self._fault(Code.PATCH_TREE_DIFFERS, detail, path)
        else:
            if tree != wanted:
                detail = f"it gives the tree {tree}, recorded is {wanted}"
                self._fault(Code.PATCH_TREE_DIFFERS, detail, path)

    def _fault(self, code: Code, detail: str, path: str) -> None:
        self.findings.fault(code, detail, path=path)


def grade_problem(use: GradeSummary, grade: Grade, digest: str) -> str | None:
    """Where a grade, whose file has a digest, is not what a record's line on it says, or None."""
    if digest != use.sha256:
        return f"its sha256 is {digest}, recorded is {use.sha256}"
    recorded = (use.grader, use.status, use.accepted, use.passed, use.total)
    said = (grade.grader, grade.status.value, grade.accepted, grade.passed, grade.total)
    if recorded != said:
        return f"it says {said}, recorded is {recorded}"
    return None


def _may_be_later(trial_path: str, path: str) -> bool:
    if not path.startswith(_LATER_FOLDERS):
        return False
    place = place_of(f"{trial_path}/{path}")
    return place is not None and place.kind in _LATER
