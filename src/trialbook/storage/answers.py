"""What was read from a run before, kept in the cache and known by the id of the run's tree.

A tree id stands for its content, so an answer that it was given is right for ever. The cache is a
convenience: what is missing, damaged or from another version is worked out again, and a folder that
cannot be written changes nothing but the time it takes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from trialbook import __version__
from trialbook.errors import EnvironmentProblem
from trialbook.formats.records import RecordError, pack, unpack
from trialbook.storage.files import read_regular, write_atomic

T = TypeVar("T")

_FORMAT = 1
_TREE = 20
_DIGEST = 32


class Answers:
    """Answers of one cache folder. One file for each run and question; a newer one replaces it."""

    def __init__(self, cache: Path) -> None:
        self._folder = cache / "reader" / f"{_FORMAT}-{__version__}"

    def answer(
        self, question: tuple[str, str], tree: str, kind: type[T], compute: Callable[[], T]
    ) -> T:
        """The answer for a run whose tree this is.

        Args:
            question: What is asked, and of which run (``<suite>/<run>``).
            tree: The id of the run's tree.
            kind: What the answer is.
            compute: Works it out; its errors are the caller's.
        """
        path = self._path(question)
        head = bytes.fromhex(tree)
        given, body = _parts(path)
        if given == head:
            with suppress(RecordError):
                return unpack(kind, body, str(path))
        found = compute()
        body = pack(found)
        with suppress(EnvironmentProblem):
            write_atomic(path, head + hashlib.sha256(head + body).digest() + body)
        return found

    def last(self, question: tuple[str, str], kind: type[T]) -> T | None:
        """The answer that was kept last, whatever the run's tree was then; None if none was."""
        path = self._path(question)
        given, body = _parts(path)
        if given:
            with suppress(RecordError):
                return unpack(kind, body, str(path))
        return None

    def _path(self, question: tuple[str, str]) -> Path:
        name = hashlib.sha256("\n".join(question).encode()).hexdigest()
        return self._folder / question[0] / name[:2] / name[2:40]


def _parts(path: Path) -> tuple[bytes, bytes]:
    """The tree that an answer was given for, and the answer; nothing if it is not whole."""
    raw = read_regular(path) or b""
    head, digest, body = raw[:_TREE], raw[_TREE : _TREE + _DIGEST], raw[_TREE + _DIGEST :]
    return (head, body) if hashlib.sha256(head + body).digest() == digest else (b"", b"")
