from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.storage.conftest import Git

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.storage.claims import Claims
from trialbook.storage.gitconfig import identity
from trialbook.storage.refs import move_ref
from trialbook.storage.repository import (
    DIRECTORY,
    EXECUTABLE,
    GITLINK,
    REGULAR,
    SYMLINK,
    Repository,
    Signature,
    Store,
    TreeEntry,
    closure,
    fetch_commit,
)

WHO = Signature("Ada", "ada@example.invalid", 1_700_000_000)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.at(tmp_path / "objects")


def loose_file(store: Store, oid: str) -> Path:
    return store.folder / oid[:2] / oid[2:]


class TestStore:
    def test_ids_are_those_of_git(self, git: Git) -> None:
        store = Repository.discover(git.folder).store
        blob = store.add_blob(b"hello\n")
        assert blob == git("hash-object", "--stdin", stdin="hello\n").strip()
        tree = store.add_tree(
            [
                TreeEntry(b"b", EXECUTABLE, blob),
                TreeEntry(b"a\xff", SYMLINK, blob),
                TreeEntry(b"b.d", DIRECTORY, store.add_tree([])),
                TreeEntry(b"m", GITLINK, "1" * 40),
            ]
        )
        commit = store.add_commit(tree, [], WHO, "first\n\nbody\n")
        git("fsck", "--strict")
        assert git("cat-file", "commit", commit) == (
            f"tree {tree}\nauthor Ada <ada@example.invalid> 1700000000 +0000\n"
            "committer Ada <ada@example.invalid> 1700000000 +0000\nencoding UTF-8\n\n"
            "first\n\nbody\n"
        )
        info = store.commit(commit)
        assert (info.tree, info.parents, info.seconds) == (tree, (), WHO.seconds)
        assert info.author == "Ada <ada@example.invalid>"
        assert info.message == "first\n\nbody\n"
        assert [name for name, _ in store.walk(tree)] == [b"a\xff", b"b", b"m"]
        assert store.lookup(b"b", tree) == TreeEntry(b"b", EXECUTABLE, blob)
        assert store.lookup(b"b/x", tree) is None
        assert store.lookup(b"", tree) == TreeEntry(b"", DIRECTORY, tree)

    def test_storing_twice_writes_once_and_refreshes_the_time(self, store: Store) -> None:
        oid = store.add_blob(b"x")
        file = loose_file(store, oid)
        os.utime(file, (1, 1))
        inode = file.stat().st_ino
        assert store.add_blob(b"x") == oid
        assert file.stat().st_ino == inode
        assert file.stat().st_mtime > 1000

    def test_what_is_packed_is_not_written_again(self, git: Git) -> None:
        git("gc", "-q")
        store = Repository.discover(git.folder).store
        oid = store.add_blob(b"hello\n")
        assert not loose_file(store, oid).exists()

    def test_objects_that_another_process_adds_and_packs_are_found(self, git: Git) -> None:
        store = Repository.discover(git.folder).store
        oid = git("hash-object", "-w", "--stdin", stdin="later").strip()
        assert store.blob(oid) == b"later"
        git("repack", "-q", "-a", "-d")
        git("prune")
        (git.folder / "file").write_text("packed\n")
        git("add", "file")
        git("commit", "-q", "-m", "packed")
        git("gc", "-q", "--prune=now")
        assert store.blob(git("rev-parse", "HEAD:file").strip()) == b"packed\n"

    def test_many_processes_can_write_the_same_objects(self, tmp_path: Path) -> None:
        script = (
            "import sys; from pathlib import Path; from trialbook.storage.repository import Store\n"
            "store = Store.at(Path(sys.argv[1]))\n"
            "for number in range(200): store.add_blob(b'%d' % number)\n"
        )
        folder = tmp_path / "objects"
        writers = [
            subprocess.Popen([sys.executable, "-c", script, str(folder)], stderr=subprocess.PIPE)
            for _ in range(3)
        ]
        assert [(writer.communicate()[1], writer.returncode) for writer in writers] == [
            (b"", 0)
        ] * 3
        files = list(folder.glob("??/*"))
        assert len(files) == 200
        assert all(len(path.name) == 38 for path in files)

    def test_missing_objects_and_other_kinds_are_key_errors(self, store: Store) -> None:
        blob = store.add_blob(b"x")
        assert blob in store
        assert "1" * 40 not in store
        for read in (store.blob, store.tree, store.commit):
            with pytest.raises(KeyError):
                read("1" * 40)
        for read in (store.tree, store.commit):
            with pytest.raises(KeyError):
                read(blob)

    @pytest.mark.parametrize("damage", [b"", b"garbage", b"x\x9c", None])
    def test_a_damaged_object_is_named(self, store: Store, damage: bytes | None) -> None:
        oid = store.add_blob(b"some text that is long enough " * 9)
        file = loose_file(store, oid)
        data = file.read_bytes()
        file.chmod(0o644)
        file.write_bytes(data[:-12] if damage is None else damage)
        with pytest.raises(EnvironmentProblem, match=f"{oid} is damaged"):
            Store.at(store.folder).blob(oid)

    def test_a_damaged_tree_or_commit_is_named(self, git: Git) -> None:
        store = Repository.discover(git.folder).store
        for kind, read in (("tree", store.tree), ("commit", store.commit)):
            oid = git(
                "hash-object", "-w", "--literally", "-t", kind, "--stdin", stdin="nonsense"
            ).strip()
            with pytest.raises(EnvironmentProblem, match=f"{oid} is damaged"):
                read(oid)

    def test_a_store_that_cannot_be_written_is_explained(self, store: Store) -> None:
        oid = store.add_blob(b"x")
        folder = loose_file(store, oid).parent
        loose_file(store, oid).unlink()
        folder.rmdir()
        folder.write_text("in the way")
        with pytest.raises(EnvironmentProblem, match="cannot write to the object store"):
            store.add_blob(b"x")

    def test_copying_takes_each_object_once(self, store: Store, tmp_path: Path) -> None:
        blob = store.add_blob(b"x")
        inner = store.add_tree([TreeEntry(b"f", REGULAR, blob), TreeEntry(b"m", GITLINK, "1" * 40)])
        tree = store.add_tree([TreeEntry(name, DIRECTORY, inner) for name in (b"a", b"b")])
        assert list(closure(store, tree)) == [tree, inner, blob]
        other = Store.at(tmp_path / "other")
        other.copy_from(store, [*closure(store, tree), blob])
        other.copy_from(store, closure(store, tree))
        assert {path.decode(): other.blob(entry.oid) for path, entry in other.walk(tree)
                if entry.mode != GITLINK} == {"a/f": b"x", "b/f": b"x"}  # fmt: skip


class TestRepository:
    def test_the_places_of_a_repository_and_of_a_linked_work_tree(
        self, git: Git, tmp_path: Path
    ) -> None:
        (git.folder / "deep/er").mkdir(parents=True)
        git("worktree", "add", "-q", str(tmp_path / "linked"))
        main = Repository.discover(git.folder / "deep/er")
        linked = Repository.discover(tmp_path / "linked")
        assert main.work_tree == git.folder
        assert main.git_folder == main.common_folder == git.folder / ".git"
        assert linked.work_tree == tmp_path / "linked"
        assert linked.git_folder.resolve() == git.folder / ".git/worktrees/linked"
        assert linked.common_folder.resolve() == git.folder / ".git"
        assert (main.head_ref(), linked.head_ref()) == ("refs/heads/main", "refs/heads/linked")

    def test_a_git_folder_elsewhere(self, tmp_path: Path) -> None:
        Git(tmp_path)("init", "-q", "--separate-git-dir", "meta", "work")
        repository = Repository.discover(tmp_path / "work")
        assert repository.work_tree == tmp_path / "work"
        assert repository.git_folder.resolve() == tmp_path / "meta"

    def test_a_repository_of_a_newer_kind_is_refused(self, git: Git) -> None:
        git("config", "core.repositoryformatversion", "1")
        git("config", "extensions.somethingNew", "true")
        with pytest.raises(EnvironmentProblem, match="cannot open the repository"):
            Repository.discover(git.folder)

    def test_a_loop_of_symbolic_refs_is_explained(self, git: Git) -> None:
        git("symbolic-ref", "refs/heads/a", "refs/heads/b")
        git("symbolic-ref", "refs/heads/b", "refs/heads/a")
        git("symbolic-ref", "HEAD", "refs/heads/a")
        with pytest.raises(EnvironmentProblem, match="HEAD names itself"):
            Repository.discover(git.folder).head_ref()

    @pytest.mark.parametrize("content", ["", "\n", "not a commit\n", "12345\n"])
    def test_a_damaged_ref_is_no_missing_ref(self, git: Git, content: str) -> None:
        (git.folder / ".git/refs/heads/main").write_text(content)
        with pytest.raises(EnvironmentProblem, match="is damaged"):
            Repository.discover(git.folder).read_ref("HEAD")

    def test_a_new_repository(self, tmp_path: Path) -> None:
        repository = Repository.init(tmp_path, branch="trunk")
        assert (repository.head_ref(), repository.read_ref("HEAD")) == ("refs/heads/trunk", None)
        assert Git(tmp_path)("symbolic-ref", "HEAD").strip() == "refs/heads/trunk"

    def test_no_warning_when_a_repository_with_packs_is_dropped(self, git: Git) -> None:
        git("gc", "-q")
        repository = Repository.discover(git.folder)
        assert repository.store.blob(git("rev-parse", "HEAD:README.md").strip()) == b"hello\n"
        del repository


class TestIdentity:
    def identity(self, git: Git, **environ: str) -> tuple[str, str] | None:
        world = {"GIT_CONFIG_NOSYSTEM": "1", **environ}
        repository = Repository.discover(git.folder)
        return identity(partial(repository.setting, environ=world), world)

    def test_it_is_looked_for_where_git_looks(self, git: Git, tmp_path: Path) -> None:
        home = tmp_path / "person"
        (home / ".config/git").mkdir(parents=True)
        assert self.identity(git, HOME=str(home)) is None
        (tmp_path / "system").write_text("[user]\nname = S\nemail = s@x\n")
        assert self.identity(git, GIT_CONFIG_SYSTEM=str(tmp_path / "system")) == ("S", "s@x")
        (home / ".config/git/config").write_text("[user]\nname = X\nemail = x@x\n")
        assert self.identity(git, HOME=str(home)) == ("X", "x@x")
        (home / ".gitconfig").write_text("[user]\nname = H\n")
        assert self.identity(git, HOME=str(home)) == ("H", "x@x")
        (tmp_path / "chosen").write_text("[user]\nname = C\nemail = c@x\n")
        chosen = {"HOME": str(home), "GIT_CONFIG_GLOBAL": str(tmp_path / "chosen")}
        assert self.identity(git, **chosen) == ("C", "c@x")
        git("config", "user.name", "Local")
        assert self.identity(git, **chosen) == ("Local", "c@x")
        assert self.identity(git, **chosen, GIT_AUTHOR_NAME="E") == ("E", "c@x")

    def test_conditional_includes_hold(self, git: Git, tmp_path: Path) -> None:
        (tmp_path / "work").write_text("[user]\nname = Work\nemail = work@x\n")
        (tmp_path / ".gitconfig").write_text(
            f'[user]\nname = Home\nemail = home@x\n[includeIf "gitdir:{tmp_path}/repository/"]\n'
            f"path = {tmp_path}/work\n"
        )
        expected = git.run(
            "-c", f"include.path={tmp_path}/.gitconfig", "config", "user.name"
        ).stdout.decode()
        assert self.identity(git, HOME=str(tmp_path)) == (expected.strip(), "work@x")

    def test_half_an_identity_is_none(self, git: Git) -> None:
        assert self.identity(git, GIT_AUTHOR_NAME="Only") is None
        assert self.identity(git, GIT_AUTHOR_NAME="A", EMAIL="a@x") == ("A", "a@x")
        assert self.identity(git, GIT_AUTHOR_NAME=" <> ", EMAIL="a@x") is None

    def test_a_name_that_is_no_text_does(self, git: Git) -> None:
        with (git.folder / ".git/config").open("ab") as file:
            file.write(b"[user]\nname = Andr\xe9\nemail = a@x\n")
        assert self.identity(git) == ("Andr\ufffd", "a@x")

    def test_a_broken_configuration_of_the_repository_is_explained(self, git: Git) -> None:
        (git.folder / ".git/config").write_text("[core\nbare\n")
        with pytest.raises(EnvironmentProblem, match="cannot open the repository"):
            self.identity(git)

    def test_a_broken_configuration_is_explained(self, git: Git, tmp_path: Path) -> None:
        (tmp_path / "broken").write_text("[user\nname\n")
        with pytest.raises(EnvironmentProblem, match="cannot read git's configuration"):
            self.identity(git, GIT_CONFIG_GLOBAL=str(tmp_path / "broken"))


class TestMovingRefs:
    def commit(self, repository: Repository, *parents: str) -> str:
        return repository.store.add_commit(repository.store.add_tree([]), parents, WHO, "x\n")

    def test_only_from_what_it_holds(self, git: Git) -> None:
        repository = Repository.discover(git.folder)
        old = repository.read_ref("HEAD")
        assert old is not None
        new = self.commit(repository, old)
        for wrong in (None, new):
            assert not move_ref(repository, "refs/heads/main", (wrong, new), (WHO, "no"))
        assert not move_ref(repository, "HEAD", (old, new), (WHO, "HEAD is symbolic"))
        assert repository.read_ref("HEAD") == old
        assert move_ref(repository, "refs/heads/main", (old, new), (WHO, "two\nlines"))
        assert git("rev-parse", "HEAD").strip() == new
        assert git("reflog", "-1", "--format=%gs").strip() == "two lines"

    def test_a_packed_ref_and_a_new_one(self, git: Git) -> None:
        git("pack-refs", "--all", "--prune")
        repository = Repository.discover(git.folder)
        old = repository.read_ref("refs/heads/main")
        assert old is not None
        new = self.commit(repository, old)
        assert not move_ref(repository, "refs/heads/main", (None, new), (WHO, "x"))
        assert move_ref(repository, "refs/heads/main", (old, new), (WHO, "x"))
        assert move_ref(repository, "refs/heads/team/new", (None, new), (WHO, "x"))
        assert git("rev-parse", "team/new").strip() == new
        git.fsck()

    def test_a_lock_of_gits_is_respected(self, git: Git) -> None:
        repository = Repository.discover(git.folder)
        old = repository.read_ref("HEAD")
        lock = git.folder / ".git/refs/heads/main.lock"
        lock.write_bytes(b"")
        assert not move_ref(
            repository, "refs/heads/main", (old, self.commit(repository)), (WHO, "x")
        )
        assert lock.exists()


class TestClaims:
    def test_a_lock_is_whole_from_the_start_and_gone_afterwards(self, tmp_path: Path) -> None:
        claims = Claims(tmp_path)
        lock = tmp_path / "refs/heads/main.lock"
        assert claims.take(lock, b"new\n", durable=True)
        assert lock.read_bytes() == b"new\n"
        assert not claims.take(lock, b"other\n")
        assert lock.read_bytes() == b"new\n"
        claims.complete(lock)
        claims.drop(lock)
        assert lock.with_name("main").read_bytes() == b"new\n"
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == [lock.with_name("main")]

    def test_healing_removes_ours_and_only_ours(self, tmp_path: Path) -> None:
        for name, content in (("ours", b"1\n"), ("stranger", b"2\n"), ("done", b"3\n")):
            assert Claims(tmp_path).take(tmp_path / f"{name}.lock", content)
        (tmp_path / "stranger.lock").unlink()
        (tmp_path / "stranger.lock").write_bytes(b"")
        (tmp_path / "done.lock").rename(tmp_path / "done")
        Claims(tmp_path).heal()
        left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
        assert left == {"stranger.lock", "done"}

    def test_a_file_system_without_hard_links_does(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError(1, "not permitted")

        monkeypatch.setattr(os, "link", refuse)
        lock = tmp_path / "x.lock"
        assert Claims(tmp_path).take(lock, b"1\n")
        assert lock.read_bytes() == b"1\n"
        Claims(tmp_path).heal()
        assert not lock.exists()


class TestFetching:
    @dataclass(frozen=True)
    class Source:
        location: str
        commit: str

    @pytest.fixture
    def source(self, git: Git) -> Git:
        (git.folder / "dir").mkdir()
        (git.folder / "dir/file").write_bytes(b"\r\n\x00")
        git("add", "-A")
        git("commit", "-q", "-m", "snapshot")
        git("branch", "kept")
        (git.folder / "solution").write_text("secret\n")
        git("add", "-A")
        git("commit", "-q", "-m", "the fix")
        return git

    def fetched(self, location: str, git: Git, tmp_path: Path) -> Store:
        into = Store.at(tmp_path / "into")
        info = fetch_commit(location, git("rev-parse", "kept").strip(), into, tmp_path / "scratch")
        assert info.tree == git("rev-parse", "kept^{tree}").strip()
        assert [path for path, _ in into.walk(info.tree)] == [b"README.md", b"dir/file"]
        return into

    def test_only_the_commits_own_tree_is_taken(self, source: Git, tmp_path: Path) -> None:
        into = self.fetched(str(source.folder), source, tmp_path)
        for name in ("HEAD", "HEAD^{tree}", "HEAD:solution", "kept"):
            assert source("rev-parse", name).strip() not in into

    def test_by_a_file_url(self, source: Git, tmp_path: Path) -> None:
        self.fetched(f"file://{source.folder}", source, tmp_path)

    def test_over_http(self, source: Git, tmp_path: Path) -> None:
        source("clone", "-q", "--bare", ".", "../served.git")
        served = Git(source.folder.parent / "served.git")
        served("update-server-info")

        class Quiet(SimpleHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

        def handler(*arguments: object) -> Quiet:
            return Quiet(*arguments, directory=str(served.folder.parent))  # type: ignore[arg-type]

        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                url = f"http://127.0.0.1:{server.server_address[1]}/served.git"
                self.fetched(url, source, tmp_path)
            finally:
                server.shutdown()

    @pytest.mark.parametrize("commit", ["main", "1234567", "", "G" * 40, "-x"])
    def test_only_whole_commit_ids_do(self, source: Git, tmp_path: Path, commit: str) -> None:
        with pytest.raises(Refused, match="is not a full commit id"):
            fetch_commit(str(source.folder), commit, Store.at(tmp_path / "o"), tmp_path / "s")

    def test_a_commit_that_is_not_there_is_refused(
        self, source: Git, tmp_path: Path, store: Store
    ) -> None:
        tree = source("rev-parse", "HEAD^{tree}").strip()
        for oid in ("1" * 40, tree):
            with pytest.raises(Refused, match=f"has no commit {oid}"):
                fetch_commit(str(source.folder), oid, store, tmp_path / "s")

    @pytest.mark.parametrize(
        "location", ["missing", ".", "http://127.0.0.1:9/x.git", "nonsense://x/y"]
    )
    def test_a_place_without_a_repository_is_refused(
        self, tmp_path: Path, store: Store, location: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(Refused, match="cannot read the repository"):
            fetch_commit(location, "1" * 40, store, tmp_path / "s")

    def test_a_sha256_source_is_refused(
        self, make_repository: Callable[..., Git], store: Store, tmp_path: Path
    ) -> None:
        git = make_repository("other", "--object-format=sha256")
        with pytest.raises(EnvironmentProblem, match="of the kind sha256"):
            fetch_commit(str(git.folder), "1" * 40, store, tmp_path / "s")
