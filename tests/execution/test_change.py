from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import nasty_tree
from tests.nasty_tree import write

from trialbook.execution.change import Change, capture
from trialbook.execution.workspace import template, unpack
from trialbook.storage.patching import apply_to_tree
from trialbook.storage.repository import Store
from trialbook.storage.trees import tree_of_folder

FILES = {
    "README.md": b"# readme\n",
    "src/app.py": b"".join(b"line %d\n" % number for number in range(30)),
    "data.bin": bytes(range(256)) * 8,
    "notes.txt": b"one\r\ntwo\r\n",
    ".gitignore": b"*.log\nbuild/\n",
}


@pytest.fixture
def baseline(store: Store, tmp_path: Path) -> str:
    for name, data in FILES.items():
        write(tmp_path / "snapshot", name, data)
    return tree_of_folder(store, tmp_path / "snapshot").tree


@pytest.fixture
def work(store: Store, baseline: str, tmp_path: Path) -> Path:
    unpack(template(store, baseline, tmp_path / "cache"), tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def change(store: Store, baseline: str, work: Path) -> Callable[[], Change]:
    """Captures, and checks that the patch makes exactly the final tree of the baseline."""

    def captured() -> Change:
        found = capture(work, baseline, store, file_limit_bytes=100_000, work=store.folder.parent)
        assert apply_to_tree(store, baseline, found.patch) == found.tree
        return found

    return captured


def summary(change: Change) -> list[str]:
    return [f"{file.status} {file.path}" for file in change.changed]


def test_nothing_done_is_no_change(change: Callable[[], Change], baseline: str) -> None:
    found = change()
    assert (found.tree, found.patch, found.changed, found.omitted) == (baseline, b"", (), ())


def test_every_kind_of_change_is_in_the_patch(change: Callable[[], Change], work: Path) -> None:
    (work / "src/app.py").write_bytes(FILES["src/app.py"].replace(b"line 7\n", b"line seven\n"))
    (work / "data.bin").write_bytes(FILES["data.bin"] + b"\0more")
    (work / "README.md").rename(work / "READ ME.md")
    (work / "notes.txt").chmod(0o755)
    (work / "link").symlink_to("/etc/passwd")
    write(work, b"caf\xe9", b"not UTF-8\n")
    write(work, "build/out.log", b"git would ignore this\n")
    (work / ".gitignore").unlink()
    found = change()
    assert summary(found) == [
        "deleted .gitignore",
        "renamed READ ME.md",
        "added build/out.log",
        'added "caf\\351"',
        "modified data.bin",
        "added link",
        "modified notes.txt",
        "modified src/app.py",
    ]
    by_path = {file.path: file for file in found.changed}
    assert by_path["READ ME.md"].old_path == "README.md"
    assert (by_path["src/app.py"].insertions, by_path["src/app.py"].deletions) == (1, 1)
    assert by_path["data.bin"].insertions is None
    assert (found.insertions, found.deletions) == (4, 3)
    lines = {path: FILES[path].count(b"\n") for path in (".gitignore", "src/app.py")}
    assert found.lines_before == lines


def test_the_nasty_tree_is_captured_exactly(store: Store, nasty: Path, tmp_path: Path) -> None:
    empty = store.add_tree([])
    found = capture(nasty, empty, store, file_limit_bytes=None, work=tmp_path)
    assert found.tree == nasty_tree.TREE
    assert apply_to_tree(store, empty, found.patch) == nasty_tree.TREE
    assert len(found.changed) == 56


def test_work_that_the_agent_committed_is_in_it(change: Callable[[], Change], work: Path) -> None:
    (work / "src/app.py").write_text("new\n")
    nasty_tree.git(work, "add", "-A")
    nasty_tree.git(work, "commit", "-q", "-m", "done")
    nasty_tree.git(work, "checkout", "-q", "--orphan", "elsewhere")
    nasty_tree.git(work, "commit", "-q", "-m", "no history")
    nasty_tree.git(work, "update-ref", "-d", "refs/trialbook/baseline")
    assert summary(change()) == ["modified src/app.py"]


def run_marker(work: Path, marker: Path) -> str:
    script = work.parent / "marker.sh"
    script.write_text(f"#!/bin/sh\necho ran >> '{marker}'\n")
    script.chmod(0o755)
    return str(script)


def hostile_config(work: Path, program: str) -> None:
    settings = {
        "core.fsmonitor": program,
        "core.hooksPath": str(work / ".git/hooks"),
        "core.sshCommand": program,
        "core.pager": program,
        "core.editor": program,
        "diff.external": program,
        "diff.evil.textconv": program,
        "diff.evil.command": program,
        "filter.evil.clean": program,
        "filter.evil.smudge": program,
        "filter.evil.process": program,
        "merge.evil.driver": program,
        "alias.diff-tree": f"!{program}",
        "core.attributesFile": str(work.parent / "attributes"),
        "core.fileMode": "false",
        "core.autocrlf": "true",
        "diff.noprefix": "true",
        "diff.renames": "false",
        "core.quotePath": "false",
    }
    for key, value in settings.items():
        nasty_tree.git(work.parent, "config", "--file", str(work / ".git/config"), key, value)
    (work / ".git/hooks").mkdir()
    for hook in ("post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman"):
        shutil.copy(program, work / ".git/hooks" / hook)
    (work.parent / "attributes").write_text("* diff=evil filter=evil\n")
    (work / ".git/info").mkdir(exist_ok=True)
    (work / ".git/info/attributes").write_text("* diff=evil filter=evil text\n")


def test_nothing_that_the_workspace_configures_is_run_or_heeded(
    change: Callable[[], Change], work: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"
    program = run_marker(work, marker)
    attributes = b"*.txt -diff\n*.py diff=evil filter=evil\n*.md text eol=crlf\n* -text\n"
    (work / ".gitattributes").write_bytes(attributes)
    (work / "notes.txt").write_bytes(b"one\r\nthree\r\n")
    (work / "src/app.py").write_text("x\n")
    (work / "README.md").write_bytes(b"# readme\r\n")
    plain = change()
    hostile_config(work, program)
    nasty_tree.git(work, "status")
    assert marker.exists(), "the trap must be able to close"
    marker.unlink()
    with (work / ".git/config").open("a") as config:
        config.write("[core]\n\tworktree = /\n[include]\n\tpath = /etc/passwd\n")
    (work / ".git/index").write_bytes(b"garbage")
    (work / ".git/HEAD").write_text("ref: refs/heads/other\n")
    found = change()
    assert (found.tree, found.patch) == (plain.tree, plain.patch)
    assert b"+three\r\n" in found.patch
    assert not marker.exists()


@pytest.mark.parametrize("git", ["gone", "file", "link", "pipe", "large", "unreadable"])
def test_whatever_became_of_the_git_folder_the_change_is_the_same(
    change: Callable[[], Change], work: Path, tmp_path: Path, git: str
) -> None:
    (work / "README.md").write_text("changed\n")
    before = change()
    shutil.rmtree(work / ".git")
    if git == "file":
        (work / ".git").write_text("gitdir: /etc\n")
    elif git == "link":
        (work / ".git").symlink_to("/etc")
    elif git == "pipe":
        os.mkfifo(work / ".git")
    elif git == "large":
        (work / ".git").mkdir()
        for number in range(2000):
            (work / ".git" / str(number)).touch()
    elif git == "unreadable":
        (work / ".git").mkdir(mode=0)
    found = change()
    assert (found.tree, found.patch, found.omitted) == (before.tree, before.patch, ())


def test_nested_repositories_keep_their_files_only(
    change: Callable[[], Change], work: Path
) -> None:
    (work / "vendor").mkdir()
    nasty_tree.git(work / "vendor", "init", "-q")
    write(work, "vendor/lib.py", b"x\n")
    nasty_tree.git(work / "vendor", "add", "-A")
    nasty_tree.git(work / "vendor", "commit", "-q", "-m", "x")
    found = change()
    assert summary(found) == ["added vendor/lib.py"]
    assert [file.path for file in found.omitted] == ["vendor/.git"]


def test_files_above_the_limit_are_listed_and_not_in_the_patch(
    change: Callable[[], Change], work: Path
) -> None:
    data = os.urandom(200_000)
    (work / "core.dump").write_bytes(data)
    found = change()
    assert found.patch == b""
    (file,) = found.omitted
    digest = hashlib.sha256(data).hexdigest()
    assert (file.path, file.bytes, file.sha256) == ("core.dump", 200_000, digest)


def test_a_large_file_of_the_baseline_is_no_deletion(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "work", "weights.bin", b"w" * 5000)
    baseline = tree_of_folder(store, tmp_path / "work").tree
    found = capture(
        tmp_path / "work", baseline, store, file_limit_bytes=1000, work=store.folder.parent
    )
    assert (found.tree, found.changed, found.omitted) == (baseline, (), ())


def test_the_users_own_configuration_changes_nothing(
    change: Callable[[], Change], work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (work / "src/app.py").rename(work / "src/main.py")
    (work / "notes.txt").chmod(0o755)
    before = change()
    settings = (
        "[diff]\n\tnoprefix = true\n\trenames = false\n\tcontext = 9\n\talgorithm = patience\n"
    )
    settings += "[core]\n\tautocrlf = true\n\tfileMode = false\n\tquotePath = false\n"
    (Path(os.environ["HOME"]) / ".gitconfig").write_text(settings)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/bin/false")
    monkeypatch.setenv("GIT_DIFF_OPTS", "-u0")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert change() == before


def test_the_patch_applies_with_git_apply(
    change: Callable[[], Change], store: Store, baseline: str, work: Path, tmp_path: Path
) -> None:
    (work / "data.bin").write_bytes(FILES["data.bin"][::-1])
    (work / "notes.txt").rename(work / "renamed.txt")
    (work / "README.md").chmod(0o755)
    found = change()
    unpack(template(store, baseline, tmp_path / "cache"), tmp_path / "other")
    (tmp_path / "patch").write_bytes(found.patch)
    nasty_tree.git(tmp_path / "other", "apply", "--index", str(tmp_path / "patch"))
    written = nasty_tree.git(tmp_path / "other", "write-tree").decode().strip()
    assert written == found.tree


def test_a_workspace_that_was_left_without_permissions_is_read(
    change: Callable[[], Change], work: Path
) -> None:
    (work / "src/app.py").write_text("hidden\n")
    (work / "src/app.py").chmod(0)
    (work / "src").chmod(0)
    work.chmod(0o500)
    found = change()
    assert summary(found) == ["modified src/app.py"]


@pytest.mark.parametrize("became", ["nothing", "file", "link"])
def test_a_workspace_that_is_gone_is_an_empty_one(
    change: Callable[[], Change], work: Path, store: Store, became: str
) -> None:
    shutil.rmtree(work)
    if became == "file":
        work.write_text("x")
    elif became == "link":
        work.symlink_to("/etc")
    found = change()
    assert found.tree == store.add_tree([])
    assert {file.status for file in found.changed} == {"deleted"}


def test_a_process_that_still_writes_does_no_harm(work: Path, store: Store, baseline: str) -> None:
    script = (
        "import os, sys\n"
        "n = 0\n"
        "while True:\n"
        "    n += 1\n"
        "    open(f'f{n % 50}', 'w').write('x' * n)\n"
        "    try: os.unlink(f'f{(n + 25) % 50}')\n"
        "    except OSError: pass\n"
        "    try: os.symlink('/etc/passwd', f'f{(n + 30) % 50}')\n"
        "    except OSError: pass\n"
    )
    with subprocess.Popen(["python3", "-c", script], cwd=work, stderr=subprocess.DEVNULL) as writer:
        try:
            for _ in range(5):
                found = capture(
                    work, baseline, store, file_limit_bytes=1000, work=store.folder.parent
                )
                assert apply_to_tree(store, baseline, found.patch) == found.tree
                assert b"root:" not in found.patch
        finally:
            writer.kill()
