"""Recordings laid over a workspace, without any agent."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from trialbook.api import AgentEnd, AgentResult
from trialbook_agents.replay import ReplayAgent

if TYPE_CHECKING:
    from tests.plugins.agents.conftest import Assign

OLD_TO_NEW = """diff --git a/file b/file
--- a/file
+++ b/file
@@ -1 +1 @@
-old
+new
"""
OUT_OF_REACH = ("gone", "/etc/passwd", "../outside", "a/../file", "./file", "link/file")


class Replay:
    """A recording and a workspace to replay it in."""

    def __init__(self, folder: Path, assign: Assign) -> None:
        self.recording = folder / "recording"
        self.overlay = self.recording / "overlay"
        self.recording.mkdir()
        self.assignment = assign(files=self.recording)
        self.workspace = self.assignment.workspace

    def record(self, name: str, content: bytes | str) -> Path:
        path = self.recording / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def have(self, name: str, content: str = "old\n") -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def run(self) -> AgentResult:
        return ReplayAgent().run(self.assignment)

    def fails(self) -> str:
        result = self.run()
        assert result.end is AgentEnd.ENVIRONMENT
        assert result.process is None
        return result.message


@pytest.fixture
def replay(tmp_path: Path, assign: Assign) -> Replay:
    return Replay(tmp_path, assign)


def test_files_are_laid_over_the_workspace_with_their_exec_bit(replay: Replay) -> None:
    replay.have("src/kept.py")
    replay.have("src/old.py")
    replay.record("overlay/src/old.py", "new\n")
    replay.record("overlay/bin/run", b"#!/bin/sh\r\n\xff").chmod(0o555)
    result = replay.run()
    assert result.end is AgentEnd.FINISHED
    assert result.message == "replayed a recording, no agent ran: laid 2 files over"
    assert (replay.workspace / "src/kept.py").read_text() == "old\n"
    assert (replay.workspace / "src/old.py").read_text() == "new\n"
    made = replay.workspace / "bin/run"
    assert made.read_bytes() == b"#!/bin/sh\r\n\xff"
    assert made.stat().st_mode & 0o777 == 0o755
    assert (replay.workspace / "src/old.py").stat().st_mode & 0o777 == 0o644


def test_links_are_laid_as_links_even_when_they_point_nowhere_or_out(replay: Replay) -> None:
    replay.overlay.mkdir()
    for name, target in (("out", "/etc/passwd"), ("loop", "loop"), ("gone", "no/where")):
        (replay.overlay / name).symlink_to(target)
    replay.have("folder/file")
    (replay.overlay / "folder").symlink_to("elsewhere")
    assert replay.run().end is AgentEnd.FINISHED
    for name, target in (("out", "/etc/passwd"), ("loop", "loop"), ("folder", "elsewhere")):
        assert str((replay.workspace / name).readlink()) == target


def test_nothing_is_written_through_a_link_of_the_workspace(replay: Replay, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("theirs")
    (replay.workspace / "docs").symlink_to(outside)
    (replay.workspace / "config").symlink_to(outside / "file")
    replay.record("overlay/docs/file", "ours")
    replay.record("overlay/config", "ours")
    assert replay.run().end is AgentEnd.FINISHED
    assert (outside / "file").read_text() == "theirs"
    assert sorted(path.name for path in outside.iterdir()) == ["file"]
    assert not (replay.workspace / "docs").is_symlink()
    assert (replay.workspace / "docs/file").read_text() == "ours"
    assert not (replay.workspace / "config").is_symlink()


def test_a_file_replaces_a_folder_and_a_folder_a_file(replay: Replay) -> None:
    replay.have("a/deep/file")
    replay.have("b")
    replay.record("overlay/a", "now a file")
    replay.record("overlay/b/now/a/folder", "x")
    assert replay.run().end is AgentEnd.FINISHED
    assert (replay.workspace / "a").read_text() == "now a file"
    assert (replay.workspace / "b/now/a/folder").read_text() == "x"


def test_a_hard_link_in_the_workspace_is_replaced_and_its_other_name_kept(
    replay: Replay, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_text("theirs")
    (replay.workspace / "file").hardlink_to(other)
    replay.record("overlay/file", "ours")
    replay.run()
    assert other.read_text() == "theirs"


def test_names_that_are_no_text_are_laid_too(replay: Replay) -> None:
    replay.overlay.mkdir()
    name = b"caf\xe9\n\x1b[31m"
    Path(os.fsdecode(bytes(replay.overlay) + b"/" + name)).write_text("x")
    assert replay.run().end is AgentEnd.FINISHED
    assert [os.fsencode(path.name) for path in replay.workspace.iterdir()] == [name]


@pytest.mark.parametrize("name", [".git/config", "sub/.git/hooks/x", ".GIT/config"])
def test_a_recording_never_touches_a_git_folder(replay: Replay, name: str) -> None:
    replay.record(f"overlay/{name}", "[core]")
    assert ".git is not for it" in replay.fails()
    assert list(replay.workspace.iterdir()) == []


def test_something_special_in_a_recording_is_refused(replay: Replay) -> None:
    replay.overlay.mkdir()
    os.mkfifo(replay.overlay / "pipe")
    assert "cannot be replayed" in replay.fails()


def test_a_patch_is_applied_exactly_and_needs_no_git(
    replay: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    shell = """
    git init -q . && printf 'one\\r\\ntwo\\n' > text && printf 'moved\\n%.0s' 1 2 3 > from
    printf '\\000\\001' > binary && echo gone > gone && echo run > run && git add -A
    git commit -qm base && cp -r text from binary gone run "$1"
    printf 'one\\r\\n2\\n' > text && git mv from to && printf '\\000\\002\\377' > binary
    rm gone && chmod +x run && ln -s /etc/passwd link && mkdir new && echo n > new/file
    git add -A && git diff --cached --binary -M HEAD > "$2"
    """
    patch = replay.recording / "change.patch"
    subprocess.run(
        ["/bin/sh", "-ec", shell, "sh", str(replay.workspace), str(patch)],
        cwd=repository,
        check=True,
    )
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    result = replay.run()
    assert result.message == "replayed a recording, no agent ran: patched 8 files"
    here = {path.name for path in replay.workspace.iterdir()}
    assert here == {"text", "to", "binary", "run", "link", "new"}
    assert (replay.workspace / "text").read_bytes() == b"one\r\n2\n"
    assert (replay.workspace / "binary").read_bytes() == b"\x00\x02\xff"
    assert (replay.workspace / "run").stat().st_mode & stat.S_IXUSR
    assert str((replay.workspace / "link").readlink()) == "/etc/passwd"


def test_a_patch_that_does_not_fit_is_our_problem_and_changes_nothing(replay: Replay) -> None:
    replay.have("file", "something else\n")
    replay.record(
        "change.patch",
        "diff --git a/file b/file\n--- a/file\n+++ b/file\n@@ -1 +1 @@\n-old\n+new\n",
    )
    assert "the recording cannot be replayed" in replay.fails()
    assert (replay.workspace / "file").read_text() == "something else\n"


def test_listed_paths_are_deleted_files_links_and_folders(replay: Replay, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("theirs")
    replay.have("file")
    replay.have("folder/a/b")
    replay.have("größe")
    (replay.workspace / "link").symlink_to(outside)
    odd = Path(os.fsdecode(bytes(replay.workspace) + b"/caf\xe9"))
    odd.write_text("x")
    replay.record("delete.txt", 'file\nfolder\n\ngröße\nlink\r\n"caf\\351"\n')
    result = replay.run()
    assert result.message == "replayed a recording, no agent ran: deleted 5 paths"
    assert list(replay.workspace.iterdir()) == []
    assert (outside / "file").read_text() == "theirs"


@pytest.mark.parametrize(
    "listed",
    [
        "gone",
        "/etc/passwd",
        "../outside",
        "a/../file",
        ".git",
        ".git/config",
        "./file",
        "link/file",
    ],
)
def test_what_cannot_be_deleted_is_said(replay: Replay, tmp_path: Path, listed: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("theirs")
    (replay.workspace / "link").symlink_to(outside)
    replay.have("file")
    replay.have(".git/config")
    replay.record("delete.txt", listed)
    replay.fails()
    assert (outside / "file").exists()
    assert (replay.workspace / "file").exists()
    assert (replay.workspace / ".git/config").exists()


def test_patch_overlay_and_deletions_come_in_this_order(replay: Replay) -> None:
    replay.have("file")
    replay.have("other")
    replay.record(
        "change.patch",
        "diff --git a/file b/file\n--- a/file\n+++ b/file\n@@ -1 +1 @@\n-old\n+new\n",
    )
    replay.record("overlay/more", "x")
    replay.record("delete.txt", "other\n")
    result = replay.run()
    assert result.message == (
        "replayed a recording, no agent ran: patched 1 file, laid 1 file over, deleted 1 path"
    )
    assert (replay.workspace / "file").read_text() == "new\n"


def test_recorded_output_becomes_the_attempts_output(replay: Replay) -> None:
    replay.record("stdout.txt", b"said \x1b[1mthis\xff\n")
    result = replay.run()
    assert result.message == "replayed a recording, no agent ran: it changes nothing"
    assert (replay.assignment.output / "stdout.txt").read_bytes() == b"said \x1b[1mthis\xff\n"


def test_an_empty_recording_changes_nothing_and_says_nothing(replay: Replay) -> None:
    assert replay.run().end is AgentEnd.FINISHED
    assert (replay.assignment.output / "stdout.txt").read_bytes() == b""
    assert list(replay.workspace.iterdir()) == []


def test_recorded_usage_is_told_as_recorded(replay: Replay) -> None:
    replay.record("usage.json", json.dumps({"input_tokens": 10, "turns": None, "cost_usd": "0.02"}))
    usage = replay.run().usage
    assert (usage.input_tokens, usage.turns, usage.cost_usd) == (10, None, "0.02")
    assert usage.output_tokens is None
    assert usage.basis == "recorded"


def test_without_recorded_usage_nothing_is_known(replay: Replay) -> None:
    usage = replay.run().usage
    assert usage.input_tokens is None
    assert usage.basis == "unknown"


@pytest.mark.parametrize(
    "wrong",
    [
        "{",
        "[]",
        {"tokens": 1},
        {"basis": "reported"},
        {"input_tokens": "1"},
        {"input_tokens": True},
        {"input_tokens": 1.5},
        {"cost_usd": 0.02},
    ],
)
def test_usage_that_is_wrong_is_refused_before_anything_changes(replay: Replay, wrong: Any) -> None:
    replay.record("usage.json", wrong if isinstance(wrong, str) else json.dumps(wrong))
    replay.record("overlay/file", "x")
    replay.fails()
    assert list(replay.workspace.iterdir()) == []


def test_a_missing_recording_says_what_was_looked_for(replay: Replay, assign: Assign) -> None:
    shutil.rmtree(replay.recording)
    for message in (replay.fails(), ReplayAgent().run(assign(files=None)).message):
        assert "there is none for task negative-amount, repetition 2" in message
        assert "looked for a folder with any of change.patch, overlay, delete.txt" in message


def test_a_part_with_a_wrong_name_is_not_passed_over(replay: Replay) -> None:
    replay.record("overlays/file", "x")
    assert "has overlays; a recording is a folder with any of change.patch" in replay.fails()


def test_no_process_is_started(replay: Replay, assign: Assign) -> None:
    def never(*_: object, **__: object) -> Any:
        raise AssertionError("a process was asked for")

    replay.record("overlay/file", "x")
    result = ReplayAgent().run(assign(files=replay.recording, start=never))
    assert result.end is AgentEnd.FINISHED
    assert result.process is None
