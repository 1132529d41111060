"""Verifies what judges are trusted with: calibrations made again, and the trust that grades name.

Rules that findings became are read here, too, and what was found out about failed gates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from trialbook.errors import TrialbookError
from trialbook.formats.records import RecordError
from trialbook.model.alarm import Alarm
from trialbook.model.calibration import Calibration
from trialbook.model.grade import Grade
from trialbook.model.judgement import Judgement, identity_digest
from trialbook.model.ledgerfiles import (
    ALARMS,
    RUBRICS,
    RULES,
    alarm_path,
    calibration_path,
    calibrations_folder,
    records_folder,
    rule_path,
)
from trialbook.model.regrade import Regrade
from trialbook.model.rule import Rule
from trialbook.model.runfiles import regrade_path, regraded_grade
from trialbook.model.trust import TrustLevel
from trialbook.storage.calibrations import calibration_faults
from trialbook.storage.corrections import regrades
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.trust import trust_of
from trialbook.system import parse_timestamp
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings
from trialbook.verify.reading import read_record
from trialbook.workflow.resolving import linked_path

T = TypeVar("T", Calibration, Rule, Alarm)

_LEVELS = tuple(TrustLevel)


def check_judges(root: Path, head: str, only: RunRef | None, findings: Findings) -> None:
    """Check every calibration, rule and alarm, and the trust in every judge's grade.

    Args:
        root: The ledger.
        head: The commit to look at.
        only: Look at the grades of this run only.
        findings: Where faults go.
    """
    reader = Reader.open(root, head)
    check = _JudgeCheck(root, reader, findings)
    check.calibrations()
    check.rules()
    check.alarms()
    for run in reader.runs():
        if only in (None, run):
            check.grades(run)
    reader.close()


@dataclass(frozen=True, slots=True)
class _JudgeCheck:
    root: Path
    reader: Reader
    findings: Findings

    def calibrations(self) -> None:
        """Each follows from the ledger as it was when it came."""
        for rubric in self.reader.ledger_names(RUBRICS):
            for path, record in self._records(calibrations_folder(rubric), Calibration):
                if calibration_path(record.rubric, record.id) != path:
                    detail = f"it is the calibration {record.rubric}/{record.id}"
                    self.findings.fault(Code.RECORD_MISPLACED, detail, path=path)
                    continue
                self._made_again(path, record)

    def rules(self) -> None:
        """Each can be read, and is where it says."""
        for path, record in self._records(RULES, Rule):
            if rule_path(record.id) != path:
                self.findings.fault(Code.RECORD_MISPLACED, f"it is the rule {record.id}", path=path)
            elif problem := self._link(record):
                self.findings.fault(Code.RULE_LINK, problem, path=path)

    def alarms(self) -> None:
        """Each can be read, and is where it says."""
        for path, record in self._records(ALARMS, Alarm):
            if alarm_path(record.id) != path:
                detail = f"it is the alarm {record.id}"
                self.findings.fault(Code.RECORD_MISPLACED, detail, path=path)

    def _link(self, record: Rule) -> str:
        """What is wrong with a rule's link; empty if nothing is."""
        try:
            path = linked_path(record.link)
            if path is None:
                return ""
            then = Reader.open(self.root, record.commit)
        except TrialbookError as error:
            return error.message
        there = bool(record.commit) and then.has(path)
        then.close()
        return "" if there else f"{record.commit or 'no commit'} has no {path}"

    def grades(self, run: RunRef) -> None:
        """No grade trusts its judge further than the calibrations before it allow."""
        try:
            found = regrades(self.reader, run)
        except RecordError:
            return  # A fault already.
        for regrade in found:
            above = _trusted(regrade)
            if above:
                self._trusted(run, regrade, above)

    def _records(self, folder: str, kind: type[T]) -> Iterator[tuple[str, T]]:
        for name in self.reader.ledger_names(folder):
            path = f"{folder}/{name}"
            data = self.reader.ledger_file(path)
            if records_folder(path) is None or data is None:
                detail = "no record of the program has such a name"
                self.findings.fault(Code.FILE_UNLISTED, detail, path=path)
                continue
            record = read_record(kind, data, path, self.findings)
            if record is not None:
                yield path, record

    def _made_again(self, path: str, record: Calibration) -> None:
        added = self.reader.record_added(path)
        if added is None:
            return
        then = Reader.open(self.root, added)
        try:
            problems = calibration_faults(self.root, then, record)
        except TrialbookError as error:
            problems = [f"it cannot be made again: {error.message}"]
        finally:
            then.close()
        for problem in problems:
            self.findings.fault(Code.CALIBRATION_DIFFERS, problem, path=path, commit=added)

    def _trusted(self, run: RunRef, regrade: Regrade, above: list[tuple[str, TrustLevel]]) -> None:
        added = self.reader.commit_of(run, regrade_path(regrade.id))
        if added is None:
            return
        then = Reader.open(self.root, added)
        allowed: dict[str, TrustLevel] = {}
        for file, level in above:
            path = f"runs/{run.path}/{file}"
            try:
                judgement = then.record(Grade, run, file).judgement
                if judgement is None:
                    continue
                key = judgement.identity.sha256
                if key != identity_digest(judgement.identity):
                    detail = "the judge's digest is not that of what the grade says of the judge"
                    self.findings.fault(Code.TRUST_DIFFERS, detail, path=path, commit=added)
                if key not in allowed:
                    allowed[key] = self._allowed(then, judgement, regrade.created)
            except (TrialbookError, ValueError):
                continue  # A fault already.
            if _LEVELS.index(level) > _LEVELS.index(allowed[key]):
                detail = f"it is trusted as {level}, and was {allowed[key]} at {regrade.created}"
                self.findings.fault(Code.TRUST_DIFFERS, detail, path=path, commit=added)
        then.close()

    def _allowed(self, then: Reader, judgement: Judgement, created: str) -> TrustLevel:
        when = parse_timestamp(created)
        return trust_of(self.root, then, judgement.identity, judgement.rubric, when).level


def _trusted(regrade: Regrade) -> list[tuple[str, TrustLevel]]:
    """The new grades of a generation that say more of their judge than that it is uncalibrated."""
    return [
        (f"{trial.trial}/{use.file}", use.trust)
        for trial in regrade.trials
        for use in trial.grades
        if use.trust is not None
        and use.trust is not TrustLevel.UNCALIBRATED
        and use.file == regraded_grade(regrade.id, use.grader)
    ]
