"""Trusted tools and git, run with nothing inherited."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from trialbook.errors import EnvironmentProblem
from trialbook.model.process import Command, Ended
from trialbook.model.suite import Limits
from trialbook.process import ToolResult, git, git_version, tool
from trialbook.process import run as supervised
from trialbook.supervision.protocol import printable


def run(*argv: str, cwd: Path, **more: object) -> ToolResult:
    settings: dict[str, object] = {"environment": {"PATH": "/usr/bin:/bin"}, "timeout": 30}
    return tool(list(argv), cwd=cwd, **{**settings, **more})  # type: ignore[arg-type]


def test_a_tool_gives_its_status_and_both_outputs(tmp_path: Path) -> None:
    said = run("sh", "-c", "echo out; echo err >&2; exit 3", cwd=tmp_path)
    assert said == ToolResult(code=3, stdout=b"out\n", stderr=b"err\n", seconds=said.seconds)
    assert 0 < said.seconds < 30
    assert said.complaint == "err"
    assert run("sh", "-c", "kill -9 $$", cwd=tmp_path).code == -9


def test_a_tool_inherits_neither_environment_nor_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "x")
    said = run("sh", "-c", "cat; env", cwd=tmp_path, environment={"PATH": "/bin", "A": "b"})
    assert b"A=b" in said.stdout
    assert b"SECRET" not in said.stdout


def test_a_tool_reads_and_writes_megabytes_at_once(tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    assert run("cat", cwd=tmp_path, stdin=data).stdout == data


def test_a_tool_that_does_not_read_its_input_is_no_error(tmp_path: Path) -> None:
    assert run("true", cwd=tmp_path, stdin=b"x" * 1_000_000).code == 0


def test_a_tool_that_is_missing_is_an_environment_problem(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="no-such-tool is not installed"):
        run("no-such-tool", cwd=tmp_path)
    with pytest.raises(EnvironmentProblem, match=f"the folder {tmp_path}/gone is not there"):
        run("true", cwd=tmp_path / "gone")
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(EnvironmentProblem, match="Permission denied"):
        run(str(script), cwd=tmp_path)


@pytest.mark.slow
def test_a_tool_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    started = time.monotonic()
    script = "trap '' TERM; sleep 60 & echo $! > child; wait; sleep 60"
    with pytest.raises(EnvironmentProblem, match=r"took longer than 0\.5 seconds") as raised:
        run("sh", "-c", script, cwd=tmp_path, timeout=0.5)
    assert "sleep 60" in raised.value.hint
    assert time.monotonic() - started < 20
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 10
    while _runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_git_answers_from_the_folder_it_is_given(tmp_path: Path) -> None:
    folder = tmp_path / "own.git"
    folder.mkdir()
    git(["init", "--bare", "--quiet", "."], git_folder=folder)
    oid = git(["hash-object", "-w", "--stdin"], git_folder=folder, stdin=b"hello\n").strip()
    assert oid == b"ce013625030ba8dba906f756967f9e9ca394464a"
    assert git(["cat-file", "blob", oid.decode()], git_folder=folder) == b"hello\n"


def test_git_that_fails_says_what_it_said_in_one_safe_line(tmp_path: Path) -> None:
    folder = tmp_path / "own.git"
    folder.mkdir()
    git(["init", "--bare", "--quiet", "."], git_folder=folder)
    with pytest.raises(EnvironmentProblem, match="git cat-file failed with status 128: fatal"):
        git(["cat-file", "blob", "0" * 40], git_folder=folder)
    with pytest.raises(EnvironmentProblem, match=r"evil.*name") as raised:
        git(["cat-file", "blob", "evil\x1b[31m\nname"], git_folder=folder)
    assert raised.value.message.isprintable()


def test_git_obeys_no_configuration_hook_or_attribute_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    marker = tmp_path / "ran"
    hook = home / "hooks"
    hook.mkdir()
    for name in ("post-index-change", "reference-transaction"):
        (hook / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (hook / name).chmod(0o755)
    (home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {hook}\n\tfsmonitor = touch {marker}\n\tautocrlf = true\n"
        f'[filter "evil"]\n\tclean = touch {marker}\n\tsmudge = touch {marker}\n'
    )
    (home / ".config" / "git" / "attributes").write_text("* filter=evil\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {marker}")

    folder, work = tmp_path / "own.git", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    (work / "file").write_bytes(b"a\r\nb\n")
    places = {"GIT_WORK_TREE": str(work), "GIT_INDEX_FILE": str(tmp_path / "index")}
    git(["init", "--bare", "--quiet", "."], git_folder=folder)
    git(["add", "-A", "--", "."], git_folder=folder, environment=places, cwd=work)
    git(["status"], git_folder=folder, environment=places, cwd=work)
    tree = git(["write-tree"], git_folder=folder, environment=places).decode().strip()
    git(["update-ref", "refs/heads/x", _commit(folder, tree)], git_folder=folder)
    assert git(["cat-file", "blob", f"{tree}:file"], git_folder=folder) == b"a\r\nb\n"
    assert not marker.exists()


def test_git_sees_through_no_replacement(tmp_path: Path) -> None:
    folder = tmp_path / "own.git"
    folder.mkdir()
    git(["init", "--bare", "--quiet", "."], git_folder=folder)
    real, forged = (
        git(["hash-object", "-w", "--stdin"], git_folder=folder, stdin=text).decode().strip()
        for text in (b"real", b"forged")
    )
    git(["update-ref", f"refs/replace/{real}", forged], git_folder=folder)
    assert git(["cat-file", "blob", real], git_folder=folder) == b"real"


def test_the_version_of_git_is_told_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = git_version()
    assert version is not None
    assert version[0].isdigit()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_version() is None
    with pytest.raises(EnvironmentProblem, match="git is not installed"):
        git(["status"], git_folder=tmp_path)
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\necho broken\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    assert git_version() is None


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"", ""),
        (b"one\ntwo\r\n\n three ", "one | two | three"),
        (b"\x1b]52;c;x\x07", "\\x1b]52;c;x\\x07"),
        ("\u202eevil".encode(), "\\u202eevil"),
        (b"caf\xe9", "caf\\xe9"),
        ("grün".encode(), "grün"),
    ],
)
def test_what_others_wrote_is_shown_in_one_line_that_no_terminal_obeys(
    raw: bytes, shown: str
) -> None:
    assert printable(raw) == shown


def test_a_report_that_comes_while_we_look_away_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a loaded machine does between two lines: the supervisor reports and exits meanwhile.
    look = subprocess.Popen.poll

    def late(child: subprocess.Popen[bytes]) -> int | None:
        time.sleep(0.3)
        return look(child)

    monkeypatch.setattr(subprocess.Popen, "poll", late)
    command = Command(
        argv=("/bin/sleep", "0.2"),
        cwd=tmp_path,
        environment={},
        stdout=tmp_path / "out",
        stderr=tmp_path / "err",
    )
    assert supervised(command, Limits(minutes=1.0)).ended is Ended.EXITED


def _commit(folder: Path, tree: str) -> str:
    people = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "a"), ("EMAIL", "b"))
    }
    made = git(["commit-tree", tree, "-m", "x"], git_folder=folder, environment=people)
    return made.decode().strip()


def _runs(pid: int) -> bool:
    try:
        stat_line = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat_line.rpartition(") ")[2][0] not in "ZX"
