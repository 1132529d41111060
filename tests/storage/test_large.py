from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trialbook.formats.cut_log import cut_log
from trialbook.model.trial import CutFile
from trialbook.storage.large import LargeStore, Pointer, cut_problem, pointer_to, read_pointer

DATA = b"the whole of a log\n" * 100
DIGEST = hashlib.sha256(DATA).hexdigest()


def test_a_pointer_is_written_as_the_specification_says() -> None:
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{DIGEST}\nsize {len(DATA)}\n"
    assert pointer_to(DATA).text == text.encode()
    assert read_pointer(text.encode()) == Pointer(sha256=DIGEST, size=len(DATA))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: text + b"\n",
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"sha256", b"sha512"),
        lambda text: text.replace(b"size ", b"size 0"),
        lambda text: text.replace(b"v1", b"v2"),
        lambda text: b" " + text,
        lambda _text: b"",
    ],
)
def test_what_is_not_exactly_a_pointer_is_none(change: Callable[[bytes], bytes]) -> None:
    assert read_pointer(change(pointer_to(DATA).text)) is None


def test_contents_lie_where_git_lfs_looks_for_them(tmp_path: Path) -> None:
    store = LargeStore(tmp_path)
    store.add({DIGEST: DATA})
    place = tmp_path / "lfs/objects" / DIGEST[:2] / DIGEST[2:4] / DIGEST
    assert place.read_bytes() == DATA
    assert store.path(DIGEST) == place
    assert store.read(DIGEST) == DATA


def test_content_that_is_there_already_is_left_alone(tmp_path: Path) -> None:
    store = LargeStore(tmp_path)
    store.add({DIGEST: DATA})
    before = store.path(DIGEST).stat()
    store.add({DIGEST: DATA})
    assert store.path(DIGEST).stat() == before


def test_content_that_is_damaged_is_not_given_and_is_put_right(tmp_path: Path) -> None:
    store = LargeStore(tmp_path)
    store.add({DIGEST: DATA})
    store.path(DIGEST).write_bytes(b"something else")
    assert store.read(DIGEST) is None
    store.add({DIGEST: DATA})
    assert store.read(DIGEST) == DATA


def test_what_is_not_here_is_none(tmp_path: Path) -> None:
    assert LargeStore(tmp_path).read(DIGEST) is None


LOG = "sessions/1/attempt-1/stdout.txt"


def cut_trial() -> tuple[CutFile, dict[str, bytes]]:
    short = cut_log(DATA, 100, f"full/{LOG}")
    assert short is not None
    file = CutFile(path=LOG, bytes=len(DATA), sha256=DIGEST, full=f"full/{LOG}")
    return file, {LOG: short, f"full/{LOG}": pointer_to(DATA).text}


def test_what_a_record_says_of_a_cut_log_fits_what_was_made_with_it() -> None:
    file, contents = cut_trial()
    assert cut_problem(file, contents) is None
    assert cut_problem(replace(file, full=None), {LOG: contents[LOG]}) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"bytes": 7}, "part of 7 bytes"),
        ({"sha256": "0" * 64}, "0000"),
        ({"full": "full/other"}, "full/other"),
    ],
)
def test_a_record_that_says_otherwise_is_a_problem(change: dict[str, Any], said: str) -> None:
    file, contents = cut_trial()
    assert said in (cut_problem(replace(file, **change), contents) or "")


def test_a_pointer_to_something_else_is_a_problem() -> None:
    file, contents = cut_trial()
    contents[f"full/{LOG}"] = pointer_to(b"something else").text
    assert "no pointer" in (cut_problem(file, contents) or "")
    assert cut_problem(file, {}) is not None
