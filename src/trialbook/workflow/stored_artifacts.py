"""From a trial's record and patch to what graders need: the trees before and after, checked.

Nothing is guessed. Where the stored bytes do not give the recorded tree again, the trial is not
gradable, and the reason is said.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Refused, TrialbookError
from trialbook.execution.change import difference_of
from trialbook.execution.prepare import Supplies, starting_point
from trialbook.execution.toolchain import Toolchains
from trialbook.grading.grade import Subject
from trialbook.model.digest import sha256
from trialbook.model.trial import Trial, TrialSpec
from trialbook.registry import Registry
from trialbook.storage.patching import apply_to_tree
from trialbook.storage.repository import Store
from trialbook.system import System


class NotGradable(Exception):
    """A trial whose artifacts cannot be judged again; says why."""


@dataclass(slots=True)
class StoredArtifacts:
    """Makes subjects for graders from what is in the ledger. Threads may share one."""

    system: System
    registry: Registry
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def subject(self, spec: TrialSpec, record: Trial, patch: bytes | None) -> Subject:
        """What graders get of a trial.

        Args:
            spec: The trial's spec, with the task and its graders as they are to be used.
            record: The trial.
            patch: The bytes of its ``change.patch``, if there is one.

        Raises:
            NotGradable: it cannot be had as it was.
            EnvironmentProblem: a toolchain or git does not do its part.
        """
        change, workspace = record.change, record.workspace
        if change is None or workspace is None or patch is None:
            raise NotGradable("its record has no change")
        if change.redacted:
            raise NotGradable("something secret was taken out of its patch")
        if change.omitted:
            names = ", ".join(file.path for file in change.omitted[:3])
            raise NotGradable(f"its patch does not hold every file: {names}")
        if sha256(patch) != change.patch_sha256:
            raise NotGradable("its patch is not the one that its record names")
        store = Store.at(Path(spec.cache) / "objects")
        try:
            baseline = self._baseline(spec, workspace.baseline_tree, store)
            tree = _applied(store, baseline, patch)
            if tree != change.tree:
                raise NotGradable(
                    f"its patch gives the tree {tree}, and its record names {change.tree}"
                )
            _, changed = difference_of(store, baseline, tree, work=Path(spec.work))
            return Subject(
                task=spec.task,
                task_folder=Path(spec.suite_folder) / "tasks" / spec.task.name,
                baseline_tree=baseline,
                candidate_tree=tree,
                patch=patch,
                changed=changed,
                python=self._python(spec),
                limits=spec.limits,
            )
        finally:
            store.close()

    def _baseline(self, spec: TrialSpec, tree: str, store: Store) -> str:
        if tree in store:
            return tree
        supplies = Supplies(
            suite_folder=Path(spec.suite_folder), store=store, cache=Path(spec.cache)
        )
        try:
            with self._lock:
                found = starting_point(spec.task, spec.configuration, supplies).workspace_tree
        except TrialbookError as error:
            raise NotGradable(f"its snapshot cannot be had: {error.message}") from error
        if found != tree:
            raise NotGradable(
                f"its snapshot is another today: tree {found}, and its record names {tree}"
            )
        return tree

    def _python(self, spec: TrialSpec) -> str:
        toolchains = Toolchains(
            suite_folder=Path(spec.suite_folder),
            cache=Path(spec.cache),
            system=self.system,
            registry=self.registry,
        )
        return toolchains.python(spec.task.toolchain, spec.sandbox)


def _applied(store: Store, baseline: str, patch: bytes) -> str:
    try:
        return apply_to_tree(store, baseline, patch)
    except (Refused, EnvironmentProblem) as error:
        raise NotGradable(f"its patch does not apply: {error.message}") from error
