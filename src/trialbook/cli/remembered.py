"""What a command said of a ledger last time, for as long as nothing that it read has changed.

What a ledger says follows from one commit. Which one that is stands in a few small files of git:
while they have the same bytes, the answer is the same, and neither git's objects nor what reads
them need to be loaded. Anything out of the ordinary is not remembered: then the ledger is read.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Iterable

from trialbook import __version__
from trialbook.environment import cache_folder, environment

# How text is laid out, and how the program is called in it, depend on these.
_VARIABLES = ("COLUMNS", "NO_COLOR", "PATH", "TERM")
_CHECK = 4


class Remembered:
    """The answer to one question about the ledger that is found from a folder.

    ``question`` is the command and its options; ``code`` are the files of the program that write
    the answer.
    """

    def __init__(self, question: str, ledger: str | None, code: Iterable[str]) -> None:
        environ, root = environment(), _root(ledger)
        self._git = _plain_repository(root)
        self._file = f"{cache_folder(environ)}/said/{__version__}{self._git}/{question}"
        self._circumstances = _bytes(
            [root, sys.argv[0], sys.executable, _here(), *_shape(), *map(environ.get, _VARIABLES)]
        ) + b"".join(_bytes([name, _age(name)]) for name in code)

    def recall(self) -> str | None:
        """What was said last time, or None if that is not known to be what would be said now."""
        known, state = _contents(self._file), self._state()
        if known is None or state is None:
            return None
        told, body = known[: len(state)], known[len(state) + _CHECK :]
        whole = _checked(told, body) == known[len(state) : len(state) + _CHECK]
        return body.decode() if told == state and whole else None

    def remember(self, make: Callable[[], str]) -> str:
        """Make the answer, and keep it if nothing changed meanwhile."""
        before = self._state()
        answer = make()
        if before is not None and before == self._state():
            body = answer.encode()
            _keep(self._file, before + _checked(before, body) + body)
        return answer

    def _state(self) -> bytes | None:
        """All that the answer follows from, or None if that is not in a few files."""
        git = self._git
        head = (_contents(f"{git}/HEAD") if git else None) or b""
        branch = os.fsdecode(head.removeprefix(b"ref: ").strip())
        detached = not head.startswith(b"ref: ")
        if not head or not (detached or branch.startswith("refs/heads/")) or ".." in branch:
            return None
        tip = None if detached else _contents(f"{git}/{branch}")
        settings = [_contents(f"{git}/config"), _contents("/etc/gitconfig")]
        words = b"".join(filter(None, settings)).lower()
        elsewhere = [_contents(f"{git}/{name}") for name in ("config.worktree", "commondir")]
        if (tip or b"").startswith(b"ref:") or elsewhere != [None, None]:
            return None
        # Settings may be included from elsewhere, or put the ledger on a branch of its own.
        if b"include" in words or b"trialbook" in words:
            return None
        files = [head, tip, _contents(f"{git}/packed-refs"), *settings]
        return self._circumstances + b"".join(map(_framed, files))


def _root(ledger: str | None) -> str:
    """The ledger's folder as `trialbook.cli.context` finds it, or nothing."""
    folder = ledger or _here()
    folder = os.path.abspath(folder) if folder else ""  # noqa: PTH100 - pathlib is slow to import
    while folder and not os.path.isdir(f"{folder}/suites"):  # noqa: PTH112
        above = "" if ledger else os.path.dirname(folder)  # noqa: PTH120
        folder = "" if above == folder else above
    return folder


def _plain_repository(folder: str) -> str:
    """The ``.git`` folder of the work tree that a folder is in; nothing for any other kind."""
    while folder:
        git = f"{folder}/.git"
        if os.path.isdir(git):  # noqa: PTH112
            return git
        above = os.path.dirname(folder)  # noqa: PTH120
        if os.path.lexists(git) or above == folder or os.path.isdir(f"{folder}/refs"):  # noqa: PTH112
            return ""
        folder = above
    return ""


def _here() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""


def _shape() -> tuple[str, str]:
    """How wide the output is, and whether it is a terminal."""
    try:
        return f"{os.get_terminal_size(sys.stdout.fileno())}", f"{sys.stdout.isatty()}"
    except (OSError, ValueError):
        return "", f"{sys.stdout.isatty()}"


def _age(name: str) -> str:
    try:
        return f"{os.stat(name).st_mtime_ns}"  # noqa: PTH116
    except OSError:
        return ""


def _contents(name: str) -> bytes | None:
    try:
        with open(name, "rb") as file:  # noqa: PTH123
            return file.read()
    except (OSError, ValueError):
        return None


def _checked(told: bytes, body: bytes) -> bytes:
    return zlib.crc32(told + body).to_bytes(_CHECK)


def _framed(data: bytes | None) -> bytes:
    return b"-" if data is None else b"%d:%b" % (len(data), data)


def _bytes(words: Iterable[str | None]) -> bytes:
    return b"".join(_framed(None if word is None else os.fsencode(word)) for word in words)


def _keep(name: str, data: bytes) -> None:
    from pathlib import Path  # noqa: PLC0415 - by now they are loaded

    from trialbook.errors import EnvironmentProblem  # noqa: PLC0415
    from trialbook.storage.files import write_atomic  # noqa: PLC0415

    try:
        write_atomic(Path(name), data, mode=0o600)
    except EnvironmentProblem:
        return  # a cache that cannot be written only costs time
