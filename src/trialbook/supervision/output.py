"""Takes a process's output from a pipe to a file: at most so much of it, however much comes."""

from __future__ import annotations

import contextlib
import os

from trialbook.supervision.launch import open_file

_CHUNK_BYTES = 1 << 16
_PIPE_BYTES = 1 << 20
_DRAIN_BYTES = 8 << 20


class Sink:
    """One output file. Keeps the first ``limit`` bytes (None: all), counts the rest.

    ``pipe`` is the end to watch, ``end`` the one to hand to the process. ``problem`` says why the
    file takes nothing more (a full disk, say).
    """

    def __init__(self, path: bytes, limit: int | None) -> None:
        self._file = open_file(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, "output file")
        self._limit = limit
        self._last = b"\n"
        self.pipe, self.end = os.pipe()
        os.set_blocking(self.pipe, False)
        _enlarge(self.pipe)
        self.written = 0
        self.kept = 0
        self.problem = ""

    @property
    def cut(self) -> bool:
        """Whether something was not kept."""
        return self.written > self.kept

    def pump(self) -> int:
        """Take what is there now; gives the number of bytes, -1 at the end of the stream."""
        try:
            data = os.read(self.pipe, _CHUNK_BYTES)
        except BlockingIOError:
            return 0
        self.written += len(data)
        self._keep(data if self._limit is None else data[: max(self._limit - self.kept, 0)])
        return len(data) or -1

    def finish(self) -> None:
        """Take the rest, but not for ever: somebody outside the tree may hold the other end."""
        budget = self.written + _DRAIN_BYTES
        while self.written < budget and self.pump() > 0:
            pass
        if self.cut:
            start = "" if self._last == b"\n" else "\n"
            more = self.written - self.kept
            mark = f"{start}[trialbook: output cut here; {more} more bytes were dropped]\n"
            write_all(self._file, mark.encode())
        os.close(self._file)

    def _keep(self, data: bytes) -> None:
        if self.problem or not data:
            return
        done, self.problem = write_all(self._file, data)
        self.kept += done
        self._last = data[done - 1 : done] or self._last


def write_all(file: int, data: bytes) -> tuple[int, str]:
    """Write bytes to a descriptor; gives how many were, and the system's word why not all."""
    done = 0
    try:
        while done < len(data):
            done += os.write(file, data[done:])
    except OSError as error:
        return done, os.strerror(error.errno or 0)
    return done, ""


def _enlarge(pipe: int) -> None:
    # A smaller pipe only costs time.
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl  # noqa: PLC0415 - not everywhere

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
