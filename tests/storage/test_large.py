from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from trialbook.storage.large import LargeStore, Pointer, pointer_to, read_pointer

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
