"""Locks of suites against themselves, the plans that name them, and the suites as they are now."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trialbook.model.digest import sha256
from trialbook.model.lock import Lock, disagreements, lock_digest
from trialbook.model.paths import text_to_path
from trialbook.model.plan import Plan
from trialbook.storage.objects import DIRECTORY
from trialbook.storage.raw_objects import Entry
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings
from trialbook.verify.reading import read_record
from trialbook.verify.trees import Trees

_NAME = re.compile(r"([1-9][0-9]{0,8})\.json")
_PROTOCOL = re.compile(rb"^protocol:[ \t]*([1-9][0-9]{0,8})[ \t]*(?:#.*)?\r?$", re.MULTILINE)


class LockCheck:
    """Checks locks in the trees of commits. ``prefix`` is the ledger's folder in its repository."""

    def __init__(self, trees: Trees, findings: Findings, prefix: bytes) -> None:
        self._trees = trees
        self._findings = findings
        self._prefix = prefix

    def check_plan(self, plan: Plan, path: str, tree: bytes, commit: bytes) -> None:
        """Check a plan that says it is locked, in the tree of the commit that added it."""
        if plan.lock is None:
            self._fault(Code.LOCK_MISSING, "the plan names no lock", path, commit)
            return
        data = self._file(plan.lock.path.encode(), tree, commit)
        if data is None:
            detail = f"{plan.lock.path} was not in the commit of the plan"
            self._fault(Code.LOCK_MISSING, detail, path, commit)
            return
        if sha256(data) != plan.lock.sha256:
            detail = (
                f"{plan.lock.path} has sha256 {sha256(data)}, the plan names {plan.lock.sha256}"
            )
            self._fault(Code.LOCK_DIFFERS, detail, path, commit)
            return
        lock = read_record(Lock, data, plan.lock.path, self._findings)
        for difference in disagreements(lock, plan) if lock is not None else ():
            self._fault(Code.LOCK_DIFFERS, str(difference), path, commit)

    def check_head(self, tree: bytes, head: bytes, only: str | None = None) -> None:
        """Check every lock at the head, and suites against the lock of their number.

        ``only`` names a suite, to look at no other.
        """
        for suite, entries in self._suites(tree, head):
            if only not in (None, suite):
                continue
            for name, entry in sorted(entries.items()):
                match = _NAME.fullmatch(name)
                path = f"suites/{suite}/locks/{name}"
                if match is None or entry.mode == DIRECTORY:
                    continue
                lock = self._lock(path, entry, suite, int(match[1]), head)
                if lock is not None and lock.protocol == self._protocol(suite, tree, head):
                    self._check_suite(lock, suite, tree, head)

    def _suites(self, tree: bytes, head: bytes) -> Iterator[tuple[str, dict[str, Entry]]]:
        top = self._folder(b"suites", tree, head)
        for suite in self._trees.listing(top, b"suites", head) if top else ():
            if suite.mode != DIRECTORY:
                continue
            locks = self._folder(b"suites/" + suite.name + b"/locks", tree, head)
            if locks:
                listed = self._trees.listing(locks, b"locks", head)
                yield (
                    suite.name.decode("utf-8", "surrogateescape"),
                    {one.name.decode("utf-8", "surrogateescape"): one for one in listed},
                )

    def _lock(self, path: str, entry: Entry, suite: str, protocol: int, head: bytes) -> Lock | None:
        data = self._trees.blob(entry.oid, path.encode("utf-8", "surrogateescape"), head)
        lock = None if data is None else read_record(Lock, data, path, self._findings)
        if lock is None:
            return None
        if (lock.suite, lock.protocol) != (suite, protocol):
            detail = f"it is the lock of {lock.suite}@{lock.protocol}"
            self._fault(Code.RECORD_MISPLACED, detail, path, head)
            return None
        if lock_digest(lock.files) != lock.digest:
            detail = "its digest is not that of the files it lists"
            self._fault(Code.LOCK_UNREADABLE, detail, path, head)
        return lock

    def _protocol(self, suite: str, tree: bytes, head: bytes) -> int | None:
        data = self._file(f"suites/{suite}/suite.yaml".encode(), tree, head)
        match = _PROTOCOL.search(data or b"")
        return int(match[1]) if match else None

    def _check_suite(self, lock: Lock, suite: str, tree: bytes, head: bytes) -> None:
        private = re.compile(rf"suites/{re.escape(suite)}/tasks/[^/]+/private/")
        for path, recorded in lock.files.items():
            entry = self._entry(text_to_path(path), tree, head)
            if entry is None or entry.mode == DIRECTORY:
                if not private.match(path):
                    self._fault(Code.SUITE_DIFFERS, "it is gone", path, head)
                continue
            data = self._trees.blob(entry.oid, text_to_path(path), head)
            if data is not None and f"{entry.mode:06o} {sha256(data)}" != recorded:
                detail = f"it differs from the lock of {suite}@{lock.protocol}"
                self._fault(Code.SUITE_DIFFERS, detail, path, head)

    def _entry(self, path: bytes, tree: bytes, commit: bytes) -> Entry | None:
        found: Entry | None = Entry(b"", DIRECTORY, tree)
        for name in (self._prefix + path).split(b"/"):
            if found is None or found.mode != DIRECTORY:
                return None
            inside = self._trees.listing(found.oid, path, commit)
            found = next((entry for entry in inside if entry.name == name), None)
        return found

    def _folder(self, path: bytes, tree: bytes, commit: bytes) -> bytes | None:
        entry = self._entry(path, tree, commit)
        return entry.oid if entry is not None and entry.mode == DIRECTORY else None

    def _file(self, path: bytes, tree: bytes, commit: bytes) -> bytes | None:
        entry = self._entry(path, tree, commit)
        if entry is None or entry.mode == DIRECTORY:
            return None
        return self._trees.blob(entry.oid, path, commit)

    def _fault(self, code: Code, detail: str, path: str, commit: bytes) -> None:
        self._findings.fault(code, detail, path=path, commit=commit.hex())
