from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.nasty_tree import git, write

from trialbook.errors import EnvironmentProblem
from trialbook.execution import reachable
from trialbook.execution.answer import Answer, answer_of, folded_lines, is_distinctive
from trialbook.execution.audit import audit
from trialbook.execution.leaks import Search
from trialbook.execution.reachable import Place, package_places
from trialbook.execution.workspace import template, unpack
from trialbook.model.evidence import Sighting, SightingSeverity, violations
from trialbook.model.suite import Reference, Snapshot, SnapshotKind, Task
from trialbook.storage.repository import Store, fetch_commit
from trialbook.storage.trees import tree_of_folder

BUGGY = b"""\
from __future__ import annotations


def refund(amount):
    return ledger.book(amount)
"""
FIXED = b"""\
from __future__ import annotations


def refund(amount):
    if amount.is_negative() or amount.currency is None:
        raise RefundRefused(f"cannot refund {amount}, see the rules")
    booked = ledger.book(amount.rounded_half_even())
    audit_trail.remember(booked, reason="refund")
    return booked
"""
VERSION = b"$Format:%H %d$\n"


@dataclass(frozen=True)
class World:
    """A repository with a base and a fix, and what is known of the answer."""

    source: Path
    base: str
    fix: str
    store: Store
    tree: str
    answer: Answer
    folder: Path

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"


@pytest.fixture
def world(tmp_path: Path, store: Store) -> World:
    source = tmp_path / "source"
    source.mkdir()
    git(source, "init", "-q", "-b", "main")
    write(source, "shop/refunds.py", BUGGY)
    write(source, "CHANGES.md", b"# Changes\n\nNothing yet.\n")
    write(source, "pyproject.toml", b'[project]\nname = "Shop_API"\nversion = "1.4"\n')
    write(source, "version.txt", VERSION)
    write(source, "secret.txt", b"only in the tree\n")
    write(source, ".gitattributes", b"version.txt export-subst\nsecret.txt export-ignore\n")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "base")
    base = git(source, "rev-parse", "HEAD").decode().strip()
    write(source, "shop/refunds.py", FIXED)
    write(source, "CHANGES.md", b"# Changes\n\nRefuse a refund that is below zero (#4711).\n")
    git(source, "commit", "-q", "-am", "Refuse a refund that is below zero")
    fix = git(source, "rev-parse", "HEAD").decode().strip()
    before = fetch_commit(str(source), base, store, tmp_path / "one")
    after = fetch_commit(str(source), fix, store, tmp_path / "two")
    answer = answer_of(task(base, fix), before.tree, after.tree, store, lines=True)
    return World(source, base, fix, store, before.tree, answer, tmp_path)


def task(base: str, fix: str) -> Task:
    return Task(
        name="refunds",
        folder="suites/s/tasks/refunds",
        brief="Mend refunds.",
        snapshot=Snapshot(kind=SnapshotKind.GIT, location="../shop", revision=base),
        graders=(),
        reference=Reference(
            snapshot=Snapshot(kind=SnapshotKind.GIT, location="../shop", revision=fix)
        ),
    )


def seen(world: World, *, lines: bool = True) -> list[Sighting]:
    """What a look at the workspace gives."""
    search = Search(answers=[world.answer], lines=lines)
    search.folder(Place(name="the workspace", root=world.workspace, lasting=False), ["refunds"])
    search.repository("the workspace", world.workspace, ["refunds"])
    return search.sightings(world.answer)


def kinds(sightings: list[Sighting]) -> set[str]:
    return {one.kind for one in sightings}


def fresh(world: World) -> str:
    made = template(world.store, world.tree, world.folder / "cache")
    unpack(made, world.workspace)
    return made.commit


def clone(world: World) -> None:
    git(world.folder, "clone", "-q", str(world.source), "workspace")
    git(world.workspace, "checkout", "-q", world.base)


def worktree(world: World) -> None:
    git(world.source, "worktree", "add", "-q", "--detach", str(world.workspace), world.base)


def alternates(world: World) -> None:
    git(world.folder, "clone", "-q", "--shared", str(world.source), "workspace")
    git(world.workspace, "checkout", "-q", world.base)
    git(world.workspace, "remote", "remove", "origin")


def tip_alone(world: World) -> None:
    git(world.folder, "clone", "-q", "--depth", "1", f"file://{world.source}", "workspace")
    git(world.workspace, "checkout", "-q", "-B", "main")
    write(world.workspace, "shop/refunds.py", BUGGY)


def stash(world: World) -> None:
    git(world.folder, "clone", "-q", "--no-local", str(world.source), "workspace")
    git(world.workspace, "checkout", "-q", "-B", "main", world.base)
    write(world.workspace, "shop/refunds.py", FIXED)
    git(world.workspace, "stash", "-q")
    git(world.workspace, "remote", "remove", "origin")
    git(world.workspace, "reflog", "expire", "--expire=now", "HEAD")
    git(world.workspace, "gc", "-q", "--prune=now")


def tag(world: World) -> None:
    fresh(world)
    git(world.workspace, "fetch", "-q", str(world.source), f"{world.fix}:refs/tags/v2")


def notes(world: World) -> None:
    fresh(world)
    git(world.workspace, "notes", "add", "-m", f"see {world.fix[:9]}", "HEAD")


def notes_with_lines(world: World) -> None:
    fresh(world)
    write(world.folder, "note.txt", b"\n".join(FIXED.splitlines()[4:8]))
    git(world.workspace, "notes", "add", "-F", str(world.folder / "note.txt"), "HEAD")


def loose_object(world: World) -> None:
    fresh(world)
    git(world.workspace, "hash-object", "-w", "--stdin", stdin=FIXED)


def copy_of_the_file(world: World) -> None:
    fresh(world)
    write(world.workspace, "build/lib/shop/refunds.py", FIXED)


def indented_lines(world: World) -> None:
    fresh(world)
    write(world.workspace, "docs/example.txt", FIXED.replace(b"    ", b"\t\t\t"))


def changelog(world: World) -> None:
    fresh(world)
    write(world.workspace, "NEWS", b"Next\n\n- Refunds, https://example.com/shop/issues/4711\n")


def fixing_commit(world: World) -> None:
    fresh(world)
    write(world.workspace, "HISTORY.rst", f"Mended by {world.fix[:10]}.\n".encode())


PLANTED: dict[str, tuple[str, Callable[[World], object]]] = {
    "clone": ("answer_object", clone),
    "worktree": ("answer_object", worktree),
    "alternates": ("answer_object", alternates),
    "depth-1 tip": ("answer_object", tip_alone),
    "stash": ("answer_object", stash),
    "tag": ("answer_object", tag),
    "notes that name the fix": ("fix_named", notes),
    "notes that hold it": ("answer_lines", notes_with_lines),
    "loose object": ("answer_object", loose_object),
    "copy of the file": ("answer_file", copy_of_the_file),
    "lines, indented otherwise": ("answer_lines", indented_lines),
    "changelog with the number": ("fix_named", changelog),
    "history with the commit": ("fix_named", fixing_commit),
}


@pytest.mark.parametrize("leak", PLANTED)
def test_each_planted_leak_is_found(world: World, leak: str) -> None:
    kind, plant = PLANTED[leak]
    plant(world)
    found = violations(seen(world))
    assert kind in kinds(found)


@pytest.mark.parametrize("leak", [name for name in PLANTED if PLANTED[name][0] == "answer_object"])
def test_objects_are_found_without_a_look_at_any_line(world: World, leak: str) -> None:
    PLANTED[leak][1](world)
    assert "answer_object" in kinds(violations(seen(world, lines=False)))


def test_a_fresh_workspace_is_clean(world: World) -> None:
    commit = fresh(world)
    assert seen(world) == []
    assert [row for row in audit(world.workspace, commit) if not row.ok] == []


@pytest.mark.parametrize("what", ["the commit", "the tip"])
def test_an_archive_is_not_taken_for_the_tree(world: World, what: str) -> None:
    """export-ignore drops a file, export-subst writes the commit's id into another."""
    revision = world.base if what == "the commit" else world.fix
    data = git(world.source, "archive", revision)
    world.workspace.mkdir()
    (world.folder / "archive.tar").write_bytes(data)
    shutil.unpack_archive(world.folder / "archive.tar", world.workspace, "tar")
    assert not (world.workspace / "secret.txt").exists()
    assert revision.encode() in (world.workspace / "version.txt").read_bytes()
    commit = template(world.store, world.tree, world.folder / "cache").commit
    git(world.workspace, "init", "-q", "-b", "main")
    git(world.workspace, "add", "-A")
    git(world.workspace, "commit", "-q", "-m", "baseline")
    failed = {row.rule for row in audit(world.workspace, commit) if not row.ok}
    assert {"baseline", "objects", "tree"} <= failed
    leaks = kinds(seen(world))
    assert leaks == (
        set()
        if what == "the commit"
        else {"answer_object", "answer_file", "answer_lines", "fix_named"}
    )


def trees(folder: Path, store: Store, *each: dict[str, bytes]) -> list[str]:
    """The tree of each set of files."""
    made = []
    for number, files in enumerate(each):
        for name, data in files.items():
            write(folder, f"{number}/{name}", data)
        made.append(tree_of_folder(store, folder / str(number)).tree)
    return made


def test_a_copy_that_the_snapshot_itself_has_is_found(tmp_path: Path, store: Store) -> None:
    copy = {"build/lib/refunds.py": FIXED}
    base, fixed = trees(
        tmp_path, store, {"refunds.py": BUGGY, **copy}, {"refunds.py": FIXED, **copy}
    )
    answer = answer_of(task("1" * 40, "2" * 40), base, fixed, store, lines=True)
    search = Search(answers=[answer], lines=True)
    search.tree("the snapshot", base, store, ["refunds"])
    (found,) = violations(search.sightings(answer))
    assert (found.kind, found.path) == ("answer_file", "build/lib/refunds.py")


def test_what_a_reference_only_moves_or_copies_is_no_answer(tmp_path: Path, store: Store) -> None:
    base, moved = trees(
        tmp_path,
        store,
        {"refunds.py": FIXED, "kept.py": BUGGY},
        {"shop/refunds.py": FIXED, "again.py": BUGGY, "kept.py": BUGGY},
    )
    answer = answer_of(task("1" * 40, "2" * 40), base, moved, store, lines=True)
    assert answer.blobs == {}
    assert answer.lines == frozenset()


def test_files_of_the_answer_in_one_folder_are_told_together(world: World) -> None:
    changes = b"# Changes\n\nRefuse a refund that is below zero (#4711).\n"
    for name in ("a/refunds.py", "a/renamed.py", "b/refunds.py"):
        write(site(world), name, FIXED)
    write(site(world), "a/CHANGES.md", changes)
    found = packages(world, lines=False)
    assert [(one.path or "").rpartition("site-packages/")[2] for one in found] == [
        "a/CHANGES.md",
        "b/refunds.py",
    ]
    assert found[0].detail.endswith("; 2 more are beside it")


# --- installed packages ---------------------------------------------------------------------------


def site(world: World) -> Path:
    return world.folder / "venv/lib/python3.11/site-packages"


def packages(world: World, *, lines: bool) -> list[Sighting]:
    search = Search(answers=[world.answer], lines=lines)
    root = world.folder / "venv"
    search.folder(Place(name="the toolchain", root=root, lasting=False))
    return search.sightings(world.answer)


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("1.4", set()),
        ("1.3.9", set()),
        ("1.4rc1", set()),
        ("1.4.0", set()),
        ("1.4.1", {"newer_release"}),
        ("1.10", {"newer_release"}),
        ("1.4.post1", {"newer_release"}),
        ("2.0.dev3", {"newer_release"}),
        ("1!0.1", {"newer_release"}),
    ],
)
def test_a_newer_release_of_the_project_is_found(
    world: World, version: str, found: set[str], *, lines: bool
) -> None:
    write(site(world), f"shop_api-{version}.dist-info/METADATA", b"Name: Shop-API\n")
    write(site(world), "shopkeeper-9.0.dist-info/METADATA", b"Name: shopkeeper\n")
    assert kinds(packages(world, lines=lines)) == found


@pytest.mark.parametrize("lines", [False, True])
def test_a_copy_in_the_installed_packages_is_found_with_its_place(
    world: World, *, lines: bool
) -> None:
    write(site(world), "other/_vendor/shop/refunds.py", FIXED)
    found = [one for one in packages(world, lines=lines) if one.kind == "answer_file"]
    assert [one.path for one in found] == [
        "lib/python3.11/site-packages/other/_vendor/shop/refunds.py"
    ]
    assert "shop/refunds.py, byte for byte" in found[0].detail


def test_the_lines_are_told_with_the_number_of_the_first_and_never_quoted(world: World) -> None:
    text = b"import os\n\n" + b"\n".join(FIXED.splitlines()[4:])
    write(site(world), "other/refunds.py", text)
    (found,) = packages(world, lines=True)
    assert (found.kind, found.line) == ("answer_lines", 3)
    assert found.excerpt is None
    assert "RefundRefused" not in str(found)


@pytest.mark.parametrize(
    "name",
    [
        "shop_api-1.5-py3-none-any.whl",
        "Shop.API-1.5.tar.gz",
        "shop-api-1.5.zip",
        "shop-api-1.5.tgz",
    ],
)
def test_a_release_that_was_only_downloaded_is_found_by_its_name(world: World, name: str) -> None:
    write(world.folder / "venv", f"cache/{name}", b"PK")
    assert kinds(packages(world, lines=False)) == {"newer_release"}


def test_a_file_in_an_archive_is_found(world: World) -> None:
    site(world).mkdir(parents=True)
    with zipfile.ZipFile(site(world) / "bundle.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("deep/refunds.py", FIXED)
    (found,) = packages(world, lines=True)
    assert found.kind == "answer_file"
    assert "deep/refunds.py in it" in found.detail


@pytest.mark.parametrize(
    ("path", "manifest", "found"),
    [
        ("node_modules/shop-api/package.json", b'{"name": "shop-api", "version": "1.5.0"}', True),
        ("node_modules/shop-api/package.json", b'{"name": "shop-api", "version": "1.4.0"}', False),
        ("node_modules/shop-api/package.json", b'{"name": "shop-api", "version": 15}', False),
        ("node_modules/shop-api/package.json", b"[" * 100_000, False),
        ("node_modules/shop-api/package.json", b"\xff\xfe", False),
        ("examples/package.json", b'{"name": "shop-api", "version": "1.5.0"}', False),
    ],
)
def test_a_node_package_is_read(world: World, path: str, manifest: bytes, *, found: bool) -> None:
    write(world.folder / "venv", path, manifest)
    assert kinds(packages(world, lines=False)) == ({"newer_release"} if found else set())


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("vendored/refunds.py", True),
        ("shop_api/_money.py", True),
        ("numbers/_money.py", False),
    ],
)
def test_in_what_belongs_to_the_host_only_files_with_a_name_of_the_answer_are_read(
    world: World, path: str, *, found: bool
) -> None:
    write(world.folder / "host", path, b"\n".join(FIXED.splitlines()[4:]))
    search = Search(answers=[world.answer], lines=True)
    search.folder(Place(name="the system", root=world.folder / "host", lasting=True))
    assert kinds(search.sightings(world.answer)) == ({"answer_lines"} if found else set())


# --- what is no leak ------------------------------------------------------------------------------


def test_lines_that_many_files_have_are_nobodys(world: World) -> None:
    for number in range(6):
        text = b"# %d\n" % number + b"\n".join(FIXED.splitlines()[4:])
        write(site(world), f"other/copy{number}.py", text)
    assert packages(world, lines=True) == []


def test_one_text_that_lies_about_in_many_copies_is_still_a_leak(world: World) -> None:
    for number in range(6):
        text = b"\n".join(FIXED.splitlines()[4:])
        write(site(world), f"other/copy{number}.py", text)
    assert len(packages(world, lines=True)) == 6


@pytest.mark.parametrize(
    ("line", "distinctive"),
    [
        (b"from __future__ import annotations", False),
        (b'if __name__ == "__main__": main()', False),
        (b"# SPDX-License-Identifier: MIT AND MORE", False),
        (b"----------------------------------", False),
        (b"# ================================", False),
        (b"short", False),
        (b"raise RefundRefused(amount) from error", True),
    ],
)
def test_lines_that_anybody_writes_are_not_distinctive(line: bytes, *, distinctive: bool) -> None:
    assert is_distinctive(line) is distinctive


def test_what_is_no_text_has_no_lines() -> None:
    assert folded_lines(b"a\0b\nc\n") == []
    assert folded_lines(b"x" * 3_000_000) == []
    assert folded_lines(b" a \t b \r\n\r\n\xff\xfe\n") == [b"a b", b"", b"\xff\xfe"]


def test_a_few_lines_of_a_large_answer_are_a_flag(world: World) -> None:
    own = [b"value_%03d = compute_something(%d)" % (n, n) for n in range(100)]
    large = Answer(
        task="refunds", blobs={}, sizes=frozenset(), sums={}, lines=frozenset(own), names=()
    )
    write(site(world), "few.py", b"\n".join(own[:3]))
    write(site(world), "many.py", b"\n".join(own[10:20]))
    write(site(world), "two.py", b"\n".join(own[30:32]))
    search = Search(answers=[large], lines=True)
    search.folder(Place(name="the toolchain", root=site(world), lasting=False))
    assert [(one.path, one.severity) for one in search.sightings(large)] == [
        ("many.py", SightingSeverity.VIOLATION),
        ("few.py", SightingSeverity.FLAG),
    ]


@pytest.mark.parametrize(
    ("size", "severity"), [(3, SightingSeverity.FLAG), (30, SightingSeverity.VIOLATION)]
)
def test_what_is_too_much_to_be_told_is_counted_and_weighs_no_more_than_it_did(
    world: World, size: int, severity: SightingSeverity
) -> None:
    own = [b"value_%04d = compute_something(%d)" % (n, n) for n in range(1000)]
    large = Answer(
        task="refunds", blobs={}, sizes=frozenset(), sums={}, lines=frozenset(own), names=()
    )
    for number in range(20):
        at = number * size
        write(site(world), f"part{number:02}.py", b"\n".join(own[at : at + size]))
    search = Search(answers=[large], lines=True)
    search.folder(Place(name="the toolchain", root=site(world), lasting=False))
    found = search.sightings(large)
    assert len(found) == 13
    assert found[-1].detail == "and 8 more"
    assert {one.severity for one in found} == {severity}


def test_a_folder_that_nobody_here_can_read_is_passed_over(world: World) -> None:
    write(site(world), "open/refunds.py", FIXED)
    write(site(world), "closed/refunds.py", FIXED)
    (site(world) / "closed").chmod(0)
    try:
        found = {one.path for one in packages(world, lines=False)}
    finally:
        (site(world) / "closed").chmod(0o755)
    assert "lib/python3.11/site-packages/open/refunds.py" in found
    if os.geteuid() != 0:
        assert len(found) == 1


# --- hostile folders ------------------------------------------------------------------------------


def test_links_pipes_and_names_that_are_no_text_do_no_harm(world: World) -> None:
    root = site(world)
    write(root, b"bad\xff\nname/refunds.py", FIXED)
    os.mkfifo(root / "pipe")
    (root / "loop").symlink_to(root)
    (root / "passwd").symlink_to("/etc/passwd")
    write(root, "broken.whl", b"PK\x03\x04 no archive")
    found = packages(world, lines=True)
    assert {one.path for one in found} == {
        '"lib/python3.11/site-packages/bad\\377\\nname/refunds.py"'
    }


def test_a_folder_with_too_many_files_is_a_problem_and_never_clean(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reachable, "MOST_FILES", 3)
    for number in range(5):
        write(site(world), f"{number}.py", b"x\n")
    with pytest.raises(EnvironmentProblem, match="more than"):
        packages(world, lines=False)


def test_a_damaged_repository_is_an_error_and_no_clean_answer(world: World) -> None:
    fresh(world)
    write(world.workspace, ".git/objects/pack/pack-1.idx", b"nonsense")
    with pytest.raises(ValueError, match="pack index"):
        seen(world)


def test_the_places_of_an_interpreter_hold_its_packages(tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    write(environment, "pyvenv.cfg", b"home = /usr/bin\n")
    (environment / "bin").mkdir()
    (environment / "bin/python").symlink_to("/usr/bin/python3")
    places = package_places(str(environment / "bin/python"))
    assert Place(name="the toolchain", root=environment, lasting=False) in places


def test_a_snapshot_that_names_no_project_has_none(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "base", "a.txt", b"a\n")
    write(tmp_path / "base", "pyproject.toml", b"[project\n")
    write(tmp_path / "new", "a.txt", b"a different and much longer text\n")
    base, new = (tree_of_folder(store, tmp_path / name).tree for name in ("base", "new"))
    answer = answer_of(task("0" * 40, "1" * 40), base, new, store, lines=False)
    assert answer.project is None
    assert list(answer.blobs.values()) == ["a.txt"]
