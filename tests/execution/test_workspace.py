from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import stat
from pathlib import Path

import pytest
from tests import nasty_tree
from tests.nasty_tree import git, write

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.execution.audit import audit
from trialbook.execution.workspace import Template, template, unpack
from trialbook.storage.repository import GITLINK, Store, TreeEntry, closure
from trialbook.storage.trees import materialise, overlay_tree, tree_of_folder


@pytest.fixture
def tree(store: Store, nasty: Path) -> str:
    return tree_of_folder(store, nasty).tree


@pytest.fixture
def made(store: Store, tree: str, tmp_path: Path) -> Template:
    return template(store, tree, tmp_path / "cache")


@pytest.fixture
def work(made: Template, tmp_path: Path) -> Path:
    unpack(made, tmp_path / "work")
    return tmp_path / "work"


def snapshot_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and link below a folder with its mode and bytes; the index has times in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode) or path.name == "index":
            continue
        data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        found[str(path.relative_to(folder))] = (status.st_mode, data)
    return found


def test_the_workspace_has_exactly_the_tree(work: Path, made: Template, store: Store) -> None:
    assert made.tree == nasty_tree.TREE
    found = tree_of_folder(store, work, skip_top=frozenset({b".git"}))
    assert (found.tree, found.omitted) == (nasty_tree.TREE, ())
    assert git(work, "rev-parse", "HEAD^{tree}").decode().strip() == nasty_tree.TREE


def test_git_finds_one_commit_two_refs_and_nothing_to_do(work: Path, made: Template) -> None:
    assert git(work, "status", "--porcelain", "--ignored") == b""
    git(work, "fsck", "--full", "--strict")
    refs = git(work, "for-each-ref", "--format=%(refname) %(objectname)").decode().splitlines()
    assert refs == [f"refs/heads/main {made.commit}", f"refs/trialbook/baseline {made.commit}"]
    assert git(work, "rev-list", "--all", "--reflog").decode().split() == [made.commit]
    assert git(work, "symbolic-ref", "HEAD") == b"refs/heads/main\n"
    assert git(work, "remote") == git(work, "stash", "list") == git(work, "tag") == b""


def test_the_objects_are_the_closure_and_the_commit(
    work: Path, made: Template, store: Store
) -> None:
    command = ("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    found = git(work, *command).decode().split()
    assert sorted(found) == sorted({made.commit, *closure(store, made.tree)})


def test_plumbing_that_asks_whether_it_is_dirty_says_no(work: Path) -> None:
    # Neither refreshes the index: the stat data that was written must be right.
    assert git(work, "diff-files") == b""
    assert git(work, "diff-index", "HEAD") == b""


def test_the_operators_own_line_ends_change_nothing(work: Path) -> None:
    with (Path(os.environ["HOME"]) / ".gitconfig").open("a") as config:
        config.write("[core]\n\tautocrlf = true\n\tfileMode = false\n")
    assert git(work, "status", "--porcelain") == b""


def test_the_commit_depends_on_the_tree_alone(
    store: Store, tree: str, made: Template, tmp_path: Path
) -> None:
    other = Store.at(tmp_path / "other-objects")
    other.copy_from(store, closure(store, tree))
    again = template(other, tree, tmp_path / "other-cache")
    assert again.commit == made.commit
    unpack(again, tmp_path / "unpacked")
    said = git(tmp_path / "unpacked", "cat-file", "-p", "HEAD")
    assert said.decode() == (
        f"tree {tree}\nauthor Baseline <baseline@localhost> 1577836800 +0000\n"
        "committer Baseline <baseline@localhost> 1577836800 +0000\n"
        "encoding UTF-8\n\nBaseline\n"
    )


def test_two_workspaces_are_alike_and_share_nothing(
    work: Path, made: Template, tmp_path: Path
) -> None:
    unpack(made, tmp_path / "second")
    assert snapshot_of(work) == snapshot_of(tmp_path / "second")
    before = snapshot_of(tmp_path / "second")
    for path in work.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o644)
            path.write_bytes(b"overwritten")
    assert snapshot_of(tmp_path / "second") == before
    unpack(made, tmp_path / "third")
    assert snapshot_of(tmp_path / "third") == before


def test_no_path_of_ours_is_in_it(work: Path, tmp_path: Path) -> None:
    for path, (_, data) in snapshot_of(work / ".git").items():
        assert os.fsencode(tmp_path) not in data, path
        assert b"nasty" not in data


def test_modes_do_not_depend_on_the_umask(made: Template, work: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        unpack(made, tmp_path / "strict")
    finally:
        os.umask(before)
    assert snapshot_of(tmp_path / "strict") == snapshot_of(work)
    modes = {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "strict").rglob("*") if p.is_dir()}
    assert modes == {0o755}


def test_a_template_is_made_once(store: Store, tree: str, made: Template, tmp_path: Path) -> None:
    before = (made.folder / "template.data").stat().st_mtime_ns
    assert template(store, tree, tmp_path / "cache") == made
    assert (made.folder / "template.data").stat().st_mtime_ns == before
    leftovers = [path.name for path in made.folder.parent.iterdir()]
    assert sorted(leftovers) == sorted([made.folder.name, f"{tree}.lock"])


@pytest.mark.parametrize("damage", ["byte", "short", "list", "no list", "no data", "older", "file"])
def test_a_damaged_template_is_made_again(
    store: Store, tree: str, made: Template, tmp_path: Path, damage: str
) -> None:
    data, listing = made.folder / "template.data", made.folder / "template.json"
    if damage == "byte":
        raw = bytearray(data.read_bytes())
        raw[1000] ^= 1
        data.write_bytes(raw)
    elif damage == "short":
        data.write_bytes(data.read_bytes()[:-1])
    elif damage == "list":
        listing.write_bytes(listing.read_bytes().replace(b"plain.txt", b"plane.txt"))
    elif damage == "older":
        listing.write_bytes(listing.read_bytes().replace(b'"format": 1', b'"format": 0'))
    elif damage == "file":
        shutil.rmtree(made.folder)
        made.folder.write_text("not a folder")
    else:
        (listing if damage == "no list" else data).unlink()
    again = template(store, tree, tmp_path / "cache")
    unpack(again, tmp_path / "work")
    assert all(row.ok for row in audit(tmp_path / "work", again.commit, links_declared=True))


def test_a_template_that_is_damaged_later_is_not_unpacked(made: Template, tmp_path: Path) -> None:
    (made.folder / "template.data").write_bytes(b"short")
    with pytest.raises(EnvironmentProblem, match="damaged"):
        unpack(made, tmp_path / "work")


def test_what_a_killed_run_left_half_done_is_no_template(
    store: Store, tree: str, tmp_path: Path
) -> None:
    half = tmp_path / "cache/templates" / f"{tree}.building"
    half.mkdir(parents=True)
    (half / "template.data").write_bytes(b"half")
    made = template(store, tree, tmp_path / "cache")
    unpack(made, tmp_path / "work")
    assert not half.exists()


def _make(objects: str, tree: str, cache: str) -> str:
    return template(Store.at(Path(objects)), tree, Path(cache)).commit


@pytest.mark.slow
def test_two_runs_that_make_one_template_at_once_agree(
    store: Store, tree: str, tmp_path: Path
) -> None:
    arguments = (str(store.folder), tree, str(tmp_path / "cache"))
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        commits = pool.starmap(_make, [arguments] * 8)
    assert len(set(commits)) == 1


def test_a_folder_that_holds_something_is_not_used(made: Template, tmp_path: Path) -> None:
    write(tmp_path / "work", "mine.txt", b"mine")
    with pytest.raises(Refused, match="not empty"):
        unpack(made, tmp_path / "work")
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["mine.txt"]


def test_a_submodule_is_refused(store: Store, tmp_path: Path) -> None:
    tree = store.add_tree([TreeEntry(b"sub", GITLINK, "1" * 40)])
    with pytest.raises(Refused, match="submodule"):
        template(store, tree, tmp_path / "cache")


def test_an_empty_tree_makes_an_empty_workspace(store: Store, tmp_path: Path) -> None:
    made = template(store, store.add_tree([]), tmp_path / "cache")
    unpack(made, tmp_path / "work")
    assert made.files == 0
    assert git(tmp_path / "work", "status", "--porcelain") == b""
    assert all(row.ok for row in audit(tmp_path / "work", made.commit))


def test_instruction_files_make_another_template(store: Store, tree: str, tmp_path: Path) -> None:
    write(tmp_path / "instructions", "AGENTS.md", b"# other rules\n")
    top = tree_of_folder(store, tmp_path / "instructions").tree
    made = template(store, overlay_tree(store, tree, top), tmp_path / "cache")
    unpack(made, tmp_path / "work")
    assert (tmp_path / "work/CLAUDE.md").read_bytes() == b"# other rules\n"
    assert b"# rules\n" not in git(tmp_path / "work", "log", "-p", "--all")


def test_the_listing_says_what_is_in_the_template(made: Template) -> None:
    raw = (made.folder / "template.json").read_bytes().partition(b"\n")[2]
    listing = json.loads(raw)
    assert listing["commit"] == made.commit
    assert len(listing["items"]) == made.files == 56


def test_ordinary_work_of_an_agent_goes_well(work: Path) -> None:
    write(work, "plain.txt", b"a\nB\n")
    assert git(work, "diff", "--stat").startswith(b" plain.txt | 2 +-")
    git(work, "commit", "-q", "-am", "work")
    assert len(git(work, "log", "--oneline").splitlines()) == 2
    git(work, "gc", "-q")
    git(work, "checkout", "-q", "refs/trialbook/baseline")
    assert (work / "plain.txt").read_bytes() == b"a\nb\n"


@pytest.mark.slow
def test_unpacking_costs_less_than_gits_own_way(store: Store, tmp_path: Path) -> None:
    for number in range(1500):
        write(tmp_path / "big", f"d{number % 40}/{number}.py", b"# %d\n" % number * 100)
    made = template(store, tree_of_folder(store, tmp_path / "big").tree, tmp_path / "cache")
    ours, theirs = [], []
    for number in range(5):
        ours.append(_seconds(lambda n=number: unpack(made, tmp_path / f"ours{n}")))
        theirs.append(_seconds(lambda n=number: _by_git(store, made.tree, tmp_path / f"git{n}")))
    assert min(ours) < min(theirs)


def _seconds(work) -> float:  # type: ignore[no-untyped-def]  # noqa: ANN001
    before = os.times().elapsed
    work()
    return os.times().elapsed - before


def _by_git(store: Store, tree: str, folder: Path) -> None:
    materialise(store, tree, folder)
    git(folder, "init", "-q")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "x")
