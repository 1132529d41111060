from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.nasty_tree import git, write

from trialbook.execution.audit import audit
from trialbook.execution.workspace import Template, template, unpack
from trialbook.model.trial import AuditRow
from trialbook.storage.repository import Store
from trialbook.storage.trees import tree_of_folder


@pytest.fixture
def made(store: Store, tmp_path: Path) -> Template:
    write(tmp_path / "snapshot", "src/app.py", b"print()\n")
    write(tmp_path / "snapshot", "README.md", b"# readme\n")
    (tmp_path / "snapshot/link").symlink_to("src/app.py")
    tree = tree_of_folder(store, tmp_path / "snapshot").tree
    return template(store, tree, tmp_path / "cache")


@pytest.fixture
def work(made: Template, tmp_path: Path) -> Path:
    unpack(made, tmp_path / "work")
    return tmp_path / "work"


def failed(workspace: Path, commit: str) -> dict[str, AuditRow]:
    return {row.rule: row for row in audit(workspace, commit) if not row.ok}


def test_a_fresh_workspace_passes_every_rule(work: Path, made: Template) -> None:
    rows = audit(work, made.commit)
    assert [row.rule for row in rows if not row.ok] == []
    assert len({row.rule for row in rows}) == len(rows) > 20
    assert all(row.detail == "" for row in rows)


def test_looking_changes_nothing(work: Path, made: Template) -> None:
    def state() -> list[tuple[str, int]]:
        return [(str(path), path.lstat().st_mtime_ns) for path in sorted(work.rglob("*"))]

    before = state()
    audit(work, made.commit)
    assert state() == before


def planted(path: str, text: str = "x\n") -> Callable[[Path], None]:
    return lambda work: write(work, f".git/{path}", text.encode())


def configured(text: str) -> Callable[[Path], None]:
    def change(work: Path) -> None:
        with (work / ".git/config").open("a") as file:
            file.write(text)

    return change


def by_git(*commands: str) -> Callable[[Path], None]:
    def change(work: Path) -> None:
        for command in commands:
            git(work, *command.split())

    return change


def stashed(work: Path) -> None:
    write(work, "README.md", b"secret fix\n")
    git(work, "stash")


def alternates(work: Path) -> None:
    git(work.parent, "init", "-q", "elsewhere")
    write(work, ".git/objects/info/alternates", os.fsencode(work.parent / "elsewhere/.git/objects"))


def extra_object(work: Path) -> None:
    git(work, "hash-object", "-w", "--stdin", stdin=b"the answer\n")


def second_commit(work: Path) -> None:
    git(work, "commit", "-q", "--allow-empty", "-m", "later")
    shutil.rmtree(work / ".git/logs")


def missing_object(work: Path) -> None:
    (pack,) = (work / ".git/objects/pack").glob("*.pack")
    moved = work.parent / "pack"
    pack.rename(moved)
    pack.with_suffix(".idx").unlink()
    git(work, "unpack-objects", "-q", stdin=moved.read_bytes())
    oid = git(work, "rev-parse", "HEAD:README.md").decode().strip()
    (work / ".git/objects" / oid[:2] / oid[2:]).unlink()


LEAKS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "alternates": ("alternates", alternates),
    "http alternates": ("alternates", planted("objects/info/http-alternates")),
    "stash": ("stash", stashed),
    "notes": ("notes", by_git("notes add -m hint HEAD")),
    "tag": ("tags", by_git("tag v2")),
    "annotated tag": ("tags", by_git("tag -a v2 -m x")),
    "branch": ("refs", by_git("branch fix")),
    "remote": ("remotes", by_git("remote add origin /srv/shop.git")),
    "remote branch": ("remote_branches", by_git("update-ref refs/remotes/origin/main HEAD")),
    "pull request": ("remote_branches", by_git("update-ref refs/pull/7/head HEAD")),
    "packed refs": ("packed_refs", by_git("pack-refs --all")),
    "packed tag": ("tags", by_git("tag v2", "pack-refs --all")),
    "hooks": ("hooks", planted("hooks/post-checkout", "#!/bin/sh\n")),
    "original head": ("stray_heads", planted("ORIG_HEAD")),
    "fetched head": ("stray_heads", planted("FETCH_HEAD")),
    "reflog": ("reflogs", planted("logs/HEAD")),
    "shallow": ("shallow", planted("shallow")),
    "grafts": ("replacements", planted("info/grafts")),
    "replace": ("replacements", by_git("replace -f HEAD:README.md HEAD:src/app.py")),
    "worktrees": ("other_folders", planted("worktrees/x/gitdir")),
    "modules": ("other_folders", planted("modules/x/HEAD")),
    "rerere": ("other_folders", planted("rr-cache/x/preimage")),
    "lfs": ("other_folders", planted("lfs/objects/aa/bb")),
    "commit graph": ("commit_graph", by_git("commit-graph write --reachable")),
    "include": ("includes", configured("[include]\n\tpath = ../extra\n")),
    "conditional include": ("includes", configured('[includeIf "gitdir:/"]\n\tpath = x\n')),
    "instead of": ("rewrites", configured('[url "https://x/"]\n\tinsteadOf = gh:\n')),
    "push instead of": ("rewrites", configured('[url "https://x/"]\n\tpushInsteadOf = gh:\n')),
    "credentials": ("credentials", configured("[credential]\n\thelper = store\n")),
    "http header": ("credentials", configured('[http "https://x"]\n\textraHeader = A: b\n')),
    "monitor": ("config", configured("[core]\n\tfsmonitor = /bin/true\n")),
    "garbled config": ("config", configured("garbage here\n")),
    "other value": ("config", configured("[core]\n\tbare = true\n")),
    "detached": ("head", by_git("checkout -q --detach")),
    "unknown file": ("files", planted("description")),
    "bundle": ("extra_files", lambda work: write(work, "fix.bundle", b"x")),
    "patch": ("extra_files", lambda work: write(work, "src/fix.patch", b"x")),
    "left over": ("extra_files", lambda work: write(work, "app.py.orig", b"x")),
    "edited": ("tree", lambda work: write(work, "README.md", b"other\n")),
    "another mode": ("tree", lambda work: (work / "README.md").chmod(0o755)),
    "special file": ("tree", lambda work: os.mkfifo(work / "pipe")),
    "link out": ("links", lambda work: (work / "out").symlink_to("../secret")),
    "link below git": ("special_files", lambda work: (work / ".git/x").symlink_to("/etc")),
    "extra object": ("objects", extra_object),
    "missing object": ("objects", missing_object),
    "second commit": ("baseline", second_commit),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_each_leak_is_found_by_its_own_rule(work: Path, made: Template, leak: str) -> None:
    rule, plant = LEAKS[leak]
    plant(work)
    found = failed(work, made.commit)
    assert rule in found
    assert found[rule].detail


def source_repository(tmp_path: Path) -> tuple[Path, str]:
    """A repository whose main is at the baseline, with the fix on a branch and in a tag."""
    folder = tmp_path / "source"
    folder.mkdir()
    git(folder, "init", "-q")
    write(folder, "app.py", b"bug\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "base")
    base = git(folder, "rev-parse", "HEAD").decode().strip()
    write(folder, "app.py", b"fixed\n")
    git(folder, "commit", "-q", "-am", "the fix")
    git(folder, "tag", "v1")
    git(folder, "branch", "later")
    git(folder, "reset", "-q", "--hard", base)
    return folder, base


@pytest.mark.parametrize(
    ("how", "rules"),
    [
        ("clone", {"remotes", "reflogs", "objects", "refs", "tags"}),
        ("clone --shared", {"alternates", "objects"}),
        ("clone --depth 1 --no-local", {"shallow", "remotes"}),
        ("clone --mirror", {"git_folder"}),
        ("worktree", {"git_folder"}),
        ("clone --separate-git-dir=elsewhere.git", {"git_folder"}),
    ],
)
def test_no_ordinary_way_to_get_a_work_tree_passes(
    tmp_path: Path, how: str, rules: set[str]
) -> None:
    source, base = source_repository(tmp_path)
    target = tmp_path / "target"
    if how == "worktree":
        git(source, "worktree", "add", "-q", "--detach", str(target))
    else:
        git(tmp_path, *how.split(), "-q", str(source), str(target))
    assert rules <= failed(target, base).keys()


def test_a_clone_that_was_cleaned_but_for_a_stash_is_found(tmp_path: Path) -> None:
    source, base = source_repository(tmp_path)
    target = tmp_path / "target"
    git(tmp_path, "clone", "-q", "--no-local", str(source), str(target))
    write(target, "app.py", b"fixed\n")
    git(target, "stash", "-q")
    git(target, "remote", "remove", "origin")
    git(target, "tag", "-d", "v1")
    git(target, "reflog", "expire", "--expire=now", "HEAD")
    git(target, "gc", "-q", "--prune=now")
    assert {"stash", "objects", "packed_refs"} <= failed(target, base).keys()


def test_links_that_the_task_declares_are_shown_and_pass(work: Path, made: Template) -> None:
    (work / "out").symlink_to("/etc/passwd")
    (row,) = [r for r in audit(work, made.commit, links_declared=True) if r.rule == "links"]
    assert (row.ok, row.detail) == (True, "declared: out -> /etc/passwd")


def test_a_link_out_by_way_of_another_link_is_found(work: Path, made: Template) -> None:
    (work / "src/up").symlink_to("..")
    (work / "sly").symlink_to("src/up/../secret")
    assert failed(work, made.commit)["links"].detail == "sly -> src/up/../secret"


def test_a_missing_git_folder_fails_everything_about_it(work: Path, made: Template) -> None:
    shutil.rmtree(work / ".git")
    found = failed(work, made.commit)
    assert found["git_folder"].detail == ".git is not there, not a folder"
    assert found["refs"].detail == "not looked at: .git is not a folder"


def test_a_damaged_repository_is_a_finding_and_no_crash(work: Path, made: Template) -> None:
    for index in (work / ".git/objects/pack").glob("*.idx"):
        index.chmod(0o644)
        index.write_bytes(b"garbage")
    assert "objects" in failed(work, made.commit)


def test_names_that_are_no_text_can_be_told(work: Path, made: Template) -> None:
    write(work, b"caf\xe9.patch", b"x")
    assert failed(work, made.commit)["extra_files"].detail == '"caf\\351.patch"'


def same_bytes(work: Path) -> None:
    data = (work / "README.md").read_bytes()
    (work / "README.md").unlink()
    (work / "README.md").write_bytes(data)


def other_target(work: Path) -> None:
    (work / "link").unlink()
    (work / "link").symlink_to("src/oth.py")


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        (lambda work: None, set()),
        (same_bytes, set()),
        (lambda work: (work / "empty").mkdir(), set()),
        (lambda work: (work / "src/.git").mkdir(), {"tree"}),
        (lambda work: (work / "README.md").write_bytes(b"# Readme\n"), {"tree"}),
        (lambda work: (work / "README.md").chmod(0o755), {"tree"}),
        (lambda work: (work / "README.md").unlink(), {"tree"}),
        (lambda work: write(work, "src/more.py", b""), {"tree", "extra_files"}),
        (lambda work: os.mkfifo(work / "src/pipe"), {"tree", "extra_files"}),
        (other_target, {"tree"}),
    ],
)
def test_what_is_not_as_it_was_written_is_read(
    made: Template, tmp_path: Path, change: Callable[[Path], object], rules: set[str]
) -> None:
    written = unpack(made, tmp_path / "work")
    change(tmp_path / "work")
    rows = audit(tmp_path / "work", made.commit, written=written)
    assert {row.rule for row in rows if not row.ok} == rules


def test_what_was_written_must_be_the_baseline(made: Template, tmp_path: Path) -> None:
    written = unpack(made, tmp_path / "work")
    other = {path: entry._replace(oid="0" * 40) for path, entry in written.items()}
    rows = audit(tmp_path / "work", made.commit, written=other)
    assert [row for row in rows if not row.ok] == [], "its bytes were read, and are right"
