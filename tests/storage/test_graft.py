from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.storage.conftest import Git

from trialbook.errors import Refused
from trialbook.storage.batch import Batch
from trialbook.storage.graft import graft, missing
from trialbook.storage.ledger import Ledger
from trialbook.storage.own_packs import OwnPacks
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.repository import DIRECTORY, REGULAR, Store, TreeEntry
from trialbook.storage.runpath import path_problem
from trialbook.system import System

RUN = "runs/suite/run/"
names = st.one_of(
    st.sampled_from(["a", "a.b", "a-b", "a0", "b", "A", "é", "é", "~", " ", "r1", "r1.rerun1"]),
    st.text(min_size=1, max_size=6),
)
paths = (
    st.lists(names, min_size=1, max_size=4)
    .map(lambda parts: RUN + "/".join(parts))
    .filter(lambda path: path_problem(path) is None)
)


file_sets = st.dictionaries(paths, st.binary(max_size=40), min_size=1, max_size=12).filter(
    lambda files: not any(other.startswith(path + "/") for path in files for other in files)
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files=file_sets, groups=st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_files_in_any_grouping_read_back_and_make_the_tree_that_git_makes(
    files: dict[str, bytes], groups: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bare = Git(Path(folder) / "bare.git")
        bare.folder.mkdir()
        bare("init", "-q", "--bare", "-b", "main")
        ledger = Ledger.open(bare.folder, System())
        for group in range(4):
            part = {
                path: data
                for number, (path, data) in enumerate(files.items())
                if groups[number] == group
            }
            if part:
                ledger.commit(part, f"group {group}\n")
        reader = Reader.open(bare.folder)
        run = RunRef("suite", "run")
        for path, data in files.items():
            assert reader.file(run, path.removeprefix(RUN)) == data
            assert reader.commit_of(run, path.removeprefix(RUN)) is not None
        assert reader.files(run, "missing") == []

        plain = Git(Path(folder) / "plain")
        plain.folder.mkdir()
        for path, data in files.items():
            place = plain.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        plain("init", "-q")
        plain("add", "-A", "-f")
        assert bare("rev-parse", "main^{tree}") == plain("write-tree")
        ledger.close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.at(tmp_path / "objects")


def test_only_trees_on_the_way_are_written_and_the_rest_is_not_even_read(store: Store) -> None:
    absent = "1" * 40
    top = store.add_tree([TreeEntry(b"elsewhere", DIRECTORY, absent)])
    trees = Batch(store)
    blob = trees.add_blob(b"x", b"a/b/c")
    result = graft(trees, top, {b"a/b/c": blob, b"a/d": blob})
    assert len(trees.objects({blob})) == 4
    assert trees.folder_of(result.tree).get(b"elsewhere") == (b"elsewhere", DIRECTORY, absent)
    assert result.added == {b"a/b/c": blob, b"a/d": blob}


def test_what_is_there_already_changes_nothing(store: Store) -> None:
    trees = Batch(store)
    blob = trees.add_blob(b"x", b"a/b")
    tree = graft(trees, None, {b"a/b": blob}).tree
    assert graft(trees, tree, {b"a/b": blob}) == (tree, {})


def test_an_executable_with_the_same_bytes_is_other_content(store: Store) -> None:
    blob = store.add_blob(b"x")
    tree = store.add_tree([TreeEntry(b"a", 0o100755, blob)])
    with pytest.raises(Refused, match="a is in the ledger with other content"):
        graft(Batch(store), tree, {b"a": blob})


@pytest.mark.parametrize("order", [(b"a", b"a/b"), (b"a/b", b"a")])
def test_one_commit_cannot_hold_a_file_and_a_folder_of_one_name(
    store: Store, order: tuple[bytes, bytes]
) -> None:
    blob = store.add_blob(b"x")
    with pytest.raises(Refused, match="of the same commit"):
        graft(Batch(store), None, dict.fromkeys(order, blob))


def test_names_sort_as_git_sorts_them(store: Store, git: Git) -> None:
    trees = Batch(store)
    blob = store.add_blob(b"")
    tree = graft(trees, None, dict.fromkeys([b"a.b", b"a/x", b"a0", b"a-b"], blob)).tree
    OwnPacks(store, store.folder.parent / "notes").write(trees.objects(set()))
    assert [entry.name for entry in store.tree(tree)] == [b"a-b", b"a.b", b"a", b"a0"]


def test_missing_lists_files_that_are_gone_and_skips_what_is_equal(store: Store) -> None:
    trees = Batch(store)
    blobs = {name: trees.add_blob(name, name) for name in (b"1", b"2", b"3")}
    old = graft(
        trees, None, {b"r/a/x": blobs[b"1"], b"r/a/y": blobs[b"2"], b"r/b/z": blobs[b"3"]}
    ).tree
    new = graft(trees, None, {b"r/a/x": blobs[b"3"], b"r/b/z": blobs[b"3"]}).tree
    OwnPacks(store, store.folder.parent / "notes").write(trees.objects(set()))
    assert missing(store, old, new, b"r") == {b"r/a/y": blobs[b"2"]}
    assert missing(store, old, None, b"r").keys() == {b"r/a/x", b"r/a/y", b"r/b/z"}
    assert missing(store, None, new, b"r") == {}
    assert missing(store, old, old, b"r") == {}
    file = store.add_tree([TreeEntry(b"r", REGULAR, blobs[b"1"])])
    assert missing(store, file, None, b"r") == {}
