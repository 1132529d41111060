"""Where a version of a rubric was used, and whether its file is still what was used there.

A version is frozen by use: answers to questions that have changed since would mean something else.
Every record that depends on a rubric carries the keys ``rubric`` (``merge@1``) and
``rubric_sha256``; this module knows which files those records are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbook.errors import Problem
from trialbook.model.digest import sha256
from trialbook.model.paths import path_to_text
from trialbook.model.runfiles import PLAN, REGRADES
from trialbook.storage.files import read_regular
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rubrics import RUBRICS_FOLDER, is_reference, rubric_path

JUDGE_GRADES = "judge-"
REVIEWS = "reviews"

_KEYS = ("rubric", "rubric_sha256")
_LINE = re.compile(r"^(rubric|rubric_sha256):[ \t]+[\"']?([^\"'\s]+)[\"']?[ \t\r]*$", re.MULTILINE)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SHOWN = 12
_BESIDE_RUNS = ("suites/*/locks/*.json", f"{RUBRICS_FOLDER}/*/calibrations/*.json")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class RubricUse:
    """One record that used a version: ``where`` is its path from the ledger's root down."""

    reference: str
    sha256: str
    where: str


def rubric_uses(root: Path, reader: Reader | None) -> Iterator[RubricUse]:
    """Every use that records show.

    Locks and calibrations are read as they are in the folder, runs as they are in git. Of the
    grades that one judge gave in one go, which all name one rubric, the first is read.

    Args:
        root: The ledger.
        reader: Its runs; None where there is no git repository, and so none.
    """
    for pattern in _BESIDE_RUNS:
        for file in sorted(root.glob(pattern)):
            data = read_regular(file)
            if data is not None:
                yield from uses_in(data, file.relative_to(root).as_posix())
    if reader is None:
        return
    for run in reader.runs():
        for path in _records(reader, run):
            data = reader.file(run, path)
            if data is not None:
                shown = path_to_text(os.fsencode(f"runs/{run.path}/{path}"))
                yield from uses_in(data, shown)


def uses_in(data: bytes, where: str) -> Iterator[RubricUse]:
    """The uses that one record names; none if it cannot be read, which others report."""
    if b"rubric_sha256" not in data:
        return
    text = data.decode("utf-8", "replace")
    value: Any
    if where.endswith(".json"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return
    else:
        # Reviews are many, and both keys stand at the top of them: no need to parse it all.
        value = dict(_LINE.findall(text))
    for reference, digest in sorted(set(_pairs(value))):
        yield RubricUse(reference=reference, sha256=digest, where=where)


def frozen_problem(reference: str, digest: str | None, uses: Iterable[RubricUse]) -> Problem | None:
    """What is wrong if a version is not what it was when it was used; None if nothing is.

    Args:
        reference: The version, ``merge@1``.
        digest: Of its file as it is now; None if it is gone.
        uses: Of any versions.
    """
    broken = sorted(one for one in uses if one.reference == reference and one.sha256 != digest)
    if not broken:
        return None
    first, name = broken[0], reference.partition("@")[0]
    path = rubric_path(reference)
    others = len(broken) - 1
    more = f" and in {others} more record{'' if others == 1 else 's'}" if others else ""
    if digest is None:
        message = f"{reference} is gone, and {first.where}{more} used it"
        return Problem(path=path, message=message, hint=f"restore it: git checkout -- {path}")
    message = (
        f"{reference} is not what was used in {first.where}{more}: its sha256 is "
        f"{digest[:_SHOWN]}…, there it was {first.sha256[:_SHOWN]}…"
    )
    hint = f"put it back, and change a new version instead: trialbook rubric new {name}"
    return Problem(path=path, message=message, hint=hint)


def frozen_problems(
    root: Path, uses: Iterable[RubricUse], names: frozenset[str] | None = None
) -> list[Problem]:
    """Every used version whose file is not what it was, or is gone; only of ``names`` if given."""
    known = list(uses)
    problems = []
    for reference in sorted({one.reference for one in known}):
        if names is not None and reference.partition("@")[0] not in names:
            continue
        data = read_regular(root / rubric_path(reference))
        problem = frozen_problem(reference, None if data is None else sha256(data), known)
        if problem is not None:
            problems.append(problem)
    return problems


def _records(reader: Reader, run: RunRef) -> Iterator[str]:
    """The files of a run that may name a rubric."""
    yield PLAN
    for reviewer in reader.names(run, REVIEWS):
        for packet in reader.names(run, f"{REVIEWS}/{reviewer}"):
            yield f"{REVIEWS}/{reviewer}/{packet}"
    seen: set[tuple[str, str]] = set()
    rounds = [name.removesuffix(".json") for name in reader.names(run, REGRADES)]
    for trial in reader.trial_paths(run) if rounds else ():
        for one in rounds:
            folder = f"{trial}/{REGRADES}/{one}"
            for name in reader.names(run, folder):
                if name.startswith(JUDGE_GRADES) and (one, name) not in seen:
                    seen.add((one, name))
                    yield f"{folder}/{name}"


def _pairs(value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        reference, digest = (value.get(key) for key in _KEYS)
        if (
            isinstance(reference, str)
            and isinstance(digest, str)
            and is_reference(reference)
            and _DIGEST.fullmatch(digest)
        ):
            yield reference, digest
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _pairs(one)
