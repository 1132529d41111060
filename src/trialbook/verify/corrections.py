"""Amendments, later grades and later results: whether they follow the rules of their own kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from trialbook.model.acceptance import PolicyError
from trialbook.model.amendment import Amendment, correction_problem
from trialbook.model.deciding import COUNTS_AFTER_LIMIT
from trialbook.model.digest import sha256
from trialbook.model.evidence import violations
from trialbook.model.generation import Generation
from trialbook.model.grade import Grade
from trialbook.model.outcome import Outcome
from trialbook.model.regrade import Regrade, RegradedGrade, RegradedTrial
from trialbook.model.runfiles import (
    GENERATION,
    FileKind,
    generation_folder,
    place_of,
    regrade_path,
    regraded_grade,
)
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings
from trialbook.verify.reading import read_record
from trialbook.verify.rules import Rules
from trialbook.verify.trial import Checked, RunPlan, grade_problem

_LIMITS = frozenset({Outcome.AGENT_TIMEOUT, Outcome.BUDGET_EXHAUSTED})


class CorrectionCheck:
    """Checks what came after the records of one run.

    ``any`` says whether there is anything; ``generations`` are the folders of later results;
    ``unspoken`` has, by the file of each later grading, the graded trials that it says nothing of.
    """

    def __init__(self, run: RunPlan, rules: Rules, findings: Findings) -> None:
        self._run = run
        self._rules = rules
        self._findings = findings
        self.any = False
        self.generations: tuple[str, ...] = ()
        self.unspoken: dict[str, tuple[str, ...]] = {}

    def check(
        self, checked: Mapping[str, Checked], contents: Mapping[str, bytes]
    ) -> dict[str, set[Outcome]]:
        """Check all corrections; gives every outcome that each trial ever stood with.

        Args:
            checked: The trials by their folders.
            contents: The run's files outside of trials.
        """
        standing = {path: {one.trial.outcome} for path, one in checked.items()}
        regraded = self._regrades(checked, contents)
        for path, trials in regraded.items():
            if path in standing:
                standing[path] |= {trial.outcome for trial in trials}
        for path, one in checked.items():
            self._amendments(path, one, standing[path])
        self._generations(contents)
        kinds = {place.kind for path in contents if (place := place_of(path)) is not None}
        later = {FileKind.REGRADE, FileKind.INCIDENT, FileKind.INCIDENT_CLOSING}
        self.any = bool(kinds & later) or any(one.later for one in checked.values())
        return standing

    def _amendments(self, path: str, one: Checked, standing: set[Outcome]) -> None:
        for name, data in sorted(one.later.items()):
            place = place_of(f"{path}/{name}")
            if place is None or place.kind is not FileKind.AMENDMENT:
                continue
            shown = f"{self._run.path}/{path}/{name}"
            amendment = read_record(Amendment, data, shown, self._findings)
            if amendment is None:
                continue
            said = f"{amendment.run}/{amendment.trial}/{amendment.id}"
            if said != f"{self._run.plan.path}/{path}/{place.id}":
                self._fault(Code.RECORD_MISPLACED, f"it is the amendment {said}", shown)
            if amendment.trial_sha256 != one.sha256:
                detail = f"it amends a record with sha256 {amendment.trial_sha256}"
                self._fault(Code.RECORD_MISPLACED, detail, shown)
            if amendment.outcome is not None:
                problem = correction_problem(amendment.outcome)
                if problem:
                    self._fault(Code.OUTCOME_DIFFERS, problem, shown)
                else:
                    standing.add(amendment.outcome.now)

    def _regrades(
        self, checked: Mapping[str, Checked], contents: Mapping[str, bytes]
    ) -> dict[str, list[RegradedTrial]]:
        found: dict[str, list[RegradedTrial]] = {}
        known: set[str] = set()
        for path, data in sorted(contents.items()):
            place = place_of(path)
            if place is None or place.kind is not FileKind.REGRADE:
                continue
            shown = f"{self._run.path}/{path}"
            regrade = read_record(Regrade, data, shown, self._findings)
            if regrade is None:
                continue
            if (regrade.run, regrade_path(regrade.id)) != (self._run.plan.path, path):
                detail = f"it is the regrade {regrade.run}/{regrade.id}"
                self._fault(Code.RECORD_MISPLACED, detail, shown)
            self.unspoken[path] = self._unspoken(regrade, checked, shown)
            self._alike(regrade, shown)
            for trial in regrade.trials:
                found.setdefault(trial.trial, []).append(trial)
                known |= self._regraded(trial, checked.get(trial.trial), shown)
        self._unlisted_grades(checked, known)
        return found

    def _unspoken(
        self, regrade: Regrade, checked: Mapping[str, Checked], shown: str
    ) -> tuple[str, ...]:
        """The trials with grades that are neither judged again nor left out with a reason."""
        spoken = {trial.trial for trial in regrade.trials} | {out.trial for out in regrade.left_out}
        unknown = spoken - checked.keys()
        if unknown:
            detail = f"it speaks of {min(unknown)}, which is no trial of the run"
            self._fault(Code.GRADE_DIFFERS, detail, shown)
        graded = (path for path, one in checked.items() if one.trial.grades)
        return tuple(path for path in graded if path not in spoken)

    def _alike(self, regrade: Regrade, shown: str) -> None:
        """Each trial once, and what one trial of a task is judged by again, the others are too."""
        names = [trial.trial for trial in regrade.trials]
        names += [out.trial for out in regrade.left_out]
        twice = [name for name, times in Counter(names).items() if times > 1]
        problems = [f"it speaks of {name} more than once" for name in sorted(twice)]
        problems += [
            f"it leaves out {out.trial} without a reason"
            for out in regrade.left_out
            if not out.because.strip()
        ]
        again: dict[tuple[str, str], str] = {}
        kept: dict[tuple[str, str], str] = {}
        for trial in regrade.trials:
            for use in trial.grades:
                new = use.file == regraded_grade(regrade.id, use.grader)
                key = trial.trial.partition("/")[0], use.grader
                (again if new else kept).setdefault(key, trial.trial)
        problems += [
            f"{grader} judged {again[task, grader]} again, and not {kept[task, grader]}"
            for task, grader in sorted(again.keys() & kept.keys())
        ]
        for problem in problems:
            self._fault(Code.REGRADE_PARTIAL, problem, shown)

    def _regraded(self, trial: RegradedTrial, one: Checked | None, shown: str) -> set[str]:
        """Check what a trial came to; gives the files of grades that it names."""
        if one is None:
            return set()
        grades: dict[str, Grade] = {}
        for use in trial.grades:
            path = f"{self._run.path}/{trial.trial}/{use.file}"
            data = one.later.get(use.file)
            if data is None and use.grader in one.grades and use.file.startswith("grades/"):
                grades[use.grader] = one.grades[use.grader]
                continue
            if data is None:
                self._fault(Code.GRADE_DIFFERS, f"{shown} names it, and it is not there", path)
                continue
            grade = read_record(Grade, data, path, self._findings)
            if grade is None:
                continue
            problem = grade_problem(use.summary, grade, sha256(data)) or _judge_problem(use, grade)
            if problem:
                self._fault(Code.GRADE_DIFFERS, problem, path)
            grades[use.grader] = grade
        if len(grades) == len(trial.grades):
            self._outcome(trial, one, grades, shown)
        return {f"{trial.trial}/{use.file}" for use in trial.grades}

    def _outcome(
        self, trial: RegradedTrial, one: Checked, grades: dict[str, Grade], shown: str
    ) -> None:
        try:
            decided = self._rules.decide(self._run.plan.accept, grades)
        except PolicyError:
            return  # A fault of the trial's own record already.
        if violations(one.trial.sightings):
            decided = Outcome.POLICY_VIOLATION
        allowed = {decided}
        if one.trial.graded_anyway and decided is not Outcome.POLICY_VIOLATION:
            passes = decided in COUNTS_AFTER_LIMIT and not self._run.plan.limits_are_failures
            allowed = {decided} if passes else {trial.was, one.trial.outcome} | _LIMITS
        if trial.outcome not in allowed:
            names = " or ".join(sorted(outcome.value for outcome in allowed))
            detail = f"{trial.trial} is {trial.outcome.value}, and its grades give {names}"
            self._fault(Code.OUTCOME_DIFFERS, detail, shown)

    def _unlisted_grades(self, checked: Mapping[str, Checked], known: set[str]) -> None:
        for path, one in checked.items():
            for name in one.later:
                place = place_of(f"{path}/{name}")
                kind = place.kind if place else None
                if kind is FileKind.REGRADED_GRADE and f"{path}/{name}" not in known:
                    detail = "no record of grading again names it"
                    self._fault(Code.FILE_UNLISTED, detail, f"{self._run.path}/{path}/{name}")

    def _generations(self, contents: Mapping[str, bytes]) -> None:
        found: list[str] = []
        for path, data in sorted(contents.items()):
            place = place_of(path)
            if place is None or place.kind is not FileKind.GENERATION:
                continue
            shown = f"{self._run.path}/{path}"
            generation = read_record(Generation, data, shown, self._findings)
            if generation is None:
                continue
            folder = generation_folder(generation.id)
            if (generation.run, f"{folder}/{GENERATION}") != (self._run.plan.path, path):
                detail = f"it is the generation {generation.run}/{generation.id}"
                self._fault(Code.RECORD_MISPLACED, detail, shown)
                continue
            found.append(folder)
            for name, digest in generation.files.items():
                there = contents.get(f"{folder}/{name}")
                if there is None:
                    detail = f"{GENERATION} lists it with sha256 {digest}"
                    self._fault(Code.ARTIFACT_MISSING, detail, f"{self._run.path}/{folder}/{name}")
                elif sha256(there) != digest:
                    detail = f"its sha256 is {sha256(there)}, recorded is {digest}"
                    self._fault(Code.ARTIFACT_DIFFERS, detail, f"{self._run.path}/{folder}/{name}")
        self.generations = tuple(found)

    def _fault(self, code: Code, detail: str, path: str) -> None:
        self._findings.fault(code, detail, path=path)


def _judge_problem(use: RegradedGrade, grade: Grade) -> str | None:
    """Where the line on a judge's grade says something else than the grade, or None."""
    judgement = grade.judgement
    said = (None, None) if judgement is None else (judgement.verdict, judgement.trust)
    if (use.verdict, use.trust) == said:
        return None
    return f"the judge says {said[0]} at trust {said[1]}, recorded is {use.verdict} at {use.trust}"
