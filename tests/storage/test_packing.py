from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from dulwich.pack import apply_delta
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.conftest import Git, run_files, trial_files

from trialbook.errors import EnvironmentProblem
from trialbook.storage.delta import make_delta
from trialbook.storage.ledger import Ledger
from trialbook.storage.objects import DIRECTORY, REGULAR, TreeEntry, object_id
from trialbook.storage.own_packs import TOGETHER, NewObject, OwnPacks
from trialbook.storage.pack_source import PackSource
from trialbook.storage.pack_writer import DEEPEST, Likeness, PackWriter, index_bytes
from trialbook.storage.repository import Store
from trialbook.storage.tree_folder import Folder
from trialbook.system import System

texts = st.lists(
    st.sampled_from([b"a\n", b"longer line\n", b"another one\n", b"\x00\xff"]), max_size=60
)


@settings(max_examples=300, deadline=None)
@given(base=texts, target=texts, lines=st.booleans())
def test_a_delta_makes_the_target_from_the_base(
    base: list[bytes], target: list[bytes], lines: bool
) -> None:
    one, other = b"".join(base), b"".join(target)
    delta = make_delta(one, other, lines=lines)
    if delta is not None:
        assert b"".join(apply_delta(one, delta)) == other
        assert len(delta) * 2 < len(other)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 0xFFFF, 0x10000, 0x10001, 200_000])
def test_long_copies_and_inserts_are_split_as_git_wants_them(size: int) -> None:
    chance = random.Random(size)
    base = chance.randbytes(size) + b"x" * 300_000
    target = base[:size] + chance.randbytes(130) + base[size:]
    delta = make_delta(base, target, lines=False)
    assert delta is not None
    assert b"".join(apply_delta(base, delta)) == target


def test_what_is_not_alike_gets_no_delta() -> None:
    chance = random.Random(1)
    assert make_delta(chance.randbytes(500), chance.randbytes(500), lines=True) is None
    assert make_delta(b"", b"x" * 100, lines=True) is None


@given(
    names=st.lists(
        st.tuples(st.sampled_from([b"a", b"a.b", b"a-b", b"a0", b"b", b"\xff"]), st.booleans()),
        max_size=6,
        unique_by=lambda item: item[0],
    )
)
def test_a_folder_is_the_tree_that_the_library_makes(names: list[tuple[bytes, bool]]) -> None:
    folder = Folder()
    for number, (name, is_folder) in enumerate(names):
        folder.put(name, DIRECTORY if is_folder else REGULAR, f"{number:040x}")
    again = Folder(folder.raw())
    assert again.raw() == folder.raw()
    for number, (name, is_folder) in enumerate(names):
        mode = DIRECTORY if is_folder else REGULAR
        assert again.get(name) == TreeEntry(name, mode, f"{number:040x}")
    assert again.get(b"missing") is None


@pytest.mark.parametrize("raw", [b"x", b"100644 a\0short", b"100644 a/b\0" + b"x" * 20])
def test_what_is_no_tree_is_not_taken_for_one(raw: bytes) -> None:
    with pytest.raises(ValueError, match="no tree"):
        Folder(raw)


def test_offsets_beyond_two_gigabytes_go_to_a_table_of_their_own() -> None:
    entries = [(b"\x00" * 20, 1, 12), (b"\xff" * 20, 2, 5 << 30)]
    raw = index_bytes(entries, b"\x11" * 20)
    assert raw[-60:-40].endswith((5 << 30).to_bytes(8, "big"))


def many_objects(number: int, count: int = 20) -> list[NewObject]:
    """Records that differ in a line or two, and one that nothing resembles."""
    found = []
    for place in range(count):
        data = b"".join(b"line %d of a record\n" % line for line in range(40))
        data += b"number %d of %d\n" % (place, number)
        like = Likeness(place, 7)
        found.append(NewObject(object_id("blob", data), 3, data, like))
    odd = random.Random(number).randbytes(300)
    return [*found, NewObject(object_id("blob", odd), 3, odd, Likeness(99, 98))]


@pytest.fixture
def packs(git: Git) -> OwnPacks:
    return OwnPacks(Store.at(git.folder / ".git/objects"), git.folder / ".git/trialbook/packs")


def pack_names(git: Git) -> list[str]:
    return sorted(path.stem for path in (git.folder / ".git/objects/pack").glob("*.pack"))


def test_git_finds_every_object_of_a_pack_and_no_fault(git: Git, packs: OwnPacks) -> None:
    objects = many_objects(1)
    name = packs.write(objects)
    git("verify-pack", f".git/objects/pack/{name}.pack")
    git.fsck()
    for new in objects:
        assert git.run("cat-file", "blob", new.oid.hex()).stdout == new.data
    size = (git.folder / f".git/objects/pack/{name}.pack").stat().st_size
    assert size < 2500


@pytest.mark.slow
def test_packs_are_put_together_and_keep_every_object(git: Git, packs: OwnPacks) -> None:
    foreign = sorted(
        path.name for path in (git.folder / ".git/objects").rglob("*") if path.is_file()
    )
    every: list[NewObject] = []
    for number in range(TOGETHER * 3 + 2):
        objects = many_objects(number)
        every += objects
        packs.write(objects)
        packs.tidy()
    assert len(pack_names(git)) == 3 + 2
    git.fsck()
    for name in pack_names(git):
        listing = git("verify-pack", "-v", f".git/objects/pack/{name}.pack")
        chains = [line.split()[5] for line in listing.splitlines() if len(line.split()) == 7]
        assert max(map(int, chains), default=0) <= DEEPEST
    for new in every:
        assert git.run("cat-file", "blob", new.oid.hex()).stdout == new.data
    left = {path.name for path in (git.folder / ".git/objects").rglob("*") if path.is_file()}
    assert set(foreign) <= left


def test_packs_of_others_and_their_notes_are_left_alone(git: Git, packs: OwnPacks) -> None:
    git("repack", "-a", "-d", "-q")
    theirs = pack_names(git)
    for number in range(TOGETHER):
        packs.write(many_objects(number, 2))
    packs.tidy()
    assert set(theirs) < set(pack_names(git))
    assert len(pack_names(git)) == 2


def test_when_git_packs_everything_anew_our_notes_go(git: Git, packs: OwnPacks) -> None:
    with contextlib.closing(Ledger.open(git.folder, System())) as ledger:
        ledger.commit(run_files(), "plan\n")
        git("gc", "-q")
        ledger.commit(trial_files(), "trial\n")
        git.fsck()
        notes = list((git.folder / ".git/trialbook/packs").iterdir())
        assert [note.name for note in notes] == [
            name for name in pack_names(git) if (notes[0].parent / name).exists()
        ]
        assert len(notes) == 1


def test_a_pack_without_its_index_is_a_leftover_of_ours_and_goes(git: Git, packs: OwnPacks) -> None:
    name = packs.write(many_objects(1))
    index = git.folder / f".git/objects/pack/{name}.idx"
    index.unlink()
    packs.tidy()
    assert pack_names(git) == []
    assert list((git.folder / ".git/trialbook/packs").iterdir()) == []


def test_a_damaged_pack_is_never_put_together_with_others(git: Git, packs: OwnPacks) -> None:
    names = [packs.write(many_objects(number)) for number in range(TOGETHER)]
    file = git.folder / f".git/objects/pack/{names[3]}.pack"
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.chmod(0o644)
    file.write_bytes(data)
    with pytest.raises(EnvironmentProblem, match="damaged"):
        packs.tidy()
    assert pack_names(git) == sorted(names)
    assert list((git.folder / ".git/objects/pack").glob("tmp_*")) == []


def test_a_killed_writer_leaves_only_what_git_clears_away(git: Git) -> None:
    writer = PackWriter(git.folder / ".git/objects/pack", 2, lambda _: None)
    writer.add(*many_objects(1)[0])
    names = [path.name for path in (git.folder / ".git/objects/pack").iterdir()]
    assert [name.startswith("tmp_pack_") for name in names] == [True]
    with pytest.raises(ValueError, match="1 objects instead of 2"):
        writer.finish(durable=False)
    writer.abandon()
    assert list((git.folder / ".git/objects/pack").iterdir()) == []


def test_a_pack_that_is_cut_short_is_refused(git: Git, packs: OwnPacks) -> None:
    name = packs.write(many_objects(1))
    file = git.folder / f".git/objects/pack/{name}.pack"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"damaged|put together"):
        PackSource(file)


class TestGroups:
    def test_each_trial_of_a_group_gets_its_commit_and_all_share_a_pack(
        self, git: Git, tmp_path: Path
    ) -> None:
        with contextlib.closing(Ledger.open(git.folder, System())) as ledger:
            groups = [(run_files(), "plan\n")]
            groups += [(trial_files(number), f"trial {number}\n") for number in range(1, 6)]
            made = ledger.commit_many(groups)
        assert len(pack_names(git)) == 1
        assert git("log", "--reverse", "--format=%H %s", "HEAD~6..").splitlines() == [
            f"{oid} {text.strip()}" for oid, (_, text) in zip(made, groups, strict=True)
        ]
        for number in range(1, 6):
            changed = git("show", "--format=", "--name-only", made[number]).split()
            assert changed == sorted(trial_files(number))
        assert git("status", "--porcelain") == ""
        assert git("reflog", "-1", "--format=%gs").strip() == "trialbook: trial 5 (and 5 before it)"
        git.fsck()

    def test_one_that_is_refused_keeps_all_from_being_made(
        self, git: Git, check_unchanged: Callable[[], None]
    ) -> None:
        with contextlib.closing(Ledger.open(git.folder, System())) as ledger:
            ledger.commit(trial_files(), "trial\n")
            before = git("rev-parse", "HEAD")
            bad = {"runs/demo/first/task/current/r1/trial.json": b"other"}
            with pytest.raises(Exception, match="other content"):
                ledger.commit_many([(trial_files(2), "good\n"), (bad, "bad\n")])
            assert git("rev-parse", "HEAD") == before
            check_unchanged()
            ledger.commit(trial_files(2), "good\n")
            git.fsck()

    def test_what_is_there_already_gets_the_commit_before(self, git: Git) -> None:
        with contextlib.closing(Ledger.open(git.folder, System())) as ledger:
            first = ledger.commit(trial_files(), "trial\n")
            again, other = ledger.commit_many([(trial_files(), "x\n"), (trial_files(2), "y\n")])
            assert again == first
            assert git("rev-parse", f"{other}~").strip() == first
            assert ledger.commit_many([(trial_files(), "x\n")]) == [other]
        git.fsck()

    @pytest.fixture
    def check_unchanged(self, git: Git) -> Callable[[], None]:
        def check() -> None:
            assert git("status", "--porcelain", "--untracked-files=all") == ""

        return check


def test_a_branch_that_others_build_upon_between_two_commits_keeps_every_file(git: Git) -> None:
    with contextlib.closing(Ledger.open(git.folder, System())) as one:
        one.commit(run_files(), "plan\n")
        for number in range(1, 4):
            one.commit(trial_files(number), "trial\n")
            (git.folder / f"user{number}").write_text("x")
            git("add", f"user{number}")
            git("commit", "-q", "-m", "user")
            git("gc", "-q", "--prune=now")
        one.commit(trial_files(4), "trial\n")
    git.fsck()
    names = git("ls-tree", "-r", "--name-only", "HEAD").split()
    assert {f"user{number}" for number in range(1, 4)} <= set(names)
    assert len([name for name in names if name.endswith("trial.json")]) == 4
