"""The sessions of a trial against the plan, against each other, and against their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from trialbook.errors import Refused
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan, PlannedTask
from trialbook.model.runfiles import (
    PATCH,
    SERIES,
    SESSIONS,
    TRIAL,
    attempt_folder,
    handover_path,
    notes_patch,
    planted_patch,
    session_folder,
    session_grade,
    session_patch,
)
from trialbook.model.series import CONTINUE
from trialbook.model.series_record import SeriesRecord
from trialbook.model.session import CUT, Commit, Handover, SessionRecord
from trialbook.model.trial import Trial
from trialbook.model.usage import Usage, added
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings
from trialbook.verify.reading import read_record
from trialbook.verify.rules import NotHere, Rules
from trialbook.verify.series import series_faults

# A trial that ended so may have ended before its last session.
_CUT_SHORT = frozenset(
    {
        Outcome.CANCELLED,
        Outcome.ENVIRONMENT_FAILURE,
        Outcome.PROVIDER_OUTAGE,
        Outcome.POLICY_VIOLATION,
    }
)
_UNREADABLE = "patches of sessions against the trees that they began and ended with"

_Step = tuple[str, bytes, str]
"""A patch: where it is, its bytes, and the tree that it has to give."""


def session_faults(plan: Plan, trial: Trial) -> Iterator[str]:
    """What cannot be as it is in the record's sessions, one sentence each."""
    task = plan.tasks.get(trial.task)
    if task is None:
        return
    if not task.sessions:
        if trial.sessions:
            yield "it has sessions, and its task has none"
        return
    numbers = [one.session for one in trial.sessions]
    if numbers != list(range(1, len(numbers) + 1)) or len(numbers) > len(task.sessions):
        yield f"its sessions are {numbers}, and the plan has {len(task.sessions)}"
        return
    for one in trial.sessions:
        yield from _one(task, trial, one)
    yield from _chain(trial)
    yield from _commits(trial)
    yield from _own(trial)
    yield from _number(task, trial)
    yield from _attempts(trial)


def _one(task: PlannedTask, trial: Trial, one: SessionRecord) -> Iterator[str]:
    planned = task.sessions[one.session - 1]
    which = f"session {one.session}"
    if one.name != planned.name:
        yield f"{which} is called {one.name}, planned is {planned.name}"
    if one.brief_sha256 not in planned.briefs:
        yield f"the brief of {which} has sha256 {one.brief_sha256}, which none of the plan has"
    if one.regression is not None and one.regression > len(planned.regressions):
        yield f"{which} used a regression that the plan does not have"
    for given in one.grades:
        uses = planned.graders.get(given.part.value, {})
        if given.grade.grader not in uses:
            yield f"{which} has a grade of {given.part.value} that the plan does not ask for"
    yield from _parts(trial, one, which)


def _parts(trial: Trial, one: SessionRecord, which: str) -> Iterator[str]:
    """A session against its attempts, and against itself."""
    used = [two.usage or Usage() for two in trial.attempts if two.session == one.session]
    unknown = [Usage()] if one.interrupted else []
    if added([*used, *unknown]) != one.usage:
        yield f"the usage of {which} is not the sum of what its attempts used"
    if one.change is not None and one.change.tree != one.end.tree:
        yield f"the change of {which} gives another tree than it ended with"
    for state in (one.start, one.end):
        if state.commits and state.commits[-1].id != state.head:
            yield f"the newest commit of {which} is not the last of its commits"
    if one.outcome is None and (used or one.start != one.end):
        yield f"{which} was left out, and something happened in it"


def _chain(trial: Trial) -> Iterator[str]:
    """The first session begins with the baseline, and the last one ends with the trial's tree."""
    first = trial.sessions[0] if trial.sessions else None
    workspace, change = trial.workspace, trial.change
    if first is not None and workspace is not None:
        began = (first.start.tree, first.start.head, first.start.commits)
        if began != (workspace.baseline_tree, workspace.baseline_commit, ()):
            yield "its first session did not begin with the baseline"
    if first is not None and change is not None and trial.sessions[-1].end.tree != change.tree:
        yield "its last session ended with another tree than the trial"


def _commits(trial: Trial) -> Iterator[str]:
    """A commit is one thing: what is said of it is the same wherever it stands."""
    known: dict[str, Commit] = {}
    for one in trial.sessions:
        for commit in (*one.start.commits, *one.end.commits):
            first = known.setdefault(commit.id, commit)
            if (first.tree, first.subject) != (commit.tree, commit.subject):
                yield f"session {one.session} says something else of commit {commit.id[:12]}"
            elif not _agree(first.body, commit.body):
                yield f"session {one.session} has another message of commit {commit.id[:12]}"
            if "\n" in commit.subject or (commit.body and not commit.subject):
                yield f"the message of commit {commit.id[:12]} cannot be parted as it is"


def _agree(one: str, two: str) -> bool:
    """Whether two texts may be of one message, each cut where there was no more room."""
    short, long = sorted((one, two), key=len)
    return one == two or (short.endswith(CUT) and long.startswith(short.removesuffix(CUT)))


def _own(trial: Trial) -> Iterator[str]:
    """Only where something was laid in is a change of the agents' own beside the whole one."""
    change, ran = trial.change, [one for one in trial.sessions if one.outcome is not None]
    if change is None:
        return
    laid = any(two.start.head != one.end.head for one, two in pairwise(ran))
    if change.own is not None and not laid:
        yield "it has a change of the agents' own, and nothing was laid in between its sessions"


def _number(task: PlannedTask, trial: Trial) -> Iterator[str]:
    """Whether there are fewer sessions than planned for a reason that the plan allows."""
    if len(trial.sessions) == len(task.sessions) or trial.outcome in _CUT_SHORT:
        return
    last = trial.sessions[-1] if trial.sessions else None
    left_out = last is not None and last.outcome is None
    failed = last is not None and last.outcome is not Outcome.ACCEPTED
    if not left_out and not (failed and task.after_failure != CONTINUE):
        yield f"it has {len(trial.sessions)} sessions, and the plan {len(task.sessions)}"


def _attempts(trial: Trial) -> Iterator[str]:
    known = {one.session for one in trial.sessions}
    most = len(known) + (trial.outcome in _CUT_SHORT)
    extra = sorted({one.session for one in trial.attempts} - known)
    if extra and extra != [most]:
        yield f"it has attempts of session {extra[-1]}, and no record of that"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFiles:
    """Checks the files of a trial's sessions; ``folder`` is the trial's, ``contents`` its files."""

    plan: Plan
    trial: Trial
    folder: str
    contents: Mapping[str, bytes]
    findings: Findings
    rules: Rules

    def check(self) -> None:
        """Check handovers, patches and which files there are."""
        for detail in session_faults(self.plan, self.trial):
            self._fault(detail, TRIAL)
        before: SessionRecord | None = None
        for one in self.trial.sessions:
            self._handover(one, before)
            before = one
        self._strays()
        self._patches()
        self._series()

    def _series(self) -> None:
        """What was tried over all sessions speaks of the trees that they left."""
        data = self.contents.get(SERIES)
        if data is None:
            return
        tried = read_record(SeriesRecord, data, f"{self.folder}/{SERIES}", self.findings)
        for detail in series_faults(self.trial, tried) if tried is not None else ():
            self._fault(detail, SERIES)

    def _handover(self, one: SessionRecord, before: SessionRecord | None) -> None:
        """A session began with what the one before left, or with what was planted on top."""
        path = handover_path(one.session)
        data = self.contents.get(path)
        if data is None:
            self._fault("the session has no record of its handover", path)
            return
        handed = read_record(Handover, data, f"{self.folder}/{path}", self.findings)
        if handed is None:
            return
        left = None if before is None else before.end
        carried = None if left is None else replace(left, lost="")
        planted = handed.planted is not None and handed.planted.commit is not None
        equal = carried in (None, one.start)
        asked = (
            ((handed.session, handed.name), (one.session, one.name), "it is of another session"),
            (handed.start, one.start, "the repository at its start is not that of the record"),
            (handed.before, left, "the repository before is not what the session before left"),
            (handed.equal, equal, "it does not say truly whether both are the same"),
            (handed.brief_sha256, one.brief_sha256, "its brief is not that of the record"),
            (equal, not planted, "the session did not begin with what the one before left"),
        )
        for said, wanted, detail in asked:
            if said != wanted:
                self._fault(detail, path)
        if planted and handed.planted is not None and handed.planted.commit != one.start.head:
            self._fault("what was laid in is not the newest commit", path)

    def _strays(self) -> None:
        """Files of sessions that the record's sessions do not account for."""
        known: set[str] = set()
        for one in self.trial.sessions:
            number = one.session
            known |= {handover_path(number), session_patch(number), notes_patch(number)}
            known |= {planted_patch(number), f"{session_folder(number)}/egress.jsonl"}
            known |= {session_grade(number, given.part, given.moment) for given in one.grades}
        for path in self.contents:
            parts = path.split("/")
            inside = path.startswith(f"{SESSIONS}/") and not _of_attempt(parts)
            if inside and path not in known and path in self.trial.artifacts:
                self._fault("no session of the record accounts for it", path)

    def _patches(self) -> None:
        """Patch by patch from the baseline: each gives the tree that its session has on record."""
        steps = list(self._steps())
        if not self._give(steps):
            return
        for attempt in self.trial.attempts:
            path = f"{attempt_folder(attempt.session, attempt.attempt)}/{PATCH}"
            patch, change = self.contents.get(path), attempt.change
            if patch is None or change is None or change.redacted:
                continue
            if attempt.session > len(self.trial.sessions):
                why = "the session of an attempt did not come to its end"
                self.findings.not_checked(_UNREADABLE, why, "there is nothing to do about it")
                continue
            own = session_patch(attempt.session)
            if all(step[0] != own for step in steps):
                continue  # What comes before it cannot be had, which is told.
            before = list(takewhile(lambda step: step[0] != own, steps))  # noqa: B023 - used at once
            self._give([*before, (path, patch, change.tree)])

    def _give(self, steps: list[_Step]) -> bool:
        """Whether patches in turn give the trees that they have to; what does not is told."""
        if not steps:
            return True
        try:
            trees = self.rules.chained(self.plan, self.trial, [patch for _, patch, _ in steps])
        except NotHere as missing:
            self.findings.not_checked(_UNREADABLE, missing.message, missing.hint)
            return False
        except Refused as refusal:
            detail = f"the patches of its sessions do not apply in turn: {refusal.message}"
            self.findings.fault(Code.PATCH_TREE_DIFFERS, detail, path=f"{self.folder}/{TRIAL}")
            return False
        for (path, _, wanted), tree in zip(steps, trees, strict=True):
            if tree != wanted:
                detail = f"it gives the tree {tree}, recorded is {wanted}"
                self.findings.fault(Code.PATCH_TREE_DIFFERS, detail, path=f"{self.folder}/{path}")
                return False
        return True

    def _steps(self) -> Iterator[_Step]:
        """Each patch in turn: where it is, its bytes, and the tree that it has to give."""
        for one in self.trial.sessions:
            planted = self.contents.get(planted_patch(one.session))
            if planted is not None:
                yield planted_patch(one.session), planted, one.start.tree
            if one.change is None:
                continue
            path = session_patch(one.session)
            patch = self.contents.get(path)
            if patch is None:
                detail = "the record has a change, and the patch is gone"
                self.findings.fault(Code.PATCH_DIFFERS, detail, path=f"{self.folder}/{path}")
                return
            if one.change.redacted:
                self.findings.not_checked(
                    _UNREADABLE,
                    "something secret was taken out of a patch",
                    "only a run without the secret can show it",
                )
                return
            yield path, patch, one.end.tree

    def _fault(self, detail: str, path: str) -> None:
        self.findings.fault(Code.SESSION_DIFFERS, detail, path=f"{self.folder}/{path}")


def _of_attempt(parts: list[str]) -> bool:
    place = 2
    return len(parts) > place and parts[place].startswith("attempt-")
