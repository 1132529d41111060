"""Small ledgers made commit by commit, honest ones and others, and what verification says."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.recorded import a_bundle, a_configuration, a_grade, a_plan, a_task, a_trial

from trialbook.formats.records import to_json
from trialbook.grading.accept import decide
from trialbook.model.acceptance import parse_policy
from trialbook.model.digest import digest_of_files, sha256
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan, SlotKey
from trialbook.model.trial import Trial, TrialBundle, WorkspaceRecord
from trialbook.storage.objects import REGULAR, Signature, TreeEntry
from trialbook.storage.patching import apply_to_tree
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.repository import Repository
from trialbook.storage.runpath import RUN_ATTRIBUTES
from trialbook.storage.trees import edit_tree, replace_with
from trialbook.system import System
from trialbook.verify.findings import Verdict
from trialbook.workflow.results import regenerate
from trialbook.workflow.verify_ledger import VerifyRequest, verify_ledger

RUN = "20261130T151526Z-3f9c2d"
SUITE = "demo"
BASE = f"runs/{SUITE}/{RUN}"
BRIEF = b"Make x larger.\n"
PATCH = """\
diff --git a/app.py b/app.py
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/app.py
+++ b/app.py
@@ -1 +1 @@
-x = 1
+x = {number}
"""
BROKEN = SlotKey("small", "current", 2)
"""The slot whose first trial ends as an environment failure, and is run again."""

Bundles = list[TrialBundle]


class Book:
    """A repository with a ledger, written to without any of the ledger's own care."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.branch = "refs/heads/main"

    def git(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, (arguments, done.stderr)
        return done.stdout.strip()

    @property
    def head(self) -> str:
        return self.git("rev-parse", "--verify", "-q", self.branch, check=False)

    def commit(
        self,
        files: Mapping[str, bytes | None],
        *,
        parents: Iterable[str] | None = None,
        message: str = "a commit\n",
        seconds: int = 1_796_000_000,
        mode: int = REGULAR,
        sign: Callable[[bytes], bytes | None] = lambda _: None,
    ) -> str:
        """Files changed (None: removed) on top of the first parent; moves the branch."""
        if parents is None:
            parents = [self.head] if self.head else []
        parents = list(parents)
        repository = Repository.discover(self.root)
        store = repository.store
        tree = store.commit(parents[0]).tree if parents else store.add_tree([])
        edits = {}
        for path, data in files.items():
            name = path.rpartition("/")[2].encode()
            new = None if data is None else TreeEntry(name, mode, store.add_blob(data))
            edits[path.encode()] = replace_with(new)
        tree = edit_tree(store, tree, edits)
        who = Signature("Test Person", "test@example.invalid", seconds)
        oid = store.add_commit(tree, parents, who, message, sign)
        repository.close()
        self.move(oid)
        return oid

    def move(self, oid: str) -> None:
        self.git("update-ref", self.branch, oid)

    def file(self, path: str, commit: str = "") -> bytes:
        done = subprocess.run(
            ["git", "show", f"{commit or self.head}:{path}"],
            cwd=self.root,
            capture_output=True,
            check=True,
        )
        return done.stdout

    def paths(self, below: str = BASE) -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", self.branch, below).splitlines()

    def edit(self, path: str, old: str, new: str) -> bytes:
        """The bytes of a file with a text replaced, which must be there."""
        text = self.file(path).decode()
        assert old in text, (path, old)
        return text.replace(old, new, 1).encode()

    def derived(self, run: str = RUN) -> dict[str, bytes]:
        """Results and report as the records at the head give them."""
        reader = Reader.open(self.root, self.head)
        made = regenerate(reader, RunRef(SUITE, run))
        reader.close()
        return {f"runs/{SUITE}/{run}/{name}": data for name, data in made.items()}

    def verify(self, **request: str | None) -> Verdict:
        return verify_ledger(
            self.root, System(), VerifyRequest(**request), lambda stage, done, total: None
        )

    def codes(self, **request: str | None) -> set[str]:
        return {fault.code.value for fault in self.verify(**request).faults}


@dataclass(kw_only=True)
class Recipe:
    """How a ledger is made. The defaults make an honest one."""

    plan: Callable[[Plan], Plan] = lambda plan: plan
    bundles: Callable[[Bundles], Bundles] = lambda bundles: bundles
    files: Callable[[dict[str, bytes]], dict[str, bytes]] = lambda files: files
    close: bool = True
    sign: Callable[[bytes], bytes | None] = lambda _: None
    suite_files: dict[str, bytes] = field(default_factory=dict)


def make(root: Path, recipe: Recipe | None = None) -> Book:
    """A ledger with one run: two tasks, two configurations, two repetitions, one rerun."""
    recipe = recipe or Recipe()
    root.mkdir()
    book = Book(root)
    book.git("init", "-q", "-b", "main")
    (root / "suites").mkdir()
    book.commit(
        {
            "README.md": b"a ledger\n",
            "suites/demo/suite.yaml": b"suite: demo\nprotocol: 1\n",
            "suites/demo/snapshots/app/app.py": b"x = 1\n",
            "suites/demo/snapshots/app/lib/more.py": b"y = 2\n",
            **recipe.suite_files,
        }
    )
    add_run(book, recipe, RUN)
    return book


def add_run(book: Book, recipe: Recipe, run: str) -> None:
    """Plan, trials and results, each in a commit of its own."""
    tree = book.git("rev-parse", f"{book.branch}:suites/demo/snapshots/app")
    plan = recipe.plan(a_demo_plan(tree, run))
    base = f"runs/{SUITE}/{run}"
    data = to_json(plan)
    first = {f"{base}/plan.json": data, f"{base}/.gitattributes": RUN_ATTRIBUTES}
    commit = book.commit(first, message="plan\n", sign=recipe.sign)
    for bundle in recipe.bundles(demo_bundles(book, plan, tree, commit, sha256(data))):
        folder = f"{base}/{bundle.record.path}"
        files = {f"{folder}/{name}": text for name, text in bundle.files.items()}
        files[f"{folder}/trial.json"] = to_json(bundle.record)
        book.commit(recipe.files(files), message="trial\n", sign=recipe.sign)
    if recipe.close:
        book.commit(book.derived(run), message="results\n", sign=recipe.sign)


def a_demo_plan(tree: str, run: str = RUN) -> Plan:
    files = {"suites/demo/suite.yaml": sha256(b"suite: demo\nprotocol: 1\n")}
    none = digest_of_files({})
    tasks = {
        name: a_task(tree=tree, digest=none, brief_sha256=sha256(BRIEF), source="folder app")
        for name in ("small", "large")
    }
    workspaces = dict.fromkeys(tasks, tree)
    configurations = {
        name: a_configuration(digest=none, workspaces=workspaces) for name in ("current", "new")
    }
    plan = a_plan(
        configurations,
        list(tasks),
        repetitions=2,
        run=run,
        suite=SUITE,
        status="draft",
        suite_digest=digest_of_files(files),
        files=files,
    )
    return replace(plan, tasks=tasks)


def demo_bundles(book: Book, plan: Plan, tree: str, commit: str, digest: str) -> Bundles:
    repository = Repository.discover(book.root)
    found = []
    for number, slot in enumerate(plan.schedule):
        key = slot.key
        good = key.configuration == "new"
        patch = PATCH.format(number=number + 2).encode()
        start = f"2026-11-30T15:{16 + number:02}:0"
        common = {
            "plan_commit": commit,
            "plan_sha256": digest,
            "started": f"{start}0.000Z",
            "finished": f"{start}4.500Z",
            "workspace": WorkspaceRecord(
                source="folder app",
                snapshot_tree=tree,
                baseline_tree=tree,
                baseline_commit="f" * 40,
                files=2,
                audit=(),
            ),
        }
        rerun = 0
        if key == BROKEN:
            trial = a_trial(plan, key, Outcome.ENVIRONMENT_FAILURE, **common)
            found.append(a_bundle(trial, patch=None))
            rerun = 1
            common |= {"replaces": key.path, "rerun_reason": "environment_failure", "rerun": 1}
            common |= {"started": f"{start}5.000Z", "finished": f"{start}9.000Z"}
        grade = a_grade({"x-is-larger": good, "typed": True})
        outcome, reason = decide(parse_policy(plan.accept), {"checks": grade})
        trial = a_trial(plan, key, outcome, reason=reason, **common)
        assert trial.rerun == rerun
        bundle = a_bundle(trial, patch=patch, grades=[grade])
        assert bundle.record.change is not None
        final = apply_to_tree(repository.store, tree, patch)
        change = replace(bundle.record.change, tree=final, insertions=1, deletions=1)
        found.append(TrialBundle(record=replace(bundle.record, change=change), files=bundle.files))
    repository.close()
    return found


def changed(path: str, change: Callable[[Trial], Trial]) -> Callable[[Bundles], Bundles]:
    """A recipe's step that changes one record, and nothing else of the trial."""

    def step(bundles: Bundles) -> Bundles:
        assert any(bundle.record.path == path for bundle in bundles), path
        return [
            TrialBundle(record=change(bundle.record), files=bundle.files)
            if bundle.record.path == path
            else bundle
            for bundle in bundles
        ]

    return step
