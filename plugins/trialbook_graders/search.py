"""Searches files for patterns, in processes of its own.

A pattern may need longer than the universe has, so each is searched for by a child that is killed
when its time is up. First all get a short time; what is left then is shared out evenly among those
that need more. The grader starts this module as a script and reads its answers. It needs nothing
but the standard library: ``python -I -S -B search.py JOBS``, where JOBS holds in JSON ``seconds``,
the time for all, and ``jobs``, mappings with ``pattern`` and ``files``. Each job that was finished
gives one line of JSON on standard output, with its number under ``job``.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import stat
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

TEXT_LIMIT = 10_000_000
"""The largest file, in bytes, that is searched."""

MOST_HITS = 20
"""How many matching files of one job are told with their place; all are counted."""

_CLIP = 200
_SHORT_SECONDS = 2.0
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_regular(path: str | Path, limit: int) -> bytes | None:
    """The first ``limit`` bytes and one more of a regular file; None for anything else.

    A link at the end of ``path`` is not followed, and a pipe does not block.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        try:
            return file.read(limit + 1)
        except OSError:
            return None


def text_of(data: bytes) -> str:
    """Bytes as text, whatever they are: no byte order mark, newlines as one character."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def line_around(text: str, start: int) -> tuple[int, str]:
    """The number (from 1) and the text, clipped, of the line that holds a position."""
    begin = text.rfind("\n", 0, start) + 1
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    if end - begin > _CLIP:
        begin = max(begin, start - _CLIP // 4)
        end = min(end, begin + _CLIP)
    return text.count("\n", 0, start) + 1, text[begin:end]


def answer(pattern: str, files: list[str]) -> dict[str, Any]:
    """What a search for one pattern found.

    ``hits`` are the first matching files by their place in ``files``, with line and text; ``count``
    is the number of all of them; ``lines`` how many lines were read; ``unread`` how many files are
    too large or not readable.
    """
    expression = re.compile(pattern, re.MULTILINE)
    hits: list[dict[str, Any]] = []
    count = lines = unread = 0
    for place, path in enumerate(files):
        data = read_regular(path, TEXT_LIMIT)
        if data is None or len(data) > TEXT_LIMIT:
            unread += 1
            continue
        text = text_of(data)
        lines += text.count("\n") + (not text.endswith("\n") and bool(text))
        if found := expression.search(text):
            count += 1
            if len(hits) < MOST_HITS:
                line, shown = line_around(text, found.start())
                hits.append({"file": place, "line": line, "text": shown})
    return {"hits": hits, "count": count, "lines": lines, "unread": unread}


def main(arguments: list[str]) -> int:
    """Answer the jobs of the file named, as far as time suffices."""
    orders = json.loads(Path(arguments[0]).read_bytes())
    end = time.monotonic() + orders["seconds"]
    left = list(enumerate(orders["jobs"]))
    if left:
        short = min(_SHORT_SECONDS, orders["seconds"] / 2 / len(left))
        left = [one for one in left if not _done(*one, short)]
    while left:
        share = (end - time.monotonic()) / len(left)
        if share <= 0:
            break
        _done(*left.pop(0), share)
    return 0


def _done(number: int, job: dict[str, Any], seconds: float) -> bool:
    """Whether a job was finished in time; if so, its answer is printed."""
    data = _answer_in_time(job, seconds)
    if data is not None:
        sys.stdout.write(json.dumps({"job": number, **json.loads(data)}) + "\n")
        sys.stdout.flush()
    return data is not None


def _answer_in_time(job: dict[str, Any], seconds: float) -> bytes | None:
    """What a child says, or None if it had to be killed.

    Raises:
        RuntimeError: the child broke.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _answer_and_exit(job, writing)
    os.close(writing)
    end = time.monotonic() + seconds
    data = b""
    try:
        while select.select([reading], [], [], max(0.0, end - time.monotonic()))[0]:
            part = os.read(reading, 1 << 16)
            if not part:
                break
            data += part
        else:
            os.kill(child, signal.SIGKILL)
            return None
    finally:
        os.close(reading)
        _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"the search for {job['pattern']!r} broke, status {status}")
    return data


def _answer_and_exit(job: dict[str, Any], writing: int) -> NoReturn:
    status = 1
    try:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(answer(job["pattern"], job["files"])).encode())
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, this process ends here
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
