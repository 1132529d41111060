from __future__ import annotations

import gc
import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests import nasty_tree
from tests.nasty_tree import git, write

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.execution.snapshot import ResolvedSnapshot, resolve
from trialbook.model.suite import Snapshot, SnapshotKind
from trialbook.storage.files import remove_tree
from trialbook.storage.repository import Store, closure
from trialbook.storage.trees import materialise, tree_of_folder

Resolve = Callable[..., ResolvedSnapshot]


@pytest.fixture
def task(tmp_path: Path) -> Path:
    folder = tmp_path / "ledger/suites/demo/tasks/first"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def resolved(store: Store, task: Path, tmp_path: Path) -> Resolve:
    def call(kind: SnapshotKind, location: str, **options: object) -> ResolvedSnapshot:
        environ = options.pop("environ", None)
        snapshot = Snapshot(kind=kind, location=location, **options)  # type: ignore[arg-type]
        return resolve(
            snapshot,
            folder=task,
            store=store,
            cache=tmp_path / "cache",
            environ=environ,  # type: ignore[arg-type]
        )

    return call


def commit_all(folder: Path, message: str = "x") -> str:
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD").decode().strip()


@pytest.fixture
def shop(tmp_path: Path) -> tuple[Path, str]:
    """A repository next to the ledger, whose later commit has the answer."""
    folder = tmp_path / "shop"
    write(folder, "src/pkg/app.py", b"bug\n")
    write(folder, "docs/guide.md", b"guide\n")
    commit = commit_all(folder)
    write(folder, "src/pkg/app.py", b"fixed\n")
    commit_all(folder, "the fix")
    return folder, commit


SHOP = "../../../../../shop"


def tree_id(folder: Path, revision: str) -> str:
    return git(folder, "rev-parse", f"{revision}^{{tree}}").decode().strip()


def test_a_commit_of_a_repository_gives_its_tree(
    resolved: Resolve, shop: tuple[Path, str], store: Store
) -> None:
    folder, commit = shop
    found = resolved(SnapshotKind.GIT, SHOP, revision=commit)
    assert found == ResolvedSnapshot(tree=tree_id(folder, commit), source=f"git {SHOP}@{commit}")
    fixed = git(folder, "rev-parse", "HEAD:src/pkg/app.py").decode().strip()
    assert fixed not in store
    assert all(oid in store for oid in closure(store, found.tree))


@pytest.mark.parametrize("kind", ["bare", "worktree", "packed", "file url"])
def test_every_kind_of_repository_is_read(
    resolved: Resolve, shop: tuple[Path, str], tmp_path: Path, kind: str
) -> None:
    folder, commit = shop
    location = str(tmp_path / "other")
    if kind == "bare":
        git(tmp_path, "clone", "-q", "--bare", str(folder), location)
    elif kind == "worktree":
        git(folder, "worktree", "add", "-q", location)
    else:
        git(tmp_path, "clone", "-q", "--no-local", str(folder), location)
        location = f"file://{location}" if kind == "file url" else location
    found = resolved(SnapshotKind.GIT, location, revision=commit)
    assert found.tree == tree_id(folder, commit)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The folder tmp_path/www by HTTP on this machine."""
    (tmp_path / "www").mkdir()

    def handler(*arguments: object) -> Quiet:
        return Quiet(*arguments, directory=str(tmp_path / "www"))  # type: ignore[arg-type]

    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_url_is_read(
    resolved: Resolve, shop: tuple[Path, str], served: str, tmp_path: Path, store: Store
) -> None:
    folder, commit = shop
    git(tmp_path, "clone", "-q", "--bare", str(folder), "www/shop.git")
    git(tmp_path / "www/shop.git", "update-server-info")
    found = resolved(SnapshotKind.GIT, f"http://me:secret@{served}/shop.git", revision=commit)
    assert found.tree == tree_id(folder, commit)
    assert found.source == f"git http://{served}/shop.git@{commit}"
    assert list((tmp_path / "cache").iterdir()) == [tmp_path / "cache/snapshots"]


def test_a_known_commit_needs_its_repository_no_more(
    resolved: Resolve, shop: tuple[Path, str]
) -> None:
    folder, commit = shop
    first = resolved(SnapshotKind.GIT, SHOP, revision=commit)
    shutil.rmtree(folder)
    assert resolved(SnapshotKind.GIT, SHOP, revision=commit) == first
    with pytest.raises(Refused, match="no repository at"):
        resolved(SnapshotKind.GIT, SHOP, revision=commit, path="src")


def test_what_the_cache_knows_is_checked_against_the_store(
    resolved: Resolve, shop: tuple[Path, str], store: Store, tmp_path: Path
) -> None:
    folder, commit = shop
    first = resolved(SnapshotKind.GIT, SHOP, revision=commit)
    (record,) = (tmp_path / "cache/snapshots").iterdir()
    for wrong in (b"{", b'{"tree": 7}', json.dumps({"tree": "1" * 40}).encode(), b'{"tree": "x"}'):
        record.write_bytes(wrong)
        assert resolved(SnapshotKind.GIT, SHOP, revision=commit) == first
    assert folder.is_dir()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_credentials_of_a_url_are_nowhere(resolved: Resolve, served: str) -> None:
    url = f"http://alice:s3cret@{served}/gone.git?token=hidden"
    with pytest.raises((Refused, EnvironmentProblem)) as problem:
        resolved(SnapshotKind.GIT, url, revision="1" * 40)
    told = f"{problem.value.message} {problem.value.hint}"
    assert served in told
    for secret in ("alice", "s3cret", "hidden"):
        assert secret not in told
    # dulwich leaves the answer "404" open; it is closed, with a warning, when it is collected.
    del problem
    gc.collect()


@pytest.mark.parametrize("revision", ["main", "3f9c2d7", "1" * 40])
def test_what_is_no_commit_of_it_is_refused(
    resolved: Resolve, shop: tuple[Path, str], revision: str
) -> None:
    with pytest.raises(Refused):
        resolved(SnapshotKind.GIT, SHOP, revision=revision)


def test_a_place_without_a_repository_is_told_in_full(resolved: Resolve, task: Path) -> None:
    with pytest.raises(Refused, match="no repository at nowhere") as refusal:
        resolved(SnapshotKind.GIT, "nowhere", revision="1" * 40)
    assert str(task / "nowhere") in refusal.value.hint
    (task / "plain").mkdir()
    with pytest.raises(Refused):
        resolved(SnapshotKind.GIT, "plain", revision="1" * 40)


def test_path_remove_and_into_are_heeded(
    resolved: Resolve, shop: tuple[Path, str], store: Store
) -> None:
    _, commit = shop
    found = resolved(
        SnapshotKind.GIT, SHOP, revision=commit, path="src", into="lib/shop", remove=("pkg/app.py",)
    )
    assert list(store.walk(found.tree)) == []
    found = resolved(
        SnapshotKind.GIT, SHOP, revision=commit, remove=("docs",), into="lib", submodules=True
    )
    assert [path for path, _ in store.walk(found.tree)] == [b"lib/src/pkg/app.py"]
    wanted = f"git {SHOP}@{commit}, without docs, submodules left out"
    assert found.source == wanted
    with pytest.raises(Refused, match="no such path"):
        resolved(SnapshotKind.GIT, SHOP, revision=commit, remove=("missing",))


def test_a_folder_is_taken_as_it_is(resolved: Resolve, task: Path, store: Store) -> None:
    nasty_tree.build(task / "snapshot")
    declared = {"links": True, "lfs": True, "case": True}
    found = resolved(SnapshotKind.FOLDER, "snapshot", **declared)
    assert found == ResolvedSnapshot(tree=nasty_tree.TREE, source="folder snapshot")
    write(task / "snapshot", "plain.txt", b"changed\n")
    assert resolved(SnapshotKind.FOLDER, "snapshot", **declared).tree != nasty_tree.TREE


def test_everything_that_is_not_declared_is_listed_at_once(resolved: Resolve, task: Path) -> None:
    nasty_tree.build(task / "snapshot")
    with pytest.raises(Refused) as refusal:
        resolved(SnapshotKind.FOLDER, "snapshot")
    message, hint = refusal.value.message, refusal.value.hint
    for told in (
        "Git LFS pointers instead of files (model.dat)",
        "link_absolute -> /etc/passwd",
        "link_outside -> ../../../../etc/hostname",
        "Case.txt / case.txt",
    ):
        assert told in message
    assert "link_ok" not in message
    for way in ("lfs: pointers_only", "links: allowed", "case: allowed", "remove"):
        assert way in hint
    assert "submodules" not in hint


@pytest.mark.parametrize(("kind", "option"), [("lfs", "lfs"), ("links", "links"), ("case", "case")])
def test_each_kind_is_allowed_by_its_own_declaration(
    resolved: Resolve, task: Path, kind: str, option: str
) -> None:
    if kind == "lfs":
        write(task / "s", "model.dat", nasty_tree.FILES["model.dat"])
    elif kind == "links":
        write(task / "s", "x", b"x")
        (task / "s/out").symlink_to("../x")
    else:
        write(task / "s", "Straße/x", b"x")
        write(task / "s", "STRASSE/y", b"x")
    with pytest.raises(Refused):
        resolved(SnapshotKind.FOLDER, "s")
    resolved(SnapshotKind.FOLDER, "s", **{option: True})


def test_names_that_differ_only_in_composition_collide(resolved: Resolve, task: Path) -> None:
    write(task / "s", "caf\u00e9", b"x")
    write(task / "s", "cafe\u0301", b"x")
    with pytest.raises(Refused, match="differ only in case"):
        resolved(SnapshotKind.FOLDER, "s")


def test_a_folder_with_a_repository_or_a_pipe_in_it_is_refused(
    resolved: Resolve, task: Path
) -> None:
    write(task / "s", "sub/.git/HEAD", b"x")
    write(task / "s", "ok", b"x")
    os.mkfifo(task / "s/pipe")
    with pytest.raises(Refused) as refusal:
        resolved(SnapshotKind.FOLDER, "s")
    assert "sub/.git" in refusal.value.message
    assert "pipe: a named pipe" in refusal.value.message


def test_a_folder_that_is_not_there_is_refused(resolved: Resolve) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot read the folder"):
        resolved(SnapshotKind.FOLDER, "missing")


def test_submodules_are_refused_or_left_out(
    resolved: Resolve, tmp_path: Path, store: Store
) -> None:
    write(tmp_path / "part", "x", b"x")
    commit_all(tmp_path / "part")
    folder = tmp_path / "shop"
    write(folder, "app.py", b"x\n")
    git(folder, "init", "-q")
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "part"))
    git(folder, *add, "vendor/part")
    commit = commit_all(folder)
    with pytest.raises(Refused, match=r"submodules \(vendor/part\)"):
        resolved(SnapshotKind.GIT, SHOP, revision=commit)
    found = resolved(SnapshotKind.GIT, SHOP, revision=commit, submodules=True)
    assert [path for path, _ in store.walk(found.tree)] == [b".gitmodules", b"app.py"]


def test_a_hostile_tree_of_a_repository_is_refused(resolved: Resolve, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    write(folder, "a", b"x")
    commit_all(folder)
    blob = git(folder, "rev-parse", "HEAD:a").decode().strip()
    for name in ("..", ".git", ".GIT"):
        raw = b"100644 %s\0%s" % (name.encode(), bytes.fromhex(blob))
        hash_it = ("hash-object", "-w", "-t", "tree", "--literally", "--stdin")
        tree = git(folder, *hash_it, stdin=raw).decode().strip()
        commit = git(folder, "commit-tree", "-m", "x", tree).decode().strip()
        with pytest.raises(Refused, match="entries that no folder can hold"):
            resolved(SnapshotKind.GIT, SHOP, revision=commit)


def test_modes_of_old_become_those_of_today(
    resolved: Resolve, tmp_path: Path, store: Store
) -> None:
    folder = tmp_path / "shop"
    write(folder, "a", b"x")
    commit_all(folder)
    blob = bytes.fromhex(git(folder, "rev-parse", "HEAD:a").decode().strip())
    empty = bytes.fromhex(git(folder, "mktree", stdin=b"").decode().strip())
    raw = b"100664 a\x00" + blob + b"40000 empty\x00" + empty
    hash_it = ("hash-object", "-w", "-t", "tree", "--literally", "--stdin")
    tree = git(folder, *hash_it, stdin=raw).decode().strip()
    commit = git(folder, "commit-tree", "-m", "x", tree).decode().strip()
    found = resolved(SnapshotKind.GIT, SHOP, revision=commit)
    materialise(store, found.tree, tmp_path / "out")
    assert tree_of_folder(store, tmp_path / "out").tree == found.tree


def archive_of(folder: Path, path: Path) -> str:
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, "shop-1.0")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_archive_is_checked_and_read(
    resolved: Resolve, task: Path, store: Store, tmp_path: Path
) -> None:
    write(tmp_path / "shop", "src/app.py", b"x\n")
    digest = archive_of(tmp_path / "shop", task / "shop.tar.gz")
    found = resolved(SnapshotKind.ARCHIVE, "shop.tar.gz", sha256=digest)
    assert found.tree == tree_of_folder(store, tmp_path / "shop").tree
    assert found.source == f"archive shop.tar.gz (sha256 {digest})"
    with pytest.raises(Refused, match=f"has the sha256 {digest}, not 0000"):
        resolved(SnapshotKind.ARCHIVE, "shop.tar.gz", sha256="0" * 64)
    with pytest.raises(Refused, match=r"cannot read the archive gone\.zip"):
        resolved(SnapshotKind.ARCHIVE, "gone.zip", sha256="0" * 64)


def test_an_archive_with_a_link_out_is_refused(
    resolved: Resolve, task: Path, tmp_path: Path
) -> None:
    write(tmp_path / "shop", "x", b"x")
    (tmp_path / "shop/out").symlink_to("../../etc/passwd")
    digest = archive_of(tmp_path / "shop", task / "shop.tar.gz")
    with pytest.raises(Refused, match=r"out -> \.\./\.\./etc/passwd"):
        resolved(SnapshotKind.ARCHIVE, "shop.tar.gz", sha256=digest)


PROJECT = {
    "pyproject.toml": b'[build-system]\nrequires = []\nbuild-backend = "b"\nbackend-path = ["."]\n',
    "b.py": (
        b"import os\n"
        b"def prepare_metadata_for_build_wheel(folder, settings=None):\n"
        b"    name = 'tinyshop-1.0.dist-info'\n"
        b"    os.mkdir(os.path.join(folder, name))\n"
        b"    with open(os.path.join(folder, name, 'METADATA'), 'w') as f:\n"
        b"        f.write('Metadata-Version: 2.1\\nName: tinyshop\\nVersion: 1.0\\n')\n"
        b"    return name\n"
        b"def build_wheel(*a, **k): raise SystemExit\n"
    ),
    "PKG-INFO": b"Metadata-Version: 2.1\nName: tinyshop\nVersion: 1.0\n",
    "shop.py": b"price = 1\n",
}


@pytest.fixture
def index(tmp_path: Path) -> tuple[dict[str, str], str]:
    """An index in a folder with one source distribution: the environment for pip, its digest."""
    for name, data in PROJECT.items():
        write(tmp_path / "project", name, data)
    (tmp_path / "links").mkdir()
    path = tmp_path / "links/tinyshop-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tmp_path / "project", "tinyshop-1.0")
    environ = {
        "PATH": os.defpath,
        "HOME": str(tmp_path),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "links"),
    }
    return environ, hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
def test_a_package_is_fetched_once_and_then_offline(
    resolved: Resolve, index: tuple[dict[str, str], str], store: Store, tmp_path: Path
) -> None:
    environ, digest = index
    wanted = {"revision": "1.0", "sha256": digest}
    found = resolved(SnapshotKind.PACKAGE, "tinyshop", **wanted, environ=environ)
    assert found.tree == tree_of_folder(store, tmp_path / "project").tree
    assert found.source == f"package tinyshop 1.0 (sha256 {digest})"
    kept = tmp_path / "cache/downloads" / digest / "tinyshop-1.0.tar.gz"
    assert kept.is_file()
    remove_tree(tmp_path / "links")
    assert resolved(SnapshotKind.PACKAGE, "tinyshop", **wanted, environ=environ) == found
    # Another part of the same package comes from the archive that was kept.
    part = resolved(SnapshotKind.PACKAGE, "tinyshop", **wanted, remove=("b.py",), environ=environ)
    assert b"b.py" not in [path for path, _ in store.walk(part.tree)]
    kept.write_bytes(b"damaged")
    with pytest.raises(EnvironmentProblem, match="needs the package index once"):
        resolved(SnapshotKind.PACKAGE, "tinyshop", **wanted, path=".", into="x", environ=environ)


def test_a_package_with_another_digest_is_refused(
    resolved: Resolve, index: tuple[dict[str, str], str], tmp_path: Path
) -> None:
    environ, _ = index
    wanted = {"revision": "1.0", "sha256": "0" * 64}
    with pytest.raises(Refused, match="with sha256 0000"):
        resolved(SnapshotKind.PACKAGE, "tinyshop", **wanted, environ=environ)
    assert [p.name for p in (tmp_path / "cache/downloads").iterdir()] == [f"{'0' * 64}.lock"]


@pytest.mark.parametrize(
    ("name", "version", "digest"),
    [
        ("shop --index-url http://evil", "1.0", "0" * 64),
        ("shop", "1.0 --hash=sha256:1", "0" * 64),
        ("shop", "1.0", "0" * 63),
        ("shop\n-e .", "1.0", "0" * 64),
        ("shop", "", "0" * 64),
    ],
)
def test_what_is_no_pin_never_reaches_pip(
    resolved: Resolve, name: str, version: str, digest: str
) -> None:
    with pytest.raises(Refused, match="cannot be part of a pinned package"):
        resolved(SnapshotKind.PACKAGE, name, revision=version, sha256=digest)


@pytest.mark.index
@pytest.mark.slow
def test_a_real_package_comes_from_the_index(resolved: Resolve) -> None:
    digest = "16d5969b87f0859ef33a48b35d55ac1be6e42ae49d5e853b597db70c35c57e11"
    found = resolved(SnapshotKind.PACKAGE, "attrs", revision="25.4.0", sha256=digest)
    assert found.tree == "9d7c8045e56952e5880187bdf028032f50b79b0c"
