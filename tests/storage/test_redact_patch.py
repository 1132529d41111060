"""Patches made by git, redacted, and read again by git and by us."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage.test_credential_patterns import SELF_EVIDENT, pem

from trialbook.formats.patch import parse_patch
from trialbook.storage.redact import Redactor
from trialbook.storage.redact_patch import CleanPatch, redact_patch

VALUE = "s3cr3t-value-of-some-length"
TOKEN = b"[redacted:TOKEN]"
REDACTOR = Redactor({"TOKEN": VALUE})
GITHUB = SELF_EVIDENT["github classic"][1]

Files = dict[str, bytes]
Diff = Callable[[Files, Files], bytes]


@pytest.fixture
def diff(tmp_path: Path) -> Diff:
    """The patch that git makes of two sets of files."""

    def git(*arguments: str) -> bytes:
        done = subprocess.run(
            ["git", "-c", "core.autocrlf=false", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
        return done.stdout

    def tree(files: Files) -> str:
        for path in tmp_path.iterdir():
            if path.name != ".git":
                path.unlink()
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
        git("add", "-A")
        return git("write-tree").decode().strip()

    git("init", "-q")

    def make(before: Files, after: Files) -> bytes:
        return git("diff", "--binary", "--full-index", "-M", tree(before), tree(after))

    return make


def clean_of(patch: bytes, redactor: Redactor = REDACTOR) -> CleanPatch:
    """The patch redacted, after checks that hold for every one: same files, hunks and lines."""
    clean = redact_patch(patch, redactor)
    assert clean.data.count(b"\n") == patch.count(b"\n")
    assert VALUE.encode() not in clean.data
    before, after = parse_patch(patch), parse_patch(clean.data)
    assert [file.new_oid for file in after] == [file.new_oid for file in before]
    assert [[len(hunk.lines) for hunk in file.hunks] for file in after] == [
        [len(hunk.lines) for hunk in file.hunks] for file in before
    ]
    return clean


def text(*lines: str, end: str = "\n") -> bytes:
    return "".join(f"{line}{end}" for line in lines).encode()


def test_a_patch_without_secrets_is_the_same_bytes(diff: Diff) -> None:
    patch = diff({"a.txt": text("one", "two")}, {"a.txt": text("one", "three")})
    assert clean_of(patch) == CleanPatch(data=patch, counts={}, problems=())  # type: ignore[arg-type]


def test_added_removed_and_context_lines_lose_what_is_secret_and_nothing_else(diff: Diff) -> None:
    before = {"a.txt": text("x", f"old {VALUE};", f"stays {VALUE}", "y")}
    after = {"a.txt": text("x", f"new {GITHUB};", f"stays {VALUE}", "y")}
    clean = clean_of(diff(before, after))
    assert b"-old [redacted:TOKEN];\n+new [redacted:github-token];\n" in clean.data
    assert b"\n stays [redacted:TOKEN]\n" in clean.data
    assert clean.counts == {"TOKEN": 2, "github-token": 1}
    assert clean.problems == ()


def test_a_private_key_in_a_hunk_loses_each_line_and_keeps_their_number(diff: Diff) -> None:
    patch = diff({"a": text("x")}, {"a": text("x"), "key.pem": f"# key\n{pem()}\n# end\n".encode()})
    clean = clean_of(patch)
    added = [line for line in clean.data.splitlines() if line.startswith(b"+")][1:]
    assert added == [b"+# key", *[b"+[redacted:private-key]"] * 14, b"+# end"]
    assert clean.counts == {"private-key": 1}


def test_a_key_of_which_only_the_middle_changes_goes_on_both_sides(diff: Diff) -> None:
    lines = pem("PRIVATE KEY", 4).splitlines()
    other = [*lines[:2], pem("X", 9).splitlines()[8], *lines[3:]]
    patch = diff({"k": text(*lines)}, {"k": text(*other)})
    clean = clean_of(patch)
    body = clean.data[clean.data.index(b"\n", clean.data.index(b"@@ -")) + 1 :].splitlines()
    assert {line[1:] for line in body} == {b"[redacted:private-key]"}
    assert [line[:1] for line in body] == [b" ", b" ", b"-", b"+", b" ", b" ", b" "]


def test_a_key_as_text_inside_of_code_goes(diff: Diff) -> None:
    patch = diff({}, {"a.py": f'KEY = "{pem(end=chr(92) + "n")}"\n'.encode()})
    assert b'+KEY = "[redacted:private-key]"\n' in clean_of(patch).data


def test_windows_line_ends_stay(diff: Diff) -> None:
    patch = diff({}, {"a.txt": text("a", VALUE, *pem().splitlines(), "b", end="\r\n")})
    clean = clean_of(patch)
    assert b"+[redacted:TOKEN]\r\n+[redacted:private-key]\r\n" in clean.data
    assert clean.data.count(b"\r\n") == patch.count(b"\r\n")


def test_a_value_that_is_broken_over_lines_of_a_file_goes(diff: Diff) -> None:
    patch = diff({"a": text("x")}, {"a": text("x", f"key: {VALUE[:12]}", f"{VALUE[12:]}", "z")})
    clean = clean_of(patch)
    assert b"+key: [redacted:TOKEN]\n+[redacted:TOKEN]\n+z\n" in clean.data
    assert clean.counts == {"TOKEN": 1}


def test_a_last_line_without_an_end_stays_without(diff: Diff) -> None:
    patch = diff({"a": b"x"}, {"a": VALUE.encode()})
    clean = clean_of(patch)
    assert clean.data.endswith(
        b"-x\n\\ No newline at end of file\n+[redacted:TOKEN]\n\\ No newline at end of file\n"
    )


@pytest.mark.parametrize("name", ["{}.txt", "a {} b", "é-{}", '"{}"'])
def test_names_of_files_lose_what_is_secret_alike_in_every_heading(diff: Diff, name: str) -> None:
    before, after = name.format("old"), name.format(VALUE)
    body = text(*"abcdefgh")
    clean = clean_of(diff({before: body}, {after: body + b"i\n"}))
    assert clean.problems == ()
    (file,) = parse_patch(clean.data)
    assert file.new_path == name.format(TOKEN.decode()).encode()


def test_what_git_shows_of_the_function_around_a_hunk_is_looked_at_too(diff: Diff) -> None:
    head = [f"def f(key='{VALUE}'):", *[f"    line {number}" for number in range(12)]]
    patch = diff({"a.py": text(*head)}, {"a.py": text(*head, "    more")})
    assert VALUE.encode() in patch
    assert b"@@ def f(key='[redacted:TOKEN]'):\n" in clean_of(patch).data


def test_a_binary_file_with_a_secret_cannot_be_redacted(diff: Diff) -> None:
    for secret, kind in ((VALUE, "TOKEN"), (GITHUB, "github-token")):
        patch = diff({}, {"data.bin": b"\0\1" * 50 + secret.encode() + b"\0" * 9})
        clean = redact_patch(patch, REDACTOR)
        assert clean.data == patch
        assert clean.problems == (f"change.patch: the binary file data.bin holds {kind}",)


def test_a_secret_in_the_delta_of_a_large_binary_file_is_seen(diff: Diff) -> None:
    noise = random.Random(3).randbytes(40_000)
    start = noise[:20_000] + random.Random(4).randbytes(110)
    patch = diff({"d": noise}, {"d": start + VALUE.encode() + noise[20_000:]})
    assert b"\ndelta " in patch
    assert redact_patch(patch, REDACTOR).problems == (
        "change.patch: the binary file d holds TOKEN",
    )


def test_a_known_value_in_a_binary_file_that_was_there_before_is_seen_too(diff: Diff) -> None:
    patch = diff({"d": b"\0" + VALUE.encode()}, {"d": b"\0"})
    assert redact_patch(patch, REDACTOR).problems
    patch = diff({"d": b"\0" + GITHUB.encode()}, {"d": b"\0"})
    assert redact_patch(patch, REDACTOR).problems == ()


def test_binary_files_without_secrets_stay_byte_for_byte(diff: Diff) -> None:
    patch = diff({"d": b"\0\1\2"}, {"d": bytes(range(256)) * 40, "t": text(VALUE)})
    clean = clean_of(patch)
    assert clean.problems == ()
    end = patch.index(b"diff --git a/t")
    assert clean.data[:end] == patch[:end]


def test_lines_that_look_like_headings_inside_of_a_hunk_are_lines(diff: Diff) -> None:
    lines = ["-- a/x", "++ b/x", "@@ -1 +1 @@", f"diff --git a/{VALUE} b/x", "GIT binary patch"]
    patch = diff({"a": text("-- old")}, {"a": text(*lines, VALUE)})
    clean = clean_of(patch)
    assert clean.counts == {"TOKEN": 2}


def test_what_is_no_patch_is_redacted_as_lines() -> None:
    assert redact_patch(f"a {VALUE}\nb".encode(), REDACTOR).data == b"a [redacted:TOKEN]\nb"


LINE = st.sampled_from(
    ["", "a", "b", VALUE, f"x {VALUE} y", VALUE[:9], VALUE[9:], GITHUB, "+", "-"]
)


@given(st.lists(LINE, max_size=12), st.lists(LINE, max_size=12))
def test_whatever_the_lines_the_patch_keeps_its_shape(old: list[str], new: list[str]) -> None:
    lines = [f"-{line}" for line in old] + [f"+{line}" for line in new]
    heading = "diff --git a/f b/f\nindex 1111111..2222222 100644\n--- a/f\n+++ b/f\n"
    hunk = f"@@ -1,{len(old)} +1,{len(new)} @@\n" if old and new else ""
    if not hunk:
        return
    clean_of(f"{heading}{hunk}{chr(10).join(lines)}\n".encode())
