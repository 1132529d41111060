"""Facts about one trial for its reviewers: how the agent worked, and what its change is like.

Made from the trial's committed files whenever it is looked at, so that anyone gets the same ones
from a clone. They are hints and never part of an outcome.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trialbook.errors import Refused
from trialbook.formats.patch import FilePatch, parse_patch
from trialbook.formats.records import RecordError, from_json
from trialbook.model.client import Claim, ClaimKind
from trialbook.model.evidence import Sighting
from trialbook.model.path_patterns import is_covered
from trialbook.model.paths import path_to_text
from trialbook.model.plan import Plan
from trialbook.model.runfiles import (
    OWN_PATCH,
    PATCH,
    TRAJECTORY,
    attempt_folder,
    session_patch,
)
from trialbook.model.trajectory import Trajectory
from trialbook.model.trial import Trial
from trialbook.stats.conduct import Conduct, conduct
from trialbook.storage.reader import Reader, RunRef

_TRAJECTORY = re.compile(r"sessions/(\d{1,6})/attempt-(\d{1,6})/" + re.escape(TRAJECTORY))
TEST_KINDS = ("test_deleted", "assertions_removed", "assertion_weakened", "test_skipped")
"""What the report on tampering may see of tests that are gone or say less."""

_REWRITTEN_SHARE = 0.5
_REWRITTEN_LINES = 100
_MOST_FILES = 20
_MOST_BYTES = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """One attempt: how the agent worked, and what it says about tests beside how they ended.

    ``conduct`` is None where there is no trajectory; ``unreadable`` says why one cannot be read.
    ``claim_holds`` is about the agent's last claim and its own last run of tests: False if they
    contradict each other, None if there is nothing to compare.
    """

    session: int
    attempt: int
    conduct: Conduct | None
    unreadable: str = ""
    claims: tuple[Claim, ...] = ()
    claim_holds: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRewrite:
    """How much of a file is gone: lines taken out, and those that it had."""

    path: str
    deleted: int
    lines: int
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFacts:
    """What a change is like. Binary files have no lines.

    ``rewrites`` has the files that lines are gone from, by how much of them is; None if that was
    not recorded. ``rewritten`` are the paths of those with more than 100 lines of which more than
    half are gone. ``outside_lines`` are the changed lines outside the task's scope, None if it
    names none; ``outside`` the files that have them.
    """

    changed_lines: int
    rewrites: tuple[FileRewrite, ...] | None
    rewritten: tuple[str, ...] | None
    outside_lines: int | None
    outside_share: float | None
    outside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFacts:
    """All facts of one trial.

    ``tests`` counts what was seen of tests that are gone or say less, by kind; None if nothing
    looked. ``change`` is None where there is none, or its patch cannot be read or has more than
    20 MB.
    """

    attempts: tuple[AttemptFacts, ...]
    change: ChangeFacts | None
    tests: dict[str, int] | None

    @property
    def anything(self) -> bool:
        """Whether there is anything to tell of how the agent worked, or of its change."""
        return self.change is not None or any(one.conduct or one.claims for one in self.attempts)


def load_facts(reader: Reader, run: RunRef, plan: Plan, trial: Trial) -> TrialFacts:
    """The facts of a trial in the ledger.

    Raises:
        EnvironmentProblem: the ledger cannot be read.
    """
    left = set(_left(trial))
    names = [
        name
        for name in reader.files(run, trial.path)
        if _TRAJECTORY.fullmatch(name) or name in left
    ]
    data = {name: reader.file(run, f"{trial.path}/{name}") or b"" for name in names}
    task = plan.tasks.get(trial.task)
    scope = () if task is None else task.scope
    own = trial.change is not None and trial.change.own is not None
    patch = reader.file(run, f"{trial.path}/{OWN_PATCH if own else PATCH}")
    return trial_facts(trial, data, patch, scope)


def trial_facts(
    trial: Trial, trajectories: Mapping[str, bytes], patch: bytes | None, scope: Sequence[str] = ()
) -> TrialFacts:
    """The facts of a trial from its files.

    Args:
        trial: Its record.
        trajectories: Its trajectories by their paths in its folder, and in the same way the patches
            of attempts that another one followed.
        patch: Its ``change.patch``, if it has one; ``own.patch`` where something was laid in
            between sessions, which is not the agent's.
        scope: Patterns of the paths that an answer is expected to touch.
    """
    files = _read_patch(patch)
    changed = None if files is None else {path for one in files for path in _paths(one)}
    left = {
        place: {path for one in _read_patch(trajectories[name]) or () for path in _paths(one)}
        for name, place in _left(trial).items()
        if name in trajectories
    }
    read = {
        _place(name): _read(name, data)
        for name, data in trajectories.items()
        if not name.endswith(PATCH)
    }
    claims = {(one.session, one.attempt): one.claims for one in trial.attempts}
    return TrialFacts(
        attempts=tuple(
            _attempt(place, read.get(place), claims.get(place, ()), left.get(place, changed))
            for place in sorted({*claims, *read})
        ),
        change=None if files is None else change_facts(files, _lines_before(trial), scope),
        tests=tests_seen(trial.sightings),
    )


def _left(trial: Trial) -> dict[str, tuple[int, int]]:
    """What attempts left, by the path of the patch, with whose it is.

    These are those that another one followed, and in a series the last ones of each session.
    """
    last = {one.session: (one.session, one.attempt) for one in trial.attempts}
    ended = {
        session_patch(one.session): last[one.session]
        for one in trial.sessions
        if one.change is not None and one.session in last
    }
    return ended | {
        f"{attempt_folder(one.session, one.attempt)}/{PATCH}": (one.session, one.attempt)
        for one in trial.attempts
        if one.change is not None
    }


def tests_seen(sightings: Iterable[Sighting] | None) -> dict[str, int] | None:
    """What the report on tampering saw of tests that are gone or say less, by kind."""
    if sightings is None:
        return None
    counted = Counter(one.kind for one in sightings)
    return {kind: counted[kind] for kind in TEST_KINDS if counted[kind]}


def change_facts(
    files: Sequence[FilePatch], lines_before: Mapping[str, int] | None, scope: Sequence[str]
) -> ChangeFacts:
    """What a change is like, from its patch and how many lines its files had."""
    counted = [(one, (one.insertions or 0) + (one.deletions or 0)) for one in files]
    total = sum(lines for _, lines in counted)
    outside = [(one, n) for one, n in counted if not is_covered(path_to_text(one.path), scope)]
    beyond = sum(lines for _, lines in outside)
    rewrites = None if lines_before is None else _rewrites(files, lines_before)
    return ChangeFacts(
        changed_lines=total,
        rewrites=None if rewrites is None else tuple(rewrites[:_MOST_FILES]),
        rewritten=None
        if rewrites is None
        else tuple(
            one.path
            for one in rewrites
            if one.lines > _REWRITTEN_LINES and one.ratio > _REWRITTEN_SHARE
        )[:_MOST_FILES],
        outside_lines=beyond if scope else None,
        outside_share=beyond / total if scope and total else None,
        outside=tuple(path_to_text(one.path) for one, _ in outside[:_MOST_FILES]) if scope else (),
    )


def _rewrites(files: Sequence[FilePatch], lines_before: Mapping[str, int]) -> list[FileRewrite]:
    found = []
    for one in files:
        path = path_to_text(one.old_path or one.path)
        deleted, had = one.deletions or 0, lines_before.get(path, 0)
        if deleted and had:
            ratio = min(1.0, deleted / had)
            found.append(FileRewrite(path=path, deleted=deleted, lines=had, ratio=ratio))
    return sorted(found, key=lambda one: (-one.ratio, -one.lines, one.path))


def _lines_before(trial: Trial) -> Mapping[str, int] | None:
    """What the record has of it; None in one of an older version that does not tell."""
    change = None if trial.change is None else trial.change.by_agent
    if change is None or (change.deletions and not change.lines_before):
        return None
    return change.lines_before


def _attempt(
    place: tuple[int, int],
    read: Trajectory | str | None,
    claims: tuple[Claim, ...],
    changed: set[str] | None,
) -> AttemptFacts:
    made = conduct(read, changed) if isinstance(read, Trajectory) else None
    return AttemptFacts(
        session=place[0],
        attempt=place[1],
        conduct=made,
        unreadable=read if isinstance(read, str) else "",
        claims=claims,
        claim_holds=_holds(claims, made),
    )


def _holds(claims: Sequence[Claim], made: Conduct | None) -> bool | None:
    """Whether the last claim is what the agent's own last tests came to."""
    if not claims or made is None:
        return None
    said, ran = claims[-1].kind, made.last_tests
    if said is ClaimKind.NOT_RUN:
        # It may speak of other tests than those that it ran.
        return True if ran is None and made.whole else None
    if ran is None or ran.passed is None:
        return None
    return ran.passed is (said is ClaimKind.PASSED)


def _read_patch(patch: bytes | None) -> list[FilePatch] | None:
    if patch is None or len(patch) > _MOST_BYTES:
        return None
    try:
        return parse_patch(patch)
    except Refused:
        return None


def _paths(file: FilePatch) -> Iterable[str]:
    return (path_to_text(path) for path in (file.old_path, file.new_path) if path is not None)


def _place(name: str) -> tuple[int, int]:
    match = _TRAJECTORY.fullmatch(name)
    return (0, 0) if match is None else (int(match[1]), int(match[2]))


def _read(name: str, data: bytes) -> Trajectory | str:
    try:
        return from_json(Trajectory, data, name)
    except RecordError as error:
        return str(error)
