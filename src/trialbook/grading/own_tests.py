"""Runs tests that an agent wrote itself, on any tree: what they say is a fact, and no grade."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from trialbook.api import Command, Ended, GraderStart
from trialbook.errors import TrialbookError
from trialbook.formats.junit import MOST_BYTES, ReportRefusedError, read_tests
from trialbook.grading.tampering.look import is_test
from trialbook.model.series_record import TreeTests
from trialbook.storage.files import fresh_folder, read_regular
from trialbook.storage.repository import Store
from trialbook.storage.trees import Edit, edit_tree, materialise, replace_with

_FOLDERS = frozenset({"test", "tests", "testing"})
_PYTEST = re.compile(r"(?:test_.*|.*_test)\.py")
_MINUTES = 5.0
_LONGEST = 300
_BROKE = frozenset({Ended.TIMED_OUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTests:
    """Files of tests that were added or changed. ``files`` are those that pytest would run.

    ``edits`` lay them, and what stands beside them, into another tree. ``others`` are files of
    tests that pytest does not run.
    """

    files: tuple[str, ...]
    edits: Mapping[bytes, Edit]
    others: tuple[str, ...] = ()


def own_tests(store: Store, start: str, end: str) -> OwnTests:
    """The files of tests by which two trees differ, as the second has them."""
    before = {path: (entry.mode, entry.oid) for path, entry in store.walk(start)}
    edits: dict[bytes, Edit] = {}
    files, others = [], []
    for path, entry in store.walk(end):
        text = path.decode("utf-8", "surrogateescape")
        if before.get(path) == (entry.mode, entry.oid) or not _of_tests(text):
            continue
        edits[path] = replace_with(entry)
        if _PYTEST.fullmatch(PurePosixPath(text).name):
            files.append(text)
        elif is_test(text) and not text.endswith(".py"):
            others.append(text)
    return OwnTests(files=tuple(files), edits=edits, others=tuple(others))


def run_own_tests(
    tests: OwnTests, store: Store, tree: str, *, start: GraderStart, python: str, work: Path
) -> TreeTests:
    """How these tests end on a tree."""
    try:
        laid = edit_tree(store, tree, dict(tests.edits))
        with fresh_folder(work) as room:
            materialise(store, laid, room / "tree")
            return _run(tests.files, room, tree, start=start, python=python)
    except TrialbookError as error:
        return TreeTests(tree=tree, trouble=error.message[:_LONGEST])


def _run(
    files: Sequence[str], room: Path, tree: str, *, start: GraderStart, python: str
) -> TreeTests:
    for name in ("home", "tmp", "output"):
        (room / name).mkdir()
    report = room / "output" / "report.xml"
    argv = (python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no")
    environment = {
        "PATH": f"{Path(python).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(room / "home"),
        "TMPDIR": str(room / "tmp"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    result = start(
        Command(
            argv=(*argv, f"--junitxml={report}", "--", *(f"./{name}" for name in files)),
            cwd=room / "tree",
            environment=environment,
            stdout=room / "stdout.txt",
            stderr=room / "stderr.txt",
        ),
        minutes=_MINUTES,
        writable=(room / "tree", room / "home", room / "tmp", room / "output"),
    )
    data = read_regular(report, MOST_BYTES)
    if data is None or result.ended in _BROKE:
        why = f"pytest ended with status {result.exit_code} and reported nothing"
        if result.ended in _BROKE:
            why = "the tests did not end in time"
        return TreeTests(tree=tree, trouble=why)
    try:
        return TreeTests(tree=tree, tests=read_tests(data))
    except ReportRefusedError as error:
        return TreeTests(tree=tree, trouble=str(error))


def _of_tests(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return is_test(path) or any(part.lower() in _FOLDERS for part in parts[:-1])
