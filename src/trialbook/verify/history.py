"""What each commit did to the records, seen against every one of its parents.

A path below ``runs/<suite>/<run>/``, a lock of a suite, a calibration or a rule that a parent has
must be in the child with the same mode and bytes: a merge that drops what one side had is caught
like any other commit.
Parts of trees that are the same are never opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from trialbook.model.runfiles import PLAN, TRIAL, FileKind, place_of, rerun_of
from trialbook.storage.objects import DIRECTORY
from trialbook.storage.raw_objects import Entry, entry_of
from trialbook.verify.codes import Code
from trialbook.verify.commits import Commit
from trialbook.verify.findings import Findings
from trialbook.verify.levels import BELOW, Level
from trialbook.verify.trees import Trees


class Added(NamedTuple):
    """When a trial's folder came in.

    ``planned`` says that a parent of the commit had the run's plan; ``follows`` that a parent had
    the trial before it in its chain (always true of first trials).
    """

    commit: bytes
    planned: bool
    follows: bool


@dataclass(slots=True)
class RunHistory:
    """When each part of a run came in; paths are relative to the run's folder.

    ``files`` holds the files outside of trials; ``later`` the files that were added to a trial's
    folder when that was there already.
    """

    trials: dict[bytes, list[Added]] = field(default_factory=dict)
    files: dict[bytes, list[bytes]] = field(default_factory=dict)
    later: dict[bytes, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class History:
    """What all commits did. ``writers`` are those that added something, oldest first."""

    runs: dict[bytes, RunHistory] = field(default_factory=dict)
    writers: list[bytes] = field(default_factory=list)

    def run(self, path: bytes) -> RunHistory:
        """The history of one run, by ``<suite>/<run>``."""
        return self.runs.setdefault(path, RunHistory())


_ID = 20
_MOST_PLACES = 50_000
_PLAN = PLAN.encode()
_RECORD = TRIAL.encode()


class _Place(NamedTuple):
    """A folder of the ledger: its level, its path in the repository, and the run it is in."""

    level: Level
    path: bytes
    run: bytes
    planned: bool


class HistoryWalk:
    """Goes through the commits, parents first, and collects faults and what was added.

    ``only`` is a run's ``<suite>/<run>``, to look at no other.
    """

    def __init__(
        self, trees: Trees, findings: Findings, prefix: bytes, only: bytes | None = None
    ) -> None:
        self._trees = trees
        self._findings = findings
        self._prefix = prefix
        self._above = [name for name in prefix.split(b"/") if name]
        suite, _, run = (only or b"").partition(b"/")
        self._names = {Level.RUNS: suite, Level.SUITES: suite, Level.SUITE: run}
        self._quiet: set[tuple[Level | bytes, ...]] = set()
        self._commit = b""
        self._whole = True
        self._plans: dict[bytes, bytes] = {}
        self._known: dict[tuple[_Place, bytes], _Place | None] = {}
        self._losses = 0
        self._additions = 0
        self.history = History()

    def go(self, commits: Mapping[bytes, Commit], tick: Callable[[], None]) -> History:
        """Compare every commit with all of its parents."""
        level = Level.ABOVE if self._above else Level.ROOT
        top = _Place(level, b"", b"", planned=False)
        for oid, commit in commits.items():
            before = self._additions
            self._commit, self._whole = oid, commit.whole
            self._compare(top, commit.tree, [commits[parent].tree for parent in commit.parents])
            if self._additions > before:
                self.history.writers.append(oid)
            tick()
        return self.history

    def _compare(self, place: _Place, child: bytes | None, parents: list[bytes]) -> None:
        """What became of a folder. ``child`` is None where it is gone."""
        if len(parents) == 1:
            self._compare_line(place, child, parents[0])
            return
        if parents and all(parent == child for parent in parents):
            return
        pair: tuple[Level | bytes, ...] = (place.level, child or b"", *sorted(parents))
        if pair in self._quiet:
            return
        counts = self._losses, self._additions
        now = self._read(child, place)
        before = [old for parent in parents if (old := self._read(parent, place)) is not None]
        if now is not None and len(before) == len(parents):
            gone = [raw for old in before for raw in old - now]
            self._apply(place, now, before, (now.difference(*before), gone))
        if counts == (self._losses, self._additions):
            self._quiet.add(pair)

    def _compare_line(self, place: _Place, child: bytes | None, parent: bytes) -> None:
        """A folder with one parent: go down for as long as one folder in it is all that differs."""
        while child != parent:
            old, now = self._read(parent, place), self._read(child, place, parent)
            if now is None or old is None:
                return
            fresh, gone = now - old, old - now
            if len(fresh) == 1 and len(gone) == 1:
                (new,), (was,) = fresh, gone
                below = self._inner(place, new, was, old)
                if below is not None:
                    place, child, parent = below, new[-_ID:], was[-_ID:]
                    continue
            self._apply(place, now, [old], (fresh, gone))
            return

    def _inner(self, place: _Place, new: bytes, was: bytes, old: frozenset[bytes]) -> _Place | None:
        """The place of a folder that is there before and after, or None for anything else."""
        head = new[:-_ID]
        if head != was[:-_ID]:
            return None
        if place.level is Level.RUN:
            place = place._replace(planned=self._has_plan(place, [old]))
        key = place, head
        if key not in self._known:
            if len(self._known) > _MOST_PLACES:
                self._known.clear()
            entry = entry_of(new)
            level = self._level_below(place, entry)
            self._known[key] = None if level is None else self._inside(place, entry.name, level)
        return self._known[key]

    def _has_plan(self, place: _Place, before: list[frozenset[bytes]]) -> bool:
        """Whether a parent has the plan of the run."""
        if any(self._plans.get(place.run, b"") in old for old in before):
            return True
        found = _find(before, _PLAN)
        if found is not None:
            self._plans[place.run] = found
        return found is not None

    def _apply(
        self,
        place: _Place,
        now: frozenset[bytes],
        before: list[frozenset[bytes]],
        differing: tuple[Iterable[bytes], Iterable[bytes]],
    ) -> None:
        """Judge what is in the child only, and what is in a parent only."""
        fresh = {raw: entry_of(raw) for raw in differing[0]}
        olds = _by_name(map(entry_of, differing[1]))
        if place.level is Level.RUN:
            place = place._replace(planned=self._has_plan(place, before))
        if olds:
            self._differences(place, now, fresh, olds)
        for entry in sorted(fresh.values()):
            if entry.name not in olds and self._whole:
                self._added(place, entry, before)

    def _differences(
        self,
        place: _Place,
        now: frozenset[bytes],
        fresh: Mapping[bytes, Entry],
        olds: Mapping[bytes, list[Entry]],
    ) -> None:
        news = {entry.name: entry for entry in fresh.values()}
        if any(name not in news for name in olds):
            # A merge may have it as another parent does: nothing in it can be new then.
            same = {entry.name: entry for entry in map(entry_of, now) if entry.name in olds}
            for name in olds.keys() & (same.keys() - news.keys()):
                olds[name].append(same[name])
            news |= same
        for name in sorted(olds):
            self._differs(place, name, news.get(name), olds[name])

    def _differs(self, place: _Place, name: bytes, new: Entry | None, olds: list[Entry]) -> None:
        """What is left of something that parents have, and that is not the same now."""
        if len(olds) > 1 and (
            self._recorded_twice(place, name, new, olds) or self._reviewed_twice(place, name, olds)
        ):
            return
        folders: list[bytes] = []
        level = Level.INSIDE
        for old in olds:
            opened = self._level_below(place, old)
            if opened is not None and (_is_folder(new) or _opens_lost(place.level)):
                level = opened
                folders.append(old.oid)
            elif old != new:
                self._lost(place, old, new)
        if folders:
            child = new.oid if new is not None and _is_folder(new) else None
            self._compare(self._inside(place, name, level), child, folders)

    def _recorded_twice(
        self, place: _Place, name: bytes, new: Entry | None, olds: list[Entry]
    ) -> bool:
        """Whether parents have a trial of the same name, and each another record of it."""
        if new is None or self._level_below(place, new) is not Level.TRIAL:
            return False
        inside = self._inside(place, name, Level.TRIAL)
        trees = [self._read(old.oid, inside) for old in olds if _is_folder(old)]
        records = {_find([tree], _RECORD) for tree in trees if tree} - {None}
        if len(records) > 1:
            self._losses += 1
            detail = f"its parents have {len(records)} records of it"
            path = self._trees.shown(inside.path)
            self._findings.fault(Code.TRIAL_TWICE, detail, path=path, commit=self._commit.hex())
        return len(records) > 1

    def _read(
        self, oid: bytes | None, place: _Place, like: bytes | None = None
    ) -> frozenset[bytes] | None:
        if oid is None:
            return frozenset()
        return self._trees.entries(oid, place.path, self._commit, like)

    def _level_below(self, place: _Place, entry: Entry) -> Level | None:
        """The level of a folder that is to be opened; None for files and for what is no record."""
        if entry.mode != DIRECTORY:
            return None
        if place.level is Level.ABOVE:
            depth = place.path.count(b"/") + 1 if place.path else 0
            last = depth + 1 == len(self._above)
            below = Level.ROOT if last else Level.ABOVE
            return below if entry.name == self._above[depth] else None
        if self._names.get(place.level) not in (None, b"", entry.name):
            return None
        rule = BELOW[place.level]
        return rule(entry.name) if callable(rule) else rule

    def _inside(self, place: _Place, name: bytes, level: Level) -> _Place:
        path = place.path + b"/" + name if place.path else name
        run = path[len(self._prefix) + 5 :] if level is Level.RUN else place.run
        return _Place(level, path, run, place.planned)

    def _lost(self, place: _Place, old: Entry, new: Entry | None) -> None:
        """A file or folder that was there is changed or gone: a fault in a run, and for a lock."""
        lock = place.level is Level.LOCKS
        run = self._level_below(place, old) is Level.RUN
        if not (lock or run or place.level >= Level.RECORDS):
            return
        self._losses += 1
        path = place.path + b"/" + old.name
        if new is None:
            code = Code.LOCK_REMOVED if lock else Code.RECORD_REMOVED
            what = "folder" if _is_folder(old) else "file"
            detail = f"the {what} is gone, and a parent of the commit has it"
        else:
            plan = place.level is Level.RUN and old.name == _PLAN
            code = Code.PLAN_CHANGED if plan else Code.RECORD_CHANGED
            code = Code.LOCK_CHANGED if lock else code
            code = Code.REVIEW_CHANGED if self._is_review(path) else code
            detail = _change(old, new)
        shown = self._trees.shown(path)
        self._findings.fault(code, detail, path=shown, commit=self._commit.hex())
        # What the history keeps of it is held against its name as well.
        self._trees.check(old, path, self._commit)

    def _reviewed_twice(self, place: _Place, name: bytes, olds: list[Entry]) -> bool:
        """Whether parents have a review of the same packet, and each another one."""
        path = place.path + b"/" + name
        if len({old.oid for old in olds}) == 1 or not self._is_review(path):
            return False
        self._losses += 1
        detail = f"its parents have {len({old.oid for old in olds})} reviews of it"
        shown = self._trees.shown(path)
        self._findings.fault(Code.REVIEW_TWICE, detail, path=shown, commit=self._commit.hex())
        return True

    def _is_review(self, path: bytes) -> bool:
        """Whether a path is that of a person's review of a packet."""
        inside = b"/".join(path.removeprefix(self._prefix).split(b"/")[3:])
        place = place_of(inside.decode("utf-8", "replace"))
        return place is not None and place.kind is FileKind.PACKET_REVIEW

    def _added(self, place: _Place, entry: Entry, before: list[frozenset[bytes]]) -> None:
        """Something whose name no parent has."""
        level = self._level_below(place, entry)
        if level is Level.TRIAL:
            self._added_trial(place, entry.name, before)
        elif level is not None:
            self._compare(self._inside(place, entry.name, level), entry.oid, [])
        elif place.level in (Level.LOCKS, Level.RECORDS):
            self._additions += 1
        elif place.level >= Level.RUN:
            self._added_file(place, entry.name)

    def _added_trial(self, place: _Place, name: bytes, before: list[frozenset[bytes]]) -> None:
        self._additions += 1
        follows = True
        repetition, rerun = rerun_of(name.decode()) or (0, 0)
        if rerun:
            earlier = f"r{repetition}" + (f".rerun{rerun - 1}" if rerun > 1 else "")
            follows = _find(before, earlier.encode()) is not None
        trial = b"/".join([*place.path.split(b"/")[-2:], name])
        added = Added(self._commit, place.planned, follows)
        self.history.run(place.run).trials.setdefault(trial, []).append(added)

    def _added_file(self, place: _Place, name: bytes) -> None:
        self._additions += 1
        run = self.history.run(place.run)
        inside = (place.path + b"/" + name)[len(self._prefix + b"runs/" + place.run + b"/") :]
        if place.level in (Level.TRIAL, Level.INSIDE) and _in_trial(inside):
            run.later[inside] = self._commit
        else:
            run.files.setdefault(inside, []).append(self._commit)


def _opens_lost(level: Level) -> bool:
    """Whether a folder that is gone is opened to see which records or locks went with it."""
    return level < Level.RUN and level is not Level.SUITE


def _by_name(entries: Iterable[Entry]) -> dict[bytes, list[Entry]]:
    found: dict[bytes, list[Entry]] = {}
    for entry in sorted(entries):
        found.setdefault(entry.name, []).append(entry)
    return found


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.mode == DIRECTORY


def _find(trees: Iterable[frozenset[bytes]], name: bytes) -> bytes | None:
    """The entry of that name in one of the trees, as it stands there."""
    middle, end = b" " + name + b"\0", len(name) + 22
    found = (raw for tree in trees for raw in tree if raw[-end:].startswith(middle))
    return next(found, None)


def _in_trial(path: bytes) -> bool:
    parts = path.split(b"/")
    deep = len(parts) > 3  # noqa: PLR2004 - task, configuration, trial
    return deep and rerun_of(parts[2].decode("utf-8", "replace")) is not None


def _change(old: Entry, new: Entry) -> str:
    if _is_folder(old) != _is_folder(new):
        was, now = ("folder", "file") if _is_folder(old) else ("file", "folder")
        return f"it was a {was} and became a {now}"
    if old.oid == new.oid:
        return f"its mode changed from {old.mode:06o} to {new.mode:06o}"
    return f"its bytes changed: {old.oid.hex()} became {new.oid.hex()}"
