"""What is taken over of a repository that an agent left, whatever is in it."""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

import pytest
from tests.conftest import git

from trialbook.execution.carry import left_repository
from trialbook.execution.relay import lay_repository
from trialbook.execution.workspace import Template, template, unpack
from trialbook.model.session import (
    CUT,
    LONGEST_BODY,
    LONGEST_SUBJECT,
    MOST_BODIES,
    RepositoryState,
    commits_of,
)
from trialbook.storage.repository import REGULAR, Store, TreeEntry
from trialbook.storage.trees import tree_of_folder

SKIP = frozenset({b".git"})


class Desk:
    """A workspace, and what is needed to take it over."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.store = Store.at(top / "cache" / "objects")
        blob = self.store.add_blob(b"one\n")
        tree = self.store.add_tree([TreeEntry(b"a.txt", REGULAR, blob)])
        self.made: Template = template(self.store, tree, top / "cache")
        self.workspace = top / "workspace"
        unpack(self.made, self.workspace)

    def commit(self, name: str = "b.txt", text: str = "two\n", message: str = "Add") -> str:
        (self.workspace / name).write_text(text)
        git(self.workspace, "add", "-A")
        git(self.workspace, "commit", "-q", "-m", message)
        return git(self.workspace, "rev-parse", "HEAD").strip()

    def left(self) -> RepositoryState:
        tree = tree_of_folder(self.store, self.workspace, skip_top=SKIP).tree
        return left_repository(self.workspace, tree, self.made.commit, self.store, self.top)

    def laid(self, state: RepositoryState) -> Path:
        folder = self.top / "next"
        lay_repository(self.store, state, self.made.commit, folder)
        return folder


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_history_and_files_come_over_and_git_finds_nothing_wrong(desk: Desk) -> None:
    first = desk.commit()
    git(desk.workspace, "checkout", "-q", "-b", "work/part-1")
    second = desk.commit("c.txt", message="More\n\nWith a body.")
    (desk.workspace / "open.txt").write_text("not committed\n")
    (desk.workspace / "a.txt").unlink()
    state = desk.left()
    assert (state.branch, state.head, state.lost) == ("work/part-1", second, "")
    assert [one.id for one in state.commits] == [first, second]
    assert [one.subject for one in state.commits] == ["Add", "More"]
    assert [one.body for one in state.commits] == ["", "With a body."]
    assert state.branches == {"main": first}
    folder = desk.laid(state)
    git(folder, "fsck", "--strict")
    assert git(folder, "status", "--porcelain") == " D a.txt\n?? open.txt\n"
    assert git(folder, "log", "--format=%s").split() == ["More", "Add", "Baseline"]
    assert git(folder, "rev-parse", "refs/trialbook/baseline").strip() == desk.made.commit


def test_long_messages_are_kept_within_bounds_and_never_in_the_middle_of_a_word(
    desk: Desk,
) -> None:
    word = "k" * 40
    desk.commit(message=f"{word} " * 20 + "\n\n" + f"{word} " * 400)
    desk.commit("c.txt", message="One word\n\n" + "k" * (LONGEST_BODY + 1))
    first, second = desk.left().commits
    for text, most in ((first.subject, LONGEST_SUBJECT), (first.body, LONGEST_BODY)):
        assert most - len(word) <= len(text) <= most
        assert text.endswith(f"{word}{CUT}")
    assert (second.subject, second.body) == ("One word", CUT)


def test_the_messages_of_many_commits_are_bounded_together() -> None:
    many = [(f"{n:040x}", "0" * 40, f"Work\n\n{'word ' * 700}") for n in range(1000)]
    found = commits_of(many)
    kept = sum(len(one.body) for one in found)
    assert MOST_BODIES - LONGEST_BODY < kept <= MOST_BODIES + len(found)
    assert (found[0].body.endswith("word"), found[-1].body) == (True, CUT)


def test_packed_objects_and_refs_come_over(desk: Desk) -> None:
    desk.commit()
    git(desk.workspace, "gc", "-q")
    head = desk.commit("c.txt")
    state = desk.left()
    assert (state.head, len(state.commits), state.lost) == (head, 2, "")
    git(desk.laid(state), "fsck", "--strict")


def test_tags_come_over_as_they_were_made(desk: Desk) -> None:
    first = desk.commit()
    git(desk.workspace, "tag", "light")
    git(desk.workspace, "tag", "-a", "v1.0/first", "-m", "The first one\n\nSaid by the agent.")
    git(desk.workspace, "pack-refs", "--all")
    desk.commit("c.txt")
    # A commit that only a tag holds.
    git(desk.workspace, "checkout", "-q", "--detach")
    aside = desk.commit("d.txt", message="Aside")
    git(desk.workspace, "tag", "aside")
    git(desk.workspace, "checkout", "-q", "main")
    state = desk.left()
    assert list(state.tags) == ["aside", "light", "v1.0/first"]
    assert (state.tags["light"], state.tags["aside"]) == (first, aside)
    folder = desk.laid(state)
    git(folder, "fsck", "--strict")
    assert git(folder, "tag").split() == ["aside", "light", "v1.0/first"]
    assert "Said by the agent." in git(folder, "for-each-ref", "--format=%(contents)", "refs/tags")
    assert git(folder, "rev-parse", "v1.0/first^{commit}").strip() == first


def test_a_tag_of_no_commit_or_that_git_refuses_costs_no_history(desk: Desk) -> None:
    head = desk.commit()
    tree = git(desk.workspace, "rev-parse", "HEAD^{tree}").strip()
    tags = desk.workspace / ".git/refs/tags"
    for name, oid in (("of-a-tree", tree), ("nothing", "1" * 40), ("bad..name", head)):
        (tags / name).write_text(f"{oid}\n")
    (tags / "link").symlink_to(desk.workspace / ".git/HEAD")
    (tags / "good").write_text(f"{head}\n")
    assert desk.left().tags == {"good": head}
    text = f"object {head}\ntype commit\ntag x\ntagger A <a@x> 1 nowhere\n\nBroken\n".encode()
    data = b"tag %d\0%s" % (len(text), text)
    oid = sha1(data).hexdigest()
    place = desk.workspace / ".git/objects" / oid[:2] / oid[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(data))
    (tags / "broken").write_text(f"{oid}\n")
    state = desk.left()
    assert (state.tags, state.head, state.lost) == ({}, head, "")
    git(desk.laid(state), "fsck", "--strict")


def test_a_detached_head_and_a_rewritten_history_are_the_agents_own(desk: Desk) -> None:
    desk.commit()
    git(desk.workspace, "checkout", "-q", "--orphan", "anew")
    git(desk.workspace, "commit", "-q", "-m", "All of it")
    git(desk.workspace, "checkout", "-q", "--detach")
    state = desk.left()
    assert (state.branch, [one.subject for one in state.commits]) == (None, ["All of it"])
    assert git(desk.laid(state), "log", "--format=%s").split("\n")[0] == "All of it"


def runs(marker: Path) -> str:
    """A program that says that it ran."""
    script = marker.parent / "runs.sh"
    script.write_text(f"#!/bin/sh\ntouch {marker}\n")
    script.chmod(0o755)
    return str(script)


def test_no_setting_and_no_hook_of_the_agents_is_run_or_carried(desk: Desk) -> None:
    desk.commit()
    marker = desk.top / "ran"
    program = runs(marker)
    config = desk.workspace / ".git/config"
    config.write_text(
        f"{config.read_text()}[core]\n\tfsmonitor = {program}\n\thooksPath = {desk.top}\n"
        f'\tsshCommand = {program}\n\tpager = {program}\n[filter "x"]\n\tclean = {program}\n'
        f'\tsmudge = {program}\n[merge "x"]\n\tdriver = {program}\n[gc]\n\tauto = 1\n'
        f"[include]\n\tpath = {program}\n[uploadpack]\n\tpackObjectsHook = {program}\n"
    )
    hooks = desk.workspace / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        (hooks / name).symlink_to(program)
    (desk.workspace / ".gitattributes").write_text("* filter=x merge=x diff=x\n")
    state = desk.left()
    folder = desk.laid(state)
    assert len(state.commits) == 1
    assert not marker.exists()
    assert not (folder / ".git/hooks").exists()
    assert program not in (folder / ".git/config").read_text()


def test_objects_of_other_repositories_do_not_come_over(desk: Desk) -> None:
    secret = desk.top / "secret"
    secret.mkdir()
    git(secret, "init", "-q")
    (secret / "private.txt").write_text("the answer\n")
    git(secret, "add", "-A")
    git(secret, "commit", "-q", "-m", "secret")
    head = git(secret, "rev-parse", "HEAD").strip()
    info = desk.workspace / ".git/objects/info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{secret}/.git/objects\n")
    (desk.workspace / ".git/refs/heads/main").write_text(f"{head}\n")
    state = desk.left()
    assert "not there" in state.lost
    assert head not in desk.store
    assert state.head == desk.made.commit


def linked_objects(desk: Desk) -> None:
    other = desk.top / "other"
    subprocess.run(["cp", "-r", str(desk.workspace / ".git/objects"), str(other)], check=True)
    subprocess.run(["rm", "-rf", str(desk.workspace / ".git/objects")], check=True)
    (desk.workspace / ".git/objects").symlink_to(other)


def linked_git(desk: Desk) -> None:
    (desk.workspace / ".git").rename(desk.top / "elsewhere")
    (desk.workspace / ".git").symlink_to(desk.top / "elsewhere")


def named_git(desk: Desk) -> None:
    (desk.workspace / ".git").rename(desk.top / "elsewhere")
    (desk.workspace / ".git").write_text(f"gitdir: {desk.top}/elsewhere\n")


def removed(desk: Desk) -> None:
    subprocess.run(["rm", "-rf", str(desk.workspace / ".git")], check=True)


def damaged(desk: Desk) -> None:
    head = git(desk.workspace, "rev-parse", "HEAD").strip()
    path = desk.workspace / ".git/objects" / head[:2] / head[2:]
    path.chmod(0o644)
    path.write_bytes(zlib.compress(b"commit 5\0wrong"))


def pipe(desk: Desk) -> None:
    (desk.workspace / ".git/HEAD").unlink()
    os.mkfifo(desk.workspace / ".git/HEAD")


def looped(desk: Desk) -> None:
    (desk.workspace / ".git/HEAD").write_text("ref: refs/heads/../../../../etc/passwd\n")


def bomb(desk: Desk) -> None:
    body = zlib.compressobj(9)
    data = body.compress(b"blob 3000000000\0" + b"\0" * 50_000_000) + body.flush()
    path = desk.workspace / ".git/objects/aa" / ("b" * 38)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def dangerous_tree(desk: Desk) -> None:
    blob = git(desk.workspace, "hash-object", "-w", "a.txt").strip()
    entries = f"100644 blob {blob}\t.git"
    made = subprocess.run(
        ["git", "mktree"], cwd=desk.workspace, input=entries, text=True, capture_output=True,
        check=True,
    )  # fmt: skip
    commit = git(desk.workspace, "commit-tree", made.stdout.strip(), "-p", "HEAD", "-m", "x")
    git(desk.workspace, "update-ref", "refs/heads/main", commit.strip())


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (linked_objects, "the folder of its objects is no folder any more"),
        (linked_git, "the repository is no folder any more"),
        (named_git, "the repository is no folder any more"),
        (removed, "the repository is gone"),
        (damaged, "git refuses what is in it: git rev-list"),
        (pipe, "HEAD names nothing"),
        (looped, "names a branch without a commit"),
        (bomb, "unpack to more than 1 GB"),
        (dangerous_tree, "git refuses"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_repository_that_cannot_be_had_is_told_and_no_file_is_lost(
    desk: Desk, spoil: Callable[[Desk], None], told: str
) -> None:
    desk.commit()
    spoil(desk)
    state = desk.left()
    assert told in state.lost
    assert str(desk.top) not in state.lost
    assert (state.head, state.commits) == (desk.made.commit, ())
    folder = desk.laid(state)
    assert (folder / "b.txt").read_text() == "two\n"
    assert git(folder, "status", "--porcelain") == "?? b.txt\n"


def test_a_branch_with_a_bad_name_is_left_behind(desk: Desk) -> None:
    head = desk.commit()
    refs = desk.workspace / ".git/refs/heads"
    for name in ("ok", "bad..name", "-option", "x.lock"):
        (refs / name).write_text(f"{head}\n")
    (refs / "nothing").write_text("0" * 40)
    assert desk.left().branches == {"ok": head}


def test_the_state_does_not_depend_on_where_or_when_it_is_read(desk: Desk) -> None:
    desk.commit()
    assert desk.left() == desk.left()
