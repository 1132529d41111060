from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest
from tests import nasty_tree

from trialbook.errors import Refused
from trialbook.model.treepath import is_git_name, leaving_links
from trialbook.storage.folders import IdsOnly
from trialbook.storage.repository import GITLINK, REGULAR, SYMLINK, Store, TreeEntry
from trialbook.storage.trees import (
    count_files,
    materialise,
    overlay_tree,
    place,
    remove_paths,
    subtree,
    tree_of_folder,
)


def tree(store: Store, files: dict[str, str]) -> str:
    """A tree of text files, by way of git's own order and nothing else."""
    result = store.add_tree([])
    for path, text in files.items():
        names = path.encode().split(b"/")
        entry = TreeEntry(names[-1], REGULAR, store.add_blob(text.encode()))
        single = store.add_tree([entry])
        folder = "/".join(name.decode() for name in names[:-1]) or "."
        result = overlay_tree(store, result, place(store, single, folder))
    return result


def paths(store: Store, oid: str) -> list[bytes]:
    return [path for path, _ in store.walk(oid)]


def test_a_folder_gets_the_tree_that_git_gives_it(
    store: Store, nasty: Path, tmp_path: Path
) -> None:
    found = tree_of_folder(store, nasty)
    assert found.tree == nasty_tree.git_tree(nasty, tmp_path / "plumbing") == nasty_tree.TREE
    assert found.omitted == ()


def test_ids_alone_are_the_same_ids(nasty: Path) -> None:
    assert tree_of_folder(IdsOnly(), nasty).tree == nasty_tree.TREE


def test_a_tree_written_out_is_the_same_tree(store: Store, nasty: Path, tmp_path: Path) -> None:
    oid = tree_of_folder(store, nasty).tree
    materialise(store, oid, tmp_path / "copy")
    assert tree_of_folder(store, tmp_path / "copy").tree == oid
    for name, data in nasty_tree.FILES.items():
        assert (tmp_path / "copy" / os.fsdecode(name)).read_bytes() == data
    for link, target in nasty_tree.LINKS.items():
        assert (tmp_path / "copy" / link).readlink() == Path(target)


def test_modes_do_not_depend_on_the_umask(store: Store, tmp_path: Path) -> None:
    nasty_tree.write(tmp_path / "from", "d/run", b"x", 0o700)
    nasty_tree.write(tmp_path / "from", "d/read", b"x", 0o600)
    oid = tree_of_folder(store, tmp_path / "from").tree
    before = os.umask(0o077)
    try:
        materialise(store, oid, tmp_path / "to")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "to/d").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "to/d/run").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "to/d/read").stat().st_mode) == 0o644


def test_a_folder_with_something_in_it_is_not_written_into(store: Store, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/mine.txt").write_text("mine")
    with pytest.raises(Refused, match="not empty"):
        materialise(store, store.add_tree([]), tmp_path / "there")


@pytest.mark.parametrize("name", [b"..", b".", b".git", b".GIT", b"git~1", b".git ", b".git.\\x"])
def test_a_tree_cannot_lead_out_of_its_folder_by_a_name(
    store: Store, tmp_path: Path, name: bytes
) -> None:
    inner = store.add_tree([TreeEntry(b"x", REGULAR, store.add_blob(b"x"))])
    oid = store.add_tree([TreeEntry(name, 0o040000, inner)])
    with pytest.raises(Refused):
        materialise(store, oid, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_link_and_a_folder_of_one_name_do_not_write_through_the_link(
    store: Store, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = TreeEntry(b"a", SYMLINK, store.add_blob(os.fsencode(outside)))
    inner = store.add_tree([TreeEntry(b"x", REGULAR, store.add_blob(b"x"))])
    raw = b"".join(
        b"%o %s\0%s" % (entry.mode, entry.name, bytes.fromhex(entry.oid))
        for entry in (link, TreeEntry(b"a", 0o040000, inner))
    )
    repository = tmp_path / "repository"
    nasty_tree.git(tmp_path, "init", "-q", "--bare", str(repository))
    hash_it = ("hash-object", "-w", "-t", "tree", "--literally", "--stdin")
    oid = nasty_tree.git(repository, *hash_it, stdin=raw).decode().strip()
    (repository / "objects/info/alternates").write_text(f"{store.folder}\n")
    with pytest.raises(Refused, match="twice"):
        materialise(Store.at(repository / "objects"), oid, tmp_path / "out")
    assert list(outside.iterdir()) == []


def test_a_submodule_is_refused(store: Store, tmp_path: Path) -> None:
    oid = store.add_tree([TreeEntry(b"sub", GITLINK, "1" * 40)])
    with pytest.raises(Refused, match="submodule"):
        materialise(store, oid, tmp_path / "out")


def test_an_overlay_adds_replaces_and_keeps(store: Store) -> None:
    base = tree(store, {"keep.txt": "k", "d/old.txt": "o", "d/same.txt": "1", "f": "file"})
    top = tree(store, {"d/same.txt": "2", "d/new.txt": "n", "f/inside.txt": "folder now"})
    both = overlay_tree(store, base, top)
    wanted = {
        "keep.txt": "k",
        "d/old.txt": "o",
        "d/same.txt": "2",
        "d/new.txt": "n",
        "f/inside.txt": "folder now",
    }
    assert both == tree(store, wanted)
    assert overlay_tree(store, base, base) == base


def test_a_file_of_an_overlay_replaces_a_folder(store: Store) -> None:
    base = tree(store, {"d/a": "1", "d/b": "2"})
    assert overlay_tree(store, base, tree(store, {"d": "file"})) == tree(store, {"d": "file"})


def test_a_folder_inside_becomes_the_tree(store: Store) -> None:
    oid = tree(store, {"src/pkg/a.py": "a", "b.py": "b"})
    assert subtree(store, oid, "src/pkg") == tree(store, {"a.py": "a"})
    assert subtree(store, oid, ".") == oid


@pytest.mark.parametrize("path", ["missing", "b.py", "../x", "/etc", "src/../src", "src/.git"])
def test_a_folder_that_is_not_inside_is_refused(store: Store, path: str) -> None:
    oid = tree(store, {"src/pkg/a.py": "a", "b.py": "b"})
    with pytest.raises(Refused):
        subtree(store, oid, path)


def test_removed_paths_are_gone_with_the_folders_they_empty(store: Store) -> None:
    oid = tree(store, {"a/b/c.txt": "c", "a/d.txt": "d", "ci/x.yml": "x", "ci/y.yml": "y"})
    left = remove_paths(store, oid, ["a/b/c.txt", "ci"])
    assert paths(store, left) == [b"a/d.txt"]
    everything = remove_paths(store, left, ["a/d.txt"])
    assert everything == store.add_tree([])


def test_removing_what_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(Refused, match="no such path"):
        remove_paths(store, tree(store, {"a.txt": "a"}), ["b.txt"])


def test_files_are_counted_with_links(store: Store, nasty: Path) -> None:
    oid = tree_of_folder(store, nasty).tree
    entries = len(nasty_tree.FILES) + len(nasty_tree.SCRIPTS) + len(nasty_tree.LINKS)
    assert count_files(store, oid) == entries


@pytest.mark.slow
def test_three_thousand_files_take_less_than_seconds(store: Store, tmp_path: Path) -> None:
    for number in range(3000):
        nasty_tree.write(tmp_path / "big", f"d{number % 60}/{number}.py", b"# %d\n" % number * 100)
    oid = tree_of_folder(store, tmp_path / "big").tree
    began = time.perf_counter()
    assert tree_of_folder(store, tmp_path / "big").tree == oid
    materialise(store, oid, tmp_path / "out")
    # A third of a second each on a quiet machine; the limit only catches a different order.
    assert time.perf_counter() - began < 8


@pytest.mark.parametrize(
    "name", [b".git", b".GIT", b"GIT~1", b".git ", b".git...", b".git::$INDEX", b"x\\.git\\hooks"]
)
def test_names_that_some_system_takes_for_git_are_told(name: bytes) -> None:
    assert is_git_name(name)


@pytest.mark.parametrize("name", [b".gitignore", b"git", b".git2", b"x.git", b".git\n", b"git~10"])
def test_names_that_only_look_like_it_are_files(name: bytes) -> None:
    assert not is_git_name(name)


def test_links_that_leave_are_found_by_way_of_others_too() -> None:
    links = {
        b"in": b"a/b",
        b"absolute": b"/etc",
        b"up": b"..",
        b"a/up": b"..",
        b"a/deep/top": b"../..",
        b"sly": b"a/deep/top/../x",
        b"loop": b"loop",
        b"far": b"no/../no/../../x",
        b"by_absolute": b"absolute/x",
    }
    assert leaving_links(links) == [b"absolute", b"by_absolute", b"far", b"sly", b"up"]
