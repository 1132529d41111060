from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.storage.conftest import Git

from trialbook.storage.history import additions
from trialbook.storage.repository import Repository


@pytest.fixture
def add(git: Git) -> Callable[..., str]:
    """Commits files (text by path below the run) on the branch that is checked out."""

    def commit(**files: str) -> str:
        for name, text in files.items():
            path = git.folder / "runs/s/r" / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git("add", "-A", "-f")
        git("commit", "-q", "--allow-empty", "-m", "change")
        return git("rev-parse", "HEAD").strip()

    return commit


def found(git: Git, folder: bytes = b"runs/s/r") -> dict[bytes, str]:
    repository = Repository.discover(git.folder)
    head = repository.read_ref("HEAD")
    assert head is not None
    return additions(repository.store, head, folder)


def test_each_file_has_the_commit_that_added_it(git: Git, add: Callable[..., str]) -> None:
    one = add(a="1", d__x="1")
    two = add(b="2", d__y="2")
    add()
    assert found(git) == {b"a": one, b"d/x": one, b"b": two, b"d/y": two}


def test_a_change_is_no_addition_and_a_new_addition_is(git: Git, add: Callable[..., str]) -> None:
    one = add(a="1", b="1")
    add(a="changed")
    git("rm", "-q", "runs/s/r/b")
    git("commit", "-q", "-m", "removed")
    assert found(git) == {b"a": one}
    again = add(b="1")
    assert found(git) == {b"a": one, b"b": again}


def test_behind_a_merge_the_commit_on_the_side_is_found(git: Git, add: Callable[..., str]) -> None:
    plan = add(plan="1")
    git("checkout", "-q", "-b", "side")
    side = add(side="1")
    git("checkout", "-q", "main")
    ours = add(ours="1")
    git("merge", "-q", "--no-ff", "-m", "merge", "side")
    assert found(git) == {b"plan": plan, b"side": side, b"ours": ours}


def test_a_file_that_a_merge_itself_brings_belongs_to_the_merge(
    git: Git, add: Callable[..., str]
) -> None:
    add(plan="1")
    git("checkout", "-q", "-b", "side")
    add(side="1")
    git("checkout", "-q", "main")
    add(ours="1")
    git("merge", "-q", "--no-ff", "--no-commit", "side")
    merge = add(evil="1")
    assert len(git("log", "-1", "--format=%P").split()) == 2
    assert found(git)[b"evil"] == merge


def test_a_branch_merged_from_elsewhere_keeps_its_commits(
    git: Git, add: Callable[..., str]
) -> None:
    git("checkout", "-q", "-b", "side")
    plan, trial = add(plan="1"), add(trial="1")
    git("checkout", "-q", "main")
    git("commit", "-q", "--allow-empty", "-m", "unrelated")
    git("merge", "-q", "--no-ff", "-m", "merge", "side")
    assert found(git) == {b"plan": plan, b"trial": trial}


def test_a_shallow_clone_ends_where_its_history_does(
    git: Git, add: Callable[..., str], tmp_path: object
) -> None:
    add(a="1")
    add(b="2")
    last = add(c="3")
    git("clone", "-q", "--depth=1", f"file://{git.folder}", "../shallow")
    shallow = Git(git.folder.parent / "shallow")
    assert set(found(shallow).values()) == {last}


def test_a_folder_that_is_not_there_has_no_additions(git: Git) -> None:
    assert found(git) == {}
    assert found(git, b"README.md") == {}
