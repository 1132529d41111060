"""Asks the searching process for patterns in files, and knows which it did not get through."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbook.api import Command, Ended, Evidence, Finding, TrialbookError
from trialbook_graders import search
from trialbook_graders.tree import shown

SEARCH_MINUTES = 1.0
"""How long all searches of one task may take together; each has its share of it."""

_SHARE = 0.8

_ANSWERS_LIMIT = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One pattern, and the files of the candidate to look for it in."""

    pattern: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one search found: places, how many files match, how much was read."""

    hits: tuple[Finding, ...]
    count: int
    lines: int
    unread: int


def search_all(jobs: Sequence[Job], evidence: Evidence) -> list[Found | None]:
    """An answer for each job; None for those that had to be stopped.

    Raises:
        TrialbookError: the search did not start, or broke.
    """
    if not jobs:
        return []
    folder = evidence.scratch / "search"
    folder.mkdir()
    orders = [
        {"pattern": job.pattern, "files": [str(evidence.candidate / file) for file in job.files]}
        for job in jobs
    ]
    minutes = min(SEARCH_MINUTES, evidence.limits.minutes or SEARCH_MINUTES)
    # The rest of the time is for starting up.
    written = json.dumps({"seconds": minutes * 60 * _SHARE, "jobs": orders})
    (folder / "jobs.json").write_text(written, encoding="ascii")
    script = Path(search.__file__)
    result = evidence.start(
        Command(
            argv=(sys.executable, "-I", "-S", "-B", str(script), str(folder / "jobs.json")),
            cwd=folder,
            environment={"LC_ALL": "C.UTF-8", "PATH": os.defpath},
            stdout=folder / "answers.jsonl",
            stderr=folder / "errors.txt",
        ),
        minutes=minutes,
        readable=(folder, evidence.candidate, script),
    )
    if not result.ok and result.ended is not Ended.TIMED_OUT:
        said = search.read_regular(folder / "errors.txt", 4000) or b""
        raise TrialbookError(
            f"the search for patterns broke ({result.ended.value}, status {result.exit_code}): "
            f"{result.message or said.decode('utf-8', 'replace')[-500:]}"
        )
    raw = search.read_regular(folder / "answers.jsonl", _ANSWERS_LIMIT) or b""
    found: list[Found | None] = [None] * len(jobs)
    for line in _whole_lines(raw):
        answer = json.loads(line)
        found[answer["job"]] = _found(jobs[answer["job"]], answer)
    return found


def _whole_lines(raw: bytes) -> list[bytes]:
    # What follows the last newline was cut off with the process.
    return raw.split(b"\n")[:-1]


def _found(job: Job, answer: Mapping[str, Any]) -> Found:
    hits = tuple(
        Finding(text=hit["text"], file=shown(job.files[hit["file"]]), line=hit["line"])
        for hit in answer["hits"]
    )
    return Found(hits=hits, count=answer["count"], lines=answer["lines"], unread=answer["unread"])
