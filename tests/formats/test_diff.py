from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.recorded import HOSTILE_PATCH, PATCH

from trialbook.formats.diff import FileDiff, parse_diff


def lines(file: FileDiff) -> list[tuple[str, int | None, int | None, str]]:
    return [(line.kind, line.old, line.new, line.text) for line in file.lines]


def git_diff(folder: Path, change: dict[str, bytes | None]) -> list[FileDiff]:
    """What git says of a change to files of a fresh repository, parsed."""

    def git(*arguments: str) -> bytes:
        done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
        return done.stdout

    git("add", "-A")
    git("commit", "-q", "-m", "before")
    for name, data in change.items():
        if data is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(data)
    git("add", "-A")
    return parse_diff(git("diff", "--cached", "--binary", "--full-index", "-M", "HEAD"))


def repository(folder: Path, files: dict[str, bytes]) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def test_lines_have_their_numbers_on_both_sides() -> None:
    [file] = parse_diff(PATCH)
    assert (file.path, file.status, file.insertions, file.deletions) == (
        "src/user_service.py",
        "modified",
        6,
        2,
    )
    assert lines(file)[1:4] == [
        ("context", 1, 1, "class UserService:"),
        ("deleted", 2, None, "    def create(self, name):"),
        ("deleted", 3, None, "        return name"),
    ]
    assert lines(file)[-1] == ("context", 4, 8, "# end")
    assert file.shows(3)
    assert not file.shows(99)


def test_a_line_of_a_file_never_passes_for_a_header() -> None:
    [file] = parse_diff(HOSTILE_PATCH)
    assert file.path == '"<img src=x onerror=alert(1)>\\033[2J.py"'
    assert lines(file)[1] == ("added", None, 1, "diff --git a/x b/x")
    assert lines(file)[-1] == ("note", None, None, "\\ No newline at end of file")
    assert file.notes == ["new file mode 120000 (symbolic link)"]


def test_what_git_writes_is_understood(tmp_path: Path) -> None:
    before = {
        "kept name.txt": b"one\n-- two\n",
        "old.txt": b"a long line that makes a rename\n" * 20,
        "gone.txt": b"gone\n",
        "blob.bin": bytes(range(256)),
    }
    change: dict[str, bytes | None] = {
        "kept name.txt": b"one\n++ two\n",
        "old.txt": None,
        "new.txt": before["old.txt"] + b"more\n",
        "gone.txt": None,
        "blob.bin": bytes(reversed(range(256))),
        "tab\tand \u202e.txt": b"x",
        "caf\u00e9.txt": b"y\n",
        "empty.txt": b"",
    }
    files = {file.path: file for file in git_diff(repository(tmp_path, before), change)}
    assert files["kept name.txt"].status == "modified"
    assert ("deleted", 2, None, "-- two") in lines(files["kept name.txt"])
    assert (files["new.txt"].status, files["new.txt"].old_path) == ("renamed", "old.txt")
    assert files["gone.txt"].status == "deleted"
    assert files["blob.bin"].binary
    assert files["blob.bin"].lines == []
    assert files['"tab\\tand \\342\\200\\256.txt"'].status == "added"
    assert files["caf\u00e9.txt"].insertions == 1
    assert files["empty.txt"].status == "added"


def test_a_change_of_mode_alone_is_a_change(tmp_path: Path) -> None:
    folder = repository(tmp_path, {"run.sh": b"#!/bin/sh\n"})
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-qm", "x"], cwd=folder, check=True)
    (folder / "run.sh").chmod(0o755)
    patch = subprocess.run(["git", "diff"], cwd=folder, check=True, capture_output=True).stdout
    [file] = parse_diff(patch)
    assert (file.path, file.status) == ("run.sh", "mode")
    assert file.notes == ["old mode 100644", "new mode 100755 (executable)"]


@given(st.binary(max_size=400))
def test_any_bytes_parse_without_an_error(data: bytes) -> None:
    parse_diff(data)
    parse_diff(b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,9 @@\n" + data)
