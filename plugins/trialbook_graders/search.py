"""Searches files for patterns, in a process of its own.

A match in Python cannot be interrupted, and a pattern may need longer than the universe has; so the
grader starts this module as a script, with a time limit, and reads its answers. It needs nothing
but the standard library: ``python -I -S -B search.py JOBS``, where JOBS is a JSON list of mappings
with ``pattern`` and ``files``. Each finished job gives one line of JSON on standard output.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

TEXT_LIMIT = 10_000_000
"""The largest file, in bytes, that is searched."""

MOST_HITS = 20
"""How many matching files of one job are told with their place; all are counted."""

_CLIP = 200
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
    """Answer every job of the file named, in order."""
    jobs = json.loads(Path(arguments[0]).read_bytes())
    for job in jobs:
        sys.stdout.write(json.dumps(answer(job["pattern"], job["files"])) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
