"""Lets a process die, or run out of space, at exactly one of its calls that change a disk.

Installed into a forked child before the program starts there. Counted are all calls of Python's
that change files, and the start of every child process; a write can be cut in the middle.
"""

from __future__ import annotations

import builtins
import errno
import functools
import io
import itertools
import os
import signal
import stat
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILLING = frozenset({"write", "open", "mkdir", "link", "symlink", "sendfile", "fsync"})
"""The calls that need space on the disk."""

_OF_PATHS = ("rename", "replace", "link", "unlink", "remove", "mkdir", "rmdir", "symlink", "chmod")
_OF_HANDLES = ("write", "fsync", "ftruncate", "sendfile")
_OPEN_OPTIONS = ("encoding", "errors", "newline", "closefd", "opener")
_open = io.open


@dataclass(kw_only=True)
class Faults:
    """What shall happen.

    ``at`` is the number of the call, counted from 1; 0 for none. ``kind`` is ``kill``, ``tree``
    (the children die too), ``full`` (from that call on nothing more can be written) or ``denied``
    (from that call on nothing may be changed). Only calls that touch something ``below`` one of
    these folders count, or all. ``told`` gets the number of each call, and what it is.
    """

    at: int
    kind: str
    below: tuple[str, ...] = ()
    told: Callable[[int, str], None] = lambda number, what: None
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def point(self, name: str, *paths: str, half: Callable[[], object] | None = None) -> None:
        """One call is about to happen."""
        if self.below and not any(path.startswith(self.below) for path in paths):
            return
        number = next(self.numbers)
        self.told(number, f"{name} {' '.join(paths)}")
        if self.at and number == self.at and half is not None:
            half()
        if self.at and number >= self.at:
            self._strike(name, paths)

    def _strike(self, name: str, paths: tuple[str, ...]) -> None:
        if self.kind in {"kill", "tree"}:
            if self.kind == "tree":
                for pid in descendants(os.getpid()):
                    _kill(pid)
            _kill(os.getpid())
            signal.pause()
        if self.kind == "denied" and name != "Popen":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), *paths[:1])
        if self.kind == "full" and name in FILLING:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *paths[:1])

    def install(self) -> None:
        """From now on, in this process."""
        for name in _OF_PATHS:
            setattr(os, name, self._of_paths(name, getattr(os, name)))
        for name in _OF_HANDLES:
            setattr(os, name, self._of_handle(name, getattr(os, name)))
        os.open = self._opening(os.open)
        io.open = builtins.open = self._file  # type: ignore[assignment]
        subprocess.Popen.__init__ = self._starting(  # type: ignore[method-assign]
            subprocess.Popen.__init__
        )

    def _of_paths(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def call(*arguments: Any, **options: Any) -> Any:
            folders = [value for key, value in options.items() if key.endswith("dir_fd")]
            count = 2 if name in {"rename", "replace", "link"} else 1
            self.point(name, *(_full(path, folders) for path in arguments[:count]))
            return real(*arguments, **options)

        return call

    def _of_handle(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def call(handle: int, *arguments: Any) -> Any:
            path = _regular(handle)
            if path is not None:
                half = None
                if name == "write":
                    half = functools.partial(real, handle, arguments[0][: len(arguments[0]) // 2])
                self.point(name, path, half=half)
            return real(handle, *arguments)

        return call

    def _opening(self, real: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(real)
        def call(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
            if flags & os.O_CREAT:
                self.point("open", _full(path, [options.get("dir_fd")]))
            return real(path, flags, *arguments, **options)

        return call

    def _starting(self, real: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(real)
        def call(*arguments: Any, **options: Any) -> None:
            folder = (options.get("env") or {}).get("GIT_DIR", "")
            self.point("Popen", folder)
            real(*arguments, **options)

        return call

    def _file(
        self, file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **named: Any
    ) -> Any:
        options = dict(zip(_OPEN_OPTIONS, rest, strict=False)) | named
        path = _regular(file) if isinstance(file, int) else _full(file, [])
        if path is None or set(mode).isdisjoint("wax+"):
            return _open(file, mode, buffering, **options)
        if not isinstance(file, int) and not Path(file).exists():
            self.point("open", path)
        bare = mode.replace("b", "").replace("t", "")
        raw = _Raw(file, bare, options.pop("closefd", True), options.pop("opener", None))
        raw.faults, raw.path = self, path
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, **options)


class _Raw(io.FileIO):
    faults: Faults
    path: str

    def write(self, data: Any) -> int:
        real = super().write
        self.faults.point("write", self.path, half=lambda: real(memoryview(data)[: len(data) // 2]))
        return real(data)


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with _open(thread) as listing:
            for child in listing.read().split():
                found += [int(child), *descendants(int(child))]
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _full(path: Any, folders: list[Any]) -> str:
    if isinstance(path, int):
        return _regular(path) or ""
    handle = next((folder for folder in folders if folder is not None), None)
    base = Path.cwd() if handle is None else Path(f"/proc/self/fd/{handle}").readlink()
    return str(base / os.fsdecode(path))


def _regular(handle: int) -> str | None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        return None
    return str(Path(f"/proc/self/fd/{handle}").readlink())
