"""What came before what: records against the commits that added them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trialbook.model.paths import path_to_text
from trialbook.model.runfiles import PLAN, REPORT, RESULTS, TRIAL, FileKind, place_of
from trialbook.verify.codes import Code
from trialbook.verify.commits import Commit
from trialbook.verify.findings import Findings
from trialbook.verify.history import Added, RunHistory
from trialbook.verify.incidents import IncidentAnswer
from trialbook.verify.reviews import ReviewAnswer
from trialbook.verify.run import RunAnswer

_LATER = {
    FileKind.AMENDMENT,
    FileKind.RECONCILIATION,
    FileKind.REGRADED_GRADE,
    FileKind.REVIEW,
}


class OrderCheck:
    """Checks when the parts of runs came in."""

    def __init__(self, commits: Mapping[bytes, Commit], findings: Findings) -> None:
        self._commits = commits
        self._findings = findings

    def check(self, answer: RunAnswer, history: RunHistory) -> None:
        """Check one run against its history."""
        folder = f"runs/{answer.path}"
        plans = history.files.get(PLAN.encode(), [])
        for path, named in answer.trials.items():
            for added in history.trials.get(path.encode("utf-8", "surrogateescape"), []):
                self._trial(added, named, plans, f"{folder}/{path}")
        for later, commit in history.later.items():
            self._later(path_to_text(later), commit, folder)
        self._results(history, folder)
        self._regrades(history, folder)
        for path, trials in answer.unspoken.items():
            self._partial(path, trials, history, folder)
        self._incidents(answer.incidents, history, folder)
        self._reviews(answer.reviews, history, folder)

    def _trial(self, added: Added, named: str, plans: list[bytes], path: str) -> None:
        commit = added.commit.hex()
        if not added.planned:
            detail = "no parent of the commit that added it has the plan"
            self._findings.fault(Code.PLAN_AFTER_TRIAL, detail, path=path, commit=commit)
        if not added.follows:
            detail = "no parent of the commit that added it has the trial before it"
            self._findings.fault(Code.RERUN_BEFORE_REPLACED, detail, path=path, commit=commit)
        known = {oid.hex() for oid in plans}
        alone = len(plans) == 1
        if not plans or (named in known and (alone or leads(self._commits, added.commit, named))):
            return
        detail = f"it names {named or 'none'}, the plan was added by {' and '.join(sorted(known))}"
        self._findings.fault(Code.PLAN_COMMIT_WRONG, detail, path=f"{path}/{TRIAL}", commit=commit)

    def _later(self, path: str, commit: bytes, folder: str) -> None:
        place = place_of(path)
        if place is not None and place.kind in _LATER:
            return
        detail = "it was added to a trial that was in the ledger already"
        self._findings.fault(Code.TRIAL_APART, detail, path=f"{folder}/{path}", commit=commit.hex())

    def _results(self, history: RunHistory, folder: str) -> None:
        for name in (RESULTS, REPORT):
            for commit in history.files.get(name.encode(), [])[1:]:
                self._findings.fault(
                    Code.RESULTS_TWICE,
                    f"it was added by {history.files[name.encode()][0].hex()} before",
                    path=f"{folder}/{name}",
                    commit=commit.hex(),
                )
        together = [set(history.files.get(name.encode(), [])) for name in (RESULTS, REPORT)]
        for commit in sorted(together[0] ^ together[1]):
            name = RESULTS if commit in together[0] else REPORT
            self._findings.fault(
                Code.RESULTS_APART,
                "the commit adds only one of the two",
                path=f"{folder}/{name}",
                commit=commit.hex(),
            )

    def _regrades(self, history: RunHistory, folder: str) -> None:
        """Later grades come in the commit of the record that names them."""
        for path, commit in history.later.items():
            place = place_of(path_to_text(path))
            if place is None or place.kind is not FileKind.REGRADED_GRADE:
                continue
            if commit not in history.files.get(f"regrades/{place.id}.json".encode(), []):
                self._findings.fault(
                    Code.TRIAL_APART,
                    f"the commit does not add regrades/{place.id}.json, which names it",
                    path=f"{folder}/{path_to_text(path)}",
                    commit=commit.hex(),
                )

    def _partial(
        self, path: str, trials: tuple[str, ...], history: RunHistory, folder: str
    ) -> None:
        """A later grading speaks of every graded trial that was there before it."""
        for commit in history.files.get(path.encode(), []):
            for trial in trials:
                added = history.trials.get(trial.encode("utf-8", "surrogateescape"), [])
                if any(leads(self._commits, commit, one.commit.hex()) for one in added):
                    self._findings.fault(
                        Code.REGRADE_PARTIAL,
                        f"it neither judges {trial} nor leaves it out with a reason",
                        path=f"{folder}/{path}",
                        commit=commit.hex(),
                    )

    def _incidents(self, incidents: IncidentAnswer, history: RunHistory, folder: str) -> None:
        """Openings before closings; closings name what ran; and they precede what they allow."""
        for closing, opening in incidents.opened.items():
            for commit in history.files.get(closing.encode(), []):
                if not self._before(history.files.get(opening.encode(), []), commit):
                    detail = f"{opening} is not in its history"
                    self._fault(Code.INCIDENT_UNOPENED, detail, f"{folder}/{closing}", commit)
        for closing, trials in incidents.unnamed.items():
            for commit in history.files.get(closing.encode(), []):
                for trial in trials:
                    if self._before(_added(history, trial), commit):
                        detail = f"it does not name {trial}, which ran at that time"
                        self._fault(Code.INCIDENT_DIFFERS, detail, f"{folder}/{closing}", commit)
        self._excused(incidents, history, folder)

    def _excused(self, incidents: IncidentAnswer, history: RunHistory, folder: str) -> None:
        for trial, closings in incidents.excused.items():
            allowed = [oid for path in closings for oid in history.files.get(path.encode(), [])]
            for commit in _added(history, trial):
                # One that comes in with the rerun was not there when it was made.
                if not self._before([oid for oid in allowed if oid != commit], commit):
                    detail = "its incident was not closed with the decision to rerun before"
                    self._fault(Code.RERUN_INCIDENT, detail, f"{folder}/{trial}", commit)

    def _reviews(self, reviews: ReviewAnswer, history: RunHistory, folder: str) -> None:
        """Reviews come before the reconciliation that is about them."""
        for path, originals in reviews.reconciled.items():
            added = history.later.get(path.encode("utf-8", "surrogateescape"))
            for original in originals:
                if added and not self._before(history.files.get(original.encode(), []), added):
                    detail = f"{original} is not in its history"
                    self._fault(Code.RECONCILIATION_EARLY, detail, f"{folder}/{path}", added)

    def _before(self, earlier: Iterable[bytes], commit: bytes) -> bool:
        """Whether one of the commits is in the history of another, or is that itself."""
        return any(leads(self._commits, commit, oid.hex()) for oid in earlier)

    def _fault(self, code: Code, detail: str, path: str, commit: bytes) -> None:
        self._findings.fault(code, detail, path=path, commit=commit.hex())


def _added(history: RunHistory, trial: str) -> list[bytes]:
    """The commits that added a trial."""
    found = history.trials.get(trial.encode("utf-8", "surrogateescape"), [])
    return [added.commit for added in found]


def leads(commits: Mapping[bytes, Commit], start: bytes, ancestor: str) -> bool:
    """Whether the history of a commit has another one, which is named in hexadecimal."""
    wanted = bytes.fromhex(ancestor)
    seen = {start}
    pending = [start]
    while pending:
        oid = pending.pop()
        if oid == wanted:
            return True
        fresh = [one for one in commits[oid].parents if one not in seen]
        seen.update(fresh)
        pending += fresh
    return False
