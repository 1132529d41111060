"""A whole ledger verified: clone, history, runs, order, results, locks and signatures."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import TrialbookError, UserError
from trialbook.formats.records import RecordError, from_json
from trialbook.model.generation import Generation
from trialbook.model.plan import Plan
from trialbook.model.runfiles import GENERATION, PLAN, REPORT, RESULTS
from trialbook.storage.objects import DIRECTORY, is_oid
from trialbook.storage.raw_objects import COMMIT, Entry, RawObjects
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.repository import Repository
from trialbook.system import System
from trialbook.verify.clone import check_clone
from trialbook.verify.codes import Code
from trialbook.verify.commits import Commit, read_commit, read_commits
from trialbook.verify.findings import Fault, Findings, Verdict
from trialbook.verify.history import History, HistoryWalk
from trialbook.verify.locks import LockCheck
from trialbook.verify.order import OrderCheck, leads
from trialbook.verify.reading import read_record
from trialbook.verify.run import RunAnswer
from trialbook.verify.trees import Trees
from trialbook.workflow.results import regenerate
from trialbook.workflow.verify_judges import check_judges
from trialbook.workflow.verify_runs import RunJob, no_collection, running
from trialbook.workflow.verify_signers import SignerList, check_signatures, find_signers

# Below so many objects, starting more processes costs more than they save.
_OBJECTS_FOR_SEVERAL = 10_000

Progress = Callable[[str, int, int], None]
"""Is told the stage, how much of it is done, and of how much (0: not known)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """What to verify and against what. ``signers`` is ``REF:PATH``; None is what git says."""

    run: str | None = None
    witness: str | None = None
    signers: str | None = None


def verify_ledger(
    root: Path, system: System, request: VerifyRequest, progress: Progress
) -> Verdict:
    """Verify a ledger; everything that is wrong is found, not the first only.

    Raises:
        UserError: an unknown run, a witness that is no full commit id, a list of signers that is
            not there or not protected.
        EnvironmentProblem: no repository, or a tool that signatures need is missing.
    """
    if request.witness is not None and not is_oid(request.witness):
        raise UserError(
            f"{request.witness!r} is no full commit id",
            hint="a witness is all 40 digits of a commit that the ledger once had",
        )
    reader = Reader.open(root)
    only = reader.resolve_run(request.run) if request.run is not None else None
    signers = find_signers(root, system, request.signers, reader.head)
    reader.close()
    verification = _Verification(root, system, reader.head, only, progress)
    with no_collection():
        return verification.verify(request.witness, signers)


class _Verification:
    """The state of one verification."""

    def __init__(
        self, root: Path, system: System, head: str, only: RunRef | None, progress: Progress
    ) -> None:
        repository = Repository.discover(root)
        top = repository.work_tree
        inside = "." if top is None else os.path.relpath(root.resolve(), top.resolve())
        self._prefix = b"" if inside == "." else os.fsencode(inside) + b"/"
        self._root = root
        self._system = system
        self._git = repository.common_folder.resolve()
        self._merging = (repository.git_folder / "MERGE_HEAD").exists()
        self._checked_out = repository.read_ref("HEAD")
        self._head = head
        self._only = only
        self._progress = progress
        self._findings = Findings()
        self._objects = RawObjects(self._git / "objects")
        self._trees = Trees(self._objects, self._findings, self._prefix)
        repository.close()

    def verify(self, witness: str | None, signers: SignerList | None) -> Verdict:
        check_clone(self._git, self._findings)
        if self._merging:
            self._findings.note(
                "a merge is not finished: what is verified is the commit before it; if files below "
                "runs/ are in conflict, undo it (`git merge --abort`), and merge only what came "
                "before the trial that both branches have"
            )
        head = bytes.fromhex(self._head)
        answers: list[RunAnswer] = []
        history = History()
        # What is wrong with the head is found again, and said, when all commits are read.
        tip = read_commit(self._objects, head, Findings()) if head else None
        jobs = self._jobs(tip.tree, head) if tip else []
        with running(jobs, several=self._objects.packed > _OBJECTS_FOR_SEVERAL) as coming:
            commits = self._commits(head, witness)
            if head in commits:
                history = self._history(commits)
            for answer in coming:
                answers.append(answer)
                self._say("runs", len(answers), len(jobs))
        if head in commits:
            self._check_runs(answers, history, commits)
            self._check_locks(answers, history, commits, head)
            check_judges(self._root, self._head, self._only, self._findings)
            self._check_signers(signers, history, commits)
        return self._verdict(witness, signers, commits, answers)

    # --- parts -------------------------------------------------------------------------------

    def _commits(self, head: bytes, witness: str | None) -> dict[bytes, Commit]:
        """Every commit there is, held against the witness."""
        tick = _ticker(self._say, "commits")
        found = read_commits(self._objects, head, self._findings, tick) if head else {}
        self._check_witness(witness, found)
        return found

    def _check_witness(self, witness: str | None, commits: Mapping[bytes, Commit]) -> None:
        if witness is None:
            self._findings.note(
                "no witness was given: that this history was not made anew is not shown"
            )
        elif bytes.fromhex(witness) not in commits:
            detail = f"the history of {self._head or 'nothing'} does not lead to it"
            self._findings.fault(Code.WITNESS_NOT_ANCESTOR, detail, commit=witness)

    def _jobs(self, tree: bytes, head: bytes) -> list[RunJob]:
        runs = self._find(tree, b"runs", head)
        found: list[RunJob] = []
        if runs is None or runs.mode != DIRECTORY:
            return found
        for suite in self._trees.listing(runs.oid, b"runs", head):
            if suite.mode != DIRECTORY:
                continue
            for run in self._trees.listing(suite.oid, b"runs/" + suite.name, head):
                path = os.fsdecode(suite.name + b"/" + run.name)
                if run.mode == DIRECTORY and path == (self._only.path if self._only else path):
                    found.append(self._job(path, run.oid, head))
        return found

    def _job(self, path: str, tree: bytes, head: bytes) -> RunJob:
        return RunJob(
            path=path,
            tree=tree,
            head=head,
            prefix=self._prefix,
            objects=self._git / "objects",
            cache=self._system.cache_folder() / "objects",
            work=self._system.work_folder(),
        )

    def _find(self, tree: bytes, path: bytes, commit: bytes) -> Entry | None:
        """What is at a path of the ledger, or None."""
        here = Entry(b"", DIRECTORY, tree)
        for name in (self._prefix + path).split(b"/"):
            if here.mode != DIRECTORY:
                return None
            entries = self._trees.listing(here.oid, path, commit)
            found = next((entry for entry in entries if entry.name == name), None)
            if found is None:
                return None
            here = found
        return here

    def _data(self, tree: bytes, path: str, commit: bytes) -> bytes | None:
        """The bytes of a file of the ledger, or None."""
        found = self._find(tree, os.fsencode(path), commit)
        if found is None or found.mode == DIRECTORY:
            return None
        return self._trees.blob(found.oid, os.fsencode(path), commit)

    def _history(self, commits: Mapping[bytes, Commit]) -> History:
        only = os.fsencode(self._only.path) if self._only else None
        walk = HistoryWalk(self._trees, self._findings, self._prefix, only)
        return walk.go(commits, _ticker(self._say, "history", len(commits)))

    def _check_runs(
        self, answers: list[RunAnswer], history: History, commits: Mapping[bytes, Commit]
    ) -> None:
        order = OrderCheck(commits, self._findings)
        for answer in sorted(answers, key=lambda answer: answer.path):
            self._findings.take(answer.findings)
            of_run = history.run(os.fsencode(answer.path))
            order.check(answer, of_run)
            for name in answer.unsettled:
                added = of_run.files.get(name.encode(), [])
                if added:
                    self._check_derived(answer.path, "", (name,), added[0].hex())
            for folder in answer.generations:
                self._check_generation(answer.path, folder, of_run.files, commits)

    def _check_generation(
        self,
        run: str,
        folder: str,
        files: Mapping[bytes, list[bytes]],
        commits: Mapping[bytes, Commit],
    ) -> None:
        added = files.get(f"{folder}/{GENERATION}".encode(), [])
        path = f"runs/{run}/{folder}/{GENERATION}"
        if not added:
            return
        tree = commits[added[0]].tree
        data = self._data(tree, path, added[0])
        if data is None:
            return
        try:
            records = from_json(Generation, data, path).records
        except RecordError:
            return  # A fault already.
        if not is_oid(records) or not leads(commits, added[0], records):
            detail = f"it is made from {records}, which came not before it"
            self._findings.fault(Code.RESULTS_DIFFER, detail, path=path, commit=added[0].hex())
            return
        self._check_derived(run, f"{folder}/", (RESULTS, REPORT), records)

    def _check_derived(self, run: str, folder: str, names: tuple[str, ...], commit: str) -> None:
        """Make results again from the records of a commit."""
        problem = f"the records of {commit} give other bytes"
        there: dict[str, bytes | None] = dict.fromkeys(names, b"")
        made: Mapping[str, bytes] = {}
        try:
            now = Reader.open(self._root, self._head)
            there = {name: now.file(_ref(run), folder + name) for name in names}
            made = regenerate(Reader.open(self._root, commit), _ref(run))
        except TrialbookError as error:
            problem = f"it cannot be made again from the records of {commit}: {error.message}"
        except (KeyError, ValueError) as error:
            problem = f"it cannot be made again from the records of {commit}: {error!r}"
        for name, data in there.items():
            if data is not None and made.get(name) != data:
                path = f"runs/{run}/{folder}{name}"
                self._findings.fault(Code.RESULTS_DIFFER, problem, path=path, commit=commit)

    def _check_locks(
        self,
        answers: list[RunAnswer],
        history: History,
        commits: Mapping[bytes, Commit],
        head: bytes,
    ) -> None:
        check = LockCheck(self._trees, self._findings, self._prefix)
        elsewhere = self._suites_elsewhere(commits[head].tree, head)
        for answer in answers:
            added = history.run(os.fsencode(answer.path)).files.get(PLAN.encode(), [])
            if not answer.locked or not added:
                continue
            data = self._data(commits[added[0]].tree, answer.plan_path, added[0])
            plan = (
                None if data is None else read_record(Plan, data, answer.plan_path, self._findings)
            )
            if plan is not None:
                tree = elsewhere or commits[added[0]].tree
                check.check_plan(plan, answer.plan_path, tree, added[0])
        tree = elsewhere or commits[head].tree
        check.check_head(tree, head, self._only.suite if self._only else None)

    def _suites_elsewhere(self, tree: bytes, head: bytes) -> bytes | None:
        """The tree that is checked out, where a ledger on a branch of its own has no suites."""
        if self._checked_out in (None, self._head) or self._find(tree, b"suites", head):
            return None
        other = bytes.fromhex(self._checked_out)
        found = read_commits(self._objects, other, self._findings, lambda: None)
        self._findings.note(
            "suites and their locks are on another branch: that they were there before the plans "
            "does not follow from history"
        )
        HistoryWalk(self._trees, self._findings, self._prefix).go(found, lambda: None)
        return found[other].tree if other in found else None

    def _check_signers(
        self, signers: SignerList | None, history: History, commits: Mapping[bytes, Commit]
    ) -> None:
        writers = history.writers
        if signers is None:
            signed = sum(commits[oid].signed for oid in writers)
            self._findings.note(
                f"{signed} of {len(writers)} commits that add to the ledger carry a signature; "
                "no list of signers was given to hold them against"
            )
            return
        contents = ((oid, self._objects.read(oid, COMMIT)) for oid in writers)
        tick = _ticker(self._say, "signatures", len(writers))
        check_signatures(contents, signers, self._findings, self._system, tick)

    def _verdict(
        self,
        witness: str | None,
        signers: SignerList | None,
        commits: Mapping[bytes, Commit],
        answers: list[RunAnswer],
    ) -> Verdict:
        self._objects.close()
        for index, why in self._objects.broken.items():
            self._findings.fault(Code.OBJECT_DAMAGED, f"the pack {index.name}: {why}")
        return Verdict(
            head=self._head,
            witness=witness,
            signers=signers.source if signers else None,
            commits=len(commits),
            objects=self._objects.count + sum(answer.objects for answer in answers),
            runs=len(answers),
            trials=sum(len(answer.trials) for answer in answers),
            faults=_sorted(self._findings.faults),
            notes=tuple(self._findings.notes),
            unchecked=tuple(self._findings.unchecked),
        )

    def _say(self, stage: str, done: int, total: int) -> None:
        self._progress(stage, done, total)


def _ref(run: str) -> RunRef:
    suite, _, name = run.partition("/")
    return RunRef(suite, name)


def _sorted(faults: list[Fault]) -> tuple[Fault, ...]:
    """By kind, in the order of the codes; inside a kind as found."""
    order = {code: place for place, code in enumerate(Code)}
    return tuple(sorted(faults, key=lambda fault: order[fault.code]))


def _ticker(say: Progress, stage: str, total: int = 0) -> Callable[[], None]:
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if not done % 100 or done == total:
            say(stage, done, total)

    return tick
