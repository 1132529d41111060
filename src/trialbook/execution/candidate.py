"""Answers without an agent, as trees: a task's reference, near misses and variants on its snapshot.

For trying the graders, before anything is measured with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import Command, Ended, Policy, ProcessResult
from trialbook.errors import Refused
from trialbook.execution.prepare import Supplies
from trialbook.execution.room import SYSTEM_PATH
from trialbook.execution.snapshot import resolve
from trialbook.model.suite import Candidate, Limits, Network, Reference, Task
from trialbook.storage.files import copy_tree, fresh_folder, read_regular
from trialbook.storage.interpreter import interpreter_folders
from trialbook.storage.patching import apply_to_tree
from trialbook.storage.repository import REGULAR, Store, TreeEntry
from trialbook.storage.trees import (
    edit_tree,
    materialise,
    overlay_tree,
    replace_with,
    tree_of_folder,
)

_EMPTY_FILE = b"empty-change.txt"
_TAIL = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Where answers are made: the suite's folder, objects, cache, a place to work, and how."""

    suite_folder: Path
    store: Store
    cache: Path
    work: Path
    start: Callable[[Command, Policy], ProcessResult]

    def task_folder(self, task: Task) -> Path:
        """The task's folder, private parts included."""
        return self.suite_folder / "tasks" / task.name


def answer_tree(task: Task, answer: Reference, base: str, shop: Workshop | Supplies) -> str:
    """The tree of an answer that is written down: a patch, an overlay, or another source's files.

    Raises:
        Refused: it cannot be read, or does not fit the snapshot.
        EnvironmentProblem: its source cannot be reached.
    """
    folder = shop.task_folder(task)
    if answer.patch is not None:
        data = read_regular(folder / answer.patch)
        if data is None:
            raise Refused(f"cannot read {answer.patch}")
        return apply_to_tree(shop.store, base, data)
    if answer.overlay is not None:
        return overlay_tree(shop.store, base, _folder_tree(shop.store, folder / answer.overlay))
    if answer.snapshot is None:
        raise Refused("an answer without a source")
    found = resolve(answer.snapshot, folder=folder, store=shop.store, cache=shop.cache)
    return overlay_tree(shop.store, base, found.tree)


def candidate_tree(
    task: Task, candidate: Candidate, base: str, shop: Workshop, *, python: str, limits: Limits
) -> str:
    """The tree of a near miss or a variant; a command that makes it runs in a copy of the snapshot.

    Raises:
        Refused: it cannot be made; the end of what the command said is told.
        EnvironmentProblem: a source cannot be reached.
    """
    if candidate.answer is not None:
        return answer_tree(task, candidate.answer, base, shop)
    with fresh_folder(shop.work) as room:
        workspace, files, home = room / "workspace", room / "files", room / "home"
        materialise(shop.store, base, workspace)
        home.mkdir()
        if candidate.files is not None:
            copy_tree(shop.suite_folder / candidate.files, files)
        values = {"python": python, "task": task.name, "files": str(files)}
        command = Command(
            argv=tuple(text.format_map(values) for text in candidate.run),
            cwd=workspace,
            environment={"PATH": SYSTEM_PATH, "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"},
            stdout=room / "stdout.txt",
            stderr=room / "stderr.txt",
        )
        policy = Policy(
            writable=(workspace, home),
            readable=(*((files,) if files.exists() else ()), *interpreter_folders(python)),
            network=Network(mode="none"),
            evaluator=True,
            limits=limits,
        )
        result = shop.start(command, policy)
        if result.ended is not Ended.EXITED or result.exit_code != 0:
            raise Refused(f"the command that makes it {_how(result)}{_said(command)}")
        return _folder_tree(shop.store, workspace, frozenset({b".git"}))


def empty_change(store: Store, base: str) -> str:
    """The snapshot with one new file without content: a change that does nothing."""
    name = _EMPTY_FILE
    while store.lookup(name, base) is not None:
        name = b"_" + name
    entry = TreeEntry(name, REGULAR, store.add_blob(b""))
    return edit_tree(store, base, {name: replace_with(entry)})


def touched(store: Store, tree: str, path: str) -> str:
    """The tree with one more line end at the end of a file.

    Raises:
        Refused: there is no such file.
    """
    raw = path.encode()
    entry = store.lookup(raw, tree)
    if entry is None or entry.mode not in (REGULAR, REGULAR | 0o111):
        raise Refused(f"the snapshot has no file {path}")
    data = store.blob(entry.oid) + b"\n"
    changed = TreeEntry(entry.name, entry.mode, store.add_blob(data))
    return edit_tree(store, tree, {raw: replace_with(changed)})


def _folder_tree(store: Store, folder: Path, skip: frozenset[bytes] = frozenset()) -> str:
    found = tree_of_folder(store, folder, skip_top=skip)
    if found.omitted:
        first = found.omitted[0]
        raise Refused(f"{folder.name} holds what no tree can: {first.path} ({first.reason})")
    return found.tree


def _how(result: ProcessResult) -> str:
    if result.ended is Ended.EXITED:
        return f"ended with status {result.exit_code}"
    return f"did not come to its end ({result.message or result.ended.value.replace('_', ' ')})"


def _said(command: Command) -> str:
    data = read_regular(command.stderr) or read_regular(command.stdout) or b""
    tail = data.decode("utf-8", "replace").strip()[-_TAIL:]
    return f": {tail}" if tail else ""
