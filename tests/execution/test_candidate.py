from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.conftest import write_files

from trialbook.api import Command, Policy, ProcessResult
from trialbook.errors import Refused
from trialbook.execution.candidate import (
    Workshop,
    answer_tree,
    candidate_tree,
    empty_change,
    touched,
)
from trialbook.model.suite import Candidate, Limits, Reference, Snapshot, SnapshotKind, Task
from trialbook.process import run
from trialbook.storage.repository import Store
from trialbook.storage.trees import tree_of_folder

TASK = Task(
    name="one",
    folder="suites/s/tasks/one",
    brief="",
    snapshot=Snapshot(kind=SnapshotKind.FOLDER, location="snapshot"),
    graders=(),
)


def start(command: Command, policy: Policy) -> ProcessResult:
    return run(command, policy.limits)


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    suite = tmp_path / "suites" / "s"
    files = {
        "tasks/one/snapshot/a.txt": "one\n",
        "tasks/one/snapshot/bin/go.sh": "#!/bin/sh\n",
        "tasks/one/private/over/b.txt": "two\n",
        "tools/make.py": (
            "import os, pathlib, sys\n"
            "pathlib.Path('a.txt').write_text(sys.argv[1] + os.environ.get('SECRET', ''))\n"
        ),
    }
    write_files(suite, files)
    (suite / "tasks/one/snapshot/bin/go.sh").chmod(0o755)
    (tmp_path / "work").mkdir()
    return Workshop(
        suite_folder=suite,
        store=Store.at(tmp_path / "objects"),
        cache=tmp_path / "cache",
        work=tmp_path / "work",
        start=start,
    )


@pytest.fixture
def base(shop: Workshop) -> str:
    return tree_of_folder(shop.store, shop.task_folder(TASK) / "snapshot").tree


def texts(shop: Workshop, tree: str) -> dict[str, str]:
    return {
        path.decode(): shop.store.blob(entry.oid).decode() for path, entry in shop.store.walk(tree)
    }


def made(shop: Workshop, base: str, *argv: str, files: str | None = "tools") -> str:
    candidate = Candidate(name="x", run=argv, files=files)
    return candidate_tree(TASK, candidate, base, shop, python=sys.executable, limits=Limits())


def test_an_overlay_is_laid_over_the_snapshot(shop: Workshop, base: str) -> None:
    tree = answer_tree(TASK, Reference(overlay="private/over"), base, shop)
    assert texts(shop, tree) == texts(shop, base) | {"b.txt": "two\n"}


def test_another_folders_files_are_laid_over_the_snapshot(shop: Workshop, base: str) -> None:
    source = Snapshot(kind=SnapshotKind.FOLDER, location="private/over", into="docs")
    tree = answer_tree(TASK, Reference(snapshot=source), base, shop)
    assert texts(shop, tree) == texts(shop, base) | {"docs/b.txt": "two\n"}


def test_a_patch_that_is_gone_is_refused(shop: Workshop, base: str) -> None:
    with pytest.raises(Refused, match="cannot read gone"):
        answer_tree(TASK, Reference(patch="gone"), base, shop)


def test_a_command_makes_its_answer_in_a_copy_and_inherits_nothing(
    shop: Workshop, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "leaked")
    tree = made(shop, base, "{python}", "-B", "{files}/make.py", "{task} {{task}}")
    assert texts(shop, tree) == texts(shop, base) | {"a.txt": "one {task}"}
    assert shop.store.lookup(b"bin/go.sh", tree) == shop.store.lookup(b"bin/go.sh", base)
    assert texts(shop, base)["a.txt"] == "one\n"
    assert (shop.suite_folder / "tasks/one/snapshot/a.txt").read_text() == "one\n"
    assert list(shop.work.iterdir()) == []


def test_a_command_that_fails_is_told_with_its_last_words(shop: Workshop, base: str) -> None:
    with pytest.raises(Refused, match="ended with status 3: no such anchor"):
        made(shop, base, "/bin/sh", "-c", "echo no such anchor >&2; exit 3", files=None)
    with pytest.raises(Refused, match="did not come to its end"):
        made(shop, base, "/no/such/program", files=None)


def test_the_empty_change_is_one_new_file_without_content(shop: Workshop, base: str) -> None:
    once = empty_change(shop.store, base)
    assert texts(shop, once) == texts(shop, base) | {"empty-change.txt": ""}
    assert texts(shop, empty_change(shop.store, once))["_empty-change.txt"] == ""


def test_a_touched_file_has_one_more_line_end_and_its_old_mode(shop: Workshop, base: str) -> None:
    tree = touched(shop.store, base, "bin/go.sh")
    assert texts(shop, tree) == texts(shop, base) | {"bin/go.sh": "#!/bin/sh\n\n"}
    entry = shop.store.lookup(b"bin/go.sh", tree)
    assert entry is not None
    assert entry.mode == 0o100755
    with pytest.raises(Refused, match="no file gone"):
        touched(shop.store, base, "gone")
    with pytest.raises(Refused, match="no file bin"):
        touched(shop.store, base, "bin")
