"""The parts that sandboxes are made of, each by itself."""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from trialbook.api import Command, EnvironmentProblem, Policy
from trialbook.process import run
from trialbook_sandboxes import cgroups, probing
from trialbook_sandboxes.engines import new_name, this_host, working_engine
from trialbook_sandboxes.identity import Identity, identity
from trialbook_sandboxes.mounts import Mount, mounts_of, shows
from trialbook_sandboxes.programs import trouble_with
from trialbook_sandboxes.skeleton import image_name, skeleton
from trialbook_sandboxes.staging import Lead, Private, private_folder, script, staged

NOBODY = Identity(uid=65534, gid=65534, name="nobody", dropped=True)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives way to another user")


def folders(top: Path, *names: str) -> list[Path]:
    made = [top / name for name in names]
    for path in made:
        path.mkdir(parents=True)
    return made


# --- who --------------------------------------------------------------------------------------


@as_root
def test_root_gives_way_to_an_unprivileged_user() -> None:
    who = identity({})
    assert who.dropped
    assert who.uid != 0


@as_root
@pytest.mark.parametrize("named", ["root", "0", "no-such-user-here"])
def test_root_is_never_the_user_that_it_gives_way_to(named: str) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        identity({"TRIALBOOK_SANDBOX_USER": named})
    assert "useradd" in caught.value.hint


@as_root
def test_a_user_may_be_named_by_number_and_graders_may_have_another() -> None:
    environment = {"TRIALBOOK_SANDBOX_USER": "64123", "TRIALBOOK_EVALUATOR_USER": "64124"}
    assert identity(environment).uid == 64123
    assert identity(environment, evaluator=True).uid == 64124


def test_an_ordinary_user_is_who_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setattr(os, "getegid", lambda: 12346)
    assert identity({}) == Identity(uid=12345, gid=12346, name="12345", dropped=False)


@as_root
def test_a_closed_folder_on_the_way_is_seen(tmp_path: Path) -> None:
    (closed,) = folders(tmp_path, "closed")
    closed.chmod(0o700)
    assert not NOBODY.reaches(closed / "file")
    assert not NOBODY.reads(closed)
    assert Identity(uid=0, gid=0, name="root", dropped=True).reads(closed)


# --- mounts -----------------------------------------------------------------------------------


def test_parents_come_first_and_what_is_there_anyway_is_left_out(tmp_path: Path) -> None:
    workspace, tests, files, inner = folders(tmp_path, "w", "w/tests", "f", "f/inner")
    found = mounts_of(
        Policy(
            writable=(workspace,), readable=(inner, tests, files, Path("/usr/lib"), Path("/bin"))
        )
    )
    order = [(one.target, one.writable) for one in found]
    assert sorted(order[:2]) == [(files, False), (workspace, True)]
    assert order[2:] == [(tests, False)]


@pytest.mark.parametrize("path", ["/", "/etc", "/proc", "/tmp", "/var"])
def test_most_of_the_host_is_never_handed_out(path: str) -> None:
    with pytest.raises(EnvironmentProblem, match="most of the host"):
        mounts_of(Policy(readable=(Path(path),)))


def test_a_link_that_was_planted_in_a_writable_folder_is_no_way_out(tmp_path: Path) -> None:
    (workspace,) = folders(tmp_path, "w")
    (workspace / "tests").symlink_to("/etc")
    with pytest.raises(EnvironmentProblem, match="leads out"):
        mounts_of(Policy(writable=(workspace,), readable=(workspace / "tests",)))
    with pytest.raises(EnvironmentProblem, match="leads out"):
        mounts_of(Policy(writable=(workspace,), readable=(workspace / "tests" / "ssl",)))


# --- programs ---------------------------------------------------------------------------------


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., str | None]:
    (shown,) = folders(tmp_path, "shown")

    def ask(*argv: str) -> str | None:
        command = Command(
            argv=argv,
            cwd=shown,
            environment={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"},
            stdout=tmp_path / "o",
            stderr=tmp_path / "e",
        )
        return trouble_with(command, [Mount(source=shown, target=shown)])

    return ask


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_program_of_the_system_or_of_a_shown_folder_can_start(
    ask: Callable[..., str | None], tmp_path: Path
) -> None:
    executable(tmp_path / "shown" / "own")
    assert ask("sh", "-c", "true") is None
    assert ask("./own") is None
    assert ask(str(tmp_path / "shown" / "own")) is None


def test_why_a_program_cannot_start_is_said(ask: Callable[..., str | None], tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "hidden")
    executable(tmp_path / "shown" / "odd", f"#!{tmp_path}/bin/hidden\n")
    (tmp_path / "shown" / "link").symlink_to(tmp_path / "bin" / "hidden")
    assert "does not show" in (ask("hidden") or "")
    assert "does not show" in (ask("./link") or "")
    assert "its first line" in (ask("./odd") or "")
    assert "not found on the PATH" in (ask("no-such-program") or "")
    assert "is not there" in (ask("./nothing") or "")
    assert "too long" in (ask("sh", "x" * 200_000) or "")
    assert "names none" in (ask("") or "")


def test_a_mount_shows_what_lies_in_it_and_nothing_beside_it(tmp_path: Path) -> None:
    here, _ = folders(tmp_path, "here", "here-not")
    mounts = [Mount(source=here, target=here)]
    assert shows(mounts, here / "x")
    assert not shows(mounts, tmp_path / "here-not" / "x")
    assert shows(mounts, Path("/usr/bin/env"))


# --- the way in -------------------------------------------------------------------------------


def test_the_private_folder_is_gone_afterwards_and_its_arguments_are_for_nobody() -> None:
    with private_folder(NOBODY) as private:
        private.write_arguments(["--setenv", "KEY", "secret\nvalue"])
        assert private.arguments.read_bytes() == b"--setenv\0KEY\0secret\nvalue\0"
        assert stat.S_IMODE(private.arguments.stat().st_mode) == 0o600
        assert stat.S_IMODE(private.folder.stat().st_mode) == 0o711
    assert not private.folder.exists()


@as_root
def test_only_what_is_out_of_reach_is_staged(tmp_path: Path) -> None:
    closed, file = tmp_path / "closed", tmp_path / "closed" / "file"
    closed.mkdir(mode=0o700)
    file.write_text("x")
    mounts = [Mount(source=Path("/usr"), target=Path("/usr")), Mount(source=file, target=file)]
    with private_folder(NOBODY) as private:
        reachable, steps = staged(mounts, private, NOBODY)
        assert reachable[0] == mounts[0]
        assert NOBODY.reaches(reachable[1].source)
        assert reachable[1].target == file
        assert len(steps) == 1


def test_the_script_gives_root_up_last_and_only_where_there_is_any(tmp_path: Path) -> None:
    private = Private(folder=tmp_path)
    lead = Lead(
        entrances=(Path("/cg/a b/cgroup.procs"),),
        writable=(Path("/w"),),
        mounts=("mount --bind -- /a /b",),
    )
    text = script(private, NOBODY, lead, ["bwrap", "--", "a b"])
    order = ["set -e", "cgroup.procs", "chown -hR", "unshare --mount", "mount --bind", "setpriv"]
    places = [text.index(word) for word in order]
    assert places == sorted(places)
    own = Identity(uid=1, gid=1, name="x", dropped=False)
    text = script(private, own, lead, ["bwrap", "--", "a b"])
    assert text.endswith("exec bwrap -- 'a b'")
    assert not any(word in text for word in ("chown", "setpriv", "unshare"))


# --- control groups ---------------------------------------------------------------------------


def test_a_group_has_its_limits_and_is_removed() -> None:
    known = cgroups.controllers()
    if not known.folders:
        pytest.skip("no control groups can be made here")
    with cgroups.group(known, memory_mb=64.0, processes=10) as made:
        assert made is not None
        assert not made.memory_killed
        for folder in made.folders.values():
            assert folder.is_dir()
        if known.version == 1:
            limit = (made.folders["memory_mb"] / "memory.limit_in_bytes").read_text()
            assert int(limit) == 64_000_000 // 4096 * 4096
    assert not any(folder.exists() for folder in made.folders.values())


def test_without_limits_there_is_no_group() -> None:
    with cgroups.group(cgroups.controllers(), memory_mb=None, processes=None) as made:
        assert made is None


def test_groups_that_dead_runners_left_are_swept_and_others_stay(tmp_path: Path) -> None:
    dead, ours, other = folders(
        tmp_path, "trialbook-4999999-x", f"trialbook-{os.getpid()}-x", "somebody-else"
    )
    cgroups.sweep(cgroups.Controllers(version=1, folders={"memory_mb": tmp_path}))
    assert (dead.exists(), ours.exists(), other.exists()) == (False, True, True)


def test_a_group_of_version_2_is_told_its_limits_in_its_own_words(tmp_path: Path) -> None:
    # A folder that only looks like one: this machine may have no such hierarchy.
    with cgroups.group(
        cgroups.Controllers(version=2, folders=dict.fromkeys(("memory_mb", "processes"), tmp_path)),
        memory_mb=64.0,
        processes=10,
    ) as made:
        assert made is not None
        (folder,) = set(made.folders.values())
        assert (folder / "memory.max").read_text() == "64000000"
        assert (folder / "pids.max").read_text() == "12"
        (folder / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
        assert made.memory_killed
        for path in folder.iterdir():
            path.unlink()


class Hierarchy:
    """A folder that does as a hierarchy of version 2 does: this machine may have none of use.

    What the kernel would do is done where the module makes and removes groups.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.top = folder / "unified"
        self.process = folder / "self"
        self.process.mkdir(parents=True)
        self.make = tempfile.mkdtemp
        monkeypatch.setattr(cgroups.tempfile, "mkdtemp", self.mkdtemp)
        monkeypatch.setattr(cgroups, "_remove", shutil.rmtree)
        self.plain_write = cgroups._write
        monkeypatch.setattr(cgroups, "_write", self.write)

    def group(self, name: str, enabled: str | None, available: str = "cpu memory pids") -> Path:
        """A group; ``enabled`` for those in it, None if that cannot be changed."""
        folder = self.top / name.strip("/")
        folder.mkdir(parents=True)
        (folder / "cgroup.controllers").write_text(available)
        control = folder / "cgroup.subtree_control"
        control.mkdir() if enabled is None else control.write_text(enabled)
        return folder

    def mkdtemp(self, prefix: str, dir: Path) -> str:  # noqa: A002 - as the module calls it
        folder = Path(self.make(prefix=prefix, dir=dir))
        control = dir / "cgroup.subtree_control"
        (folder / "cgroup.controllers").write_text(control.read_text() if control.is_file() else "")
        return str(folder)

    def write(self, path: Path, text: str) -> None:
        names = text.replace("+", "")
        known = (path.parent / "cgroup.controllers").read_text().split()
        if not set(names.split()) <= set(known):
            raise OSError("no such controller")
        self.plain_write(path, names)
        for folder in path.parent.glob("trialbook-*"):
            (folder / "cgroup.controllers").write_text(names)

    def controllers(self, own: str, unified: bool = True) -> cgroups.Controllers:
        mount = f"30 20 0:26 / {self.top} rw,relatime - cgroup2 cgroup2 rw\n" if unified else ""
        (self.process / "mountinfo").write_text("20 1 8:1 / / rw - ext4 /dev/sda rw\n" + mount)
        (self.process / "cgroup").write_text(f"0::{own}\n")
        return cgroups.controllers(self.process)


@pytest.fixture
def hierarchy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hierarchy:
    return Hierarchy(tmp_path, monkeypatch)


def test_with_version_2_groups_are_made_where_both_controllers_are_handed_on(
    hierarchy: Hierarchy,
) -> None:
    hierarchy.group("/", None)
    service = hierarchy.group("/user.slice/service", "memory pids")
    hierarchy.group("/user.slice/service/own", "memory pids")
    own = hierarchy.controllers("/user.slice/service/own")
    assert own.version == 2
    assert own.limits == ("memory_mb", "processes")
    assert set(own.folders.values()) == {service / "own"}
    assert not list(hierarchy.top.rglob("trialbook-*")), "what was made to see is gone"


def test_with_version_2_a_group_with_processes_of_its_own_is_passed_over(
    hierarchy: Hierarchy,
) -> None:
    # The kernel lets nobody enable controllers below a group that holds processes.
    hierarchy.group("/", None)
    service = hierarchy.group("/service", "memory pids")
    hierarchy.group("/service/own", None)
    assert set(hierarchy.controllers("/service/own").folders.values()) == {service}


def test_with_version_2_controllers_are_asked_for_where_nobody_did(hierarchy: Hierarchy) -> None:
    top = hierarchy.group("/", "")
    found = hierarchy.controllers("/")
    assert set(found.folders.values()) == {top}
    assert (top / "cgroup.subtree_control").read_text() == "memory pids"


@pytest.mark.parametrize("enabled", [None, "hugetlb"])
def test_with_version_2_nothing_is_claimed_where_controllers_are_missing(
    hierarchy: Hierarchy, enabled: str | None
) -> None:
    hierarchy.group("/", enabled, available="hugetlb")
    assert hierarchy.controllers("/").version == 0


def test_without_any_hierarchy_nothing_is_claimed(hierarchy: Hierarchy) -> None:
    found = hierarchy.controllers("/", unified=False)
    assert (found.version, found.folders) == (0, {})


# --- containers -------------------------------------------------------------------------------


def test_the_image_is_small_and_the_same_every_time() -> None:
    data = skeleton()
    assert data == skeleton()
    assert len(data) <= 20_480
    assert image_name(data) == image_name(skeleton())
    with tarfile.open(fileobj=BytesIO(data)) as archive:
        names = {entry.name: entry for entry in archive}
    assert names["tmp"].mode == 0o1777
    assert names["usr"].isdir()


def test_a_name_says_whose_a_container_is() -> None:
    assert new_name().startswith(f"trialbook-{os.getpid()}-")
    assert new_name() != new_name()
    assert this_host() == this_host()


def test_an_engine_that_nobody_knows_is_refused() -> None:
    with pytest.raises(EnvironmentProblem, match="TRIALBOOK_CONTAINER"):
        working_engine({"TRIALBOOK_CONTAINER": "lxc"}, run)


def test_an_engine_that_does_not_answer_says_why_and_what_to_install() -> None:
    environment = {"TRIALBOOK_CONTAINER": "docker", "DOCKER_HOST": "unix:///no/such/socket"}
    with pytest.raises(EnvironmentProblem, match="docker") as caught:
        working_engine(environment, run)
    assert "DOCKER_HOST" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "wrong", "command"),
    [
        ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ],
)
def test_a_setting_that_is_in_the_way_is_told_as_the_command_that_changes_it(
    name: str, wrong: str, command: str, tmp_path: Path
) -> None:
    trouble = "a command inside did not run: bwrap: setting up uid map: Permission denied"
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(f"{wrong}\n")
    assert command in probing.advice(trouble, tmp_path)
    (tmp_path / name).write_text("63000\n" if wrong == "0" else "0\n")
    assert "sysctl" not in probing.advice(trouble, tmp_path)
    assert probing.advice("something else", tmp_path) == ""
