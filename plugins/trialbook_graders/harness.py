"""Where acceptance tests run: a copy of the candidate, the frozen tests, a place for the report.

Nothing in here trusts the candidate. Protected files are what they were in the baseline; the tests
are laid last, over whatever the candidate put in their way; the interpreter is ours, isolated, with
an environment made from nothing; the report goes to a folder outside the candidate.
"""

from __future__ import annotations

import hashlib
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbook.api import Command, Evidence, ProcessResult
from trialbook_graders.commands import environment_for
from trialbook_graders.junit import FAILED, ReportError, read_report
from trialbook_graders.protect import ALWAYS, Restored, put, restore, signature
from trialbook_graders.tree import Kind, Place, Tree, copy_folder

DEFAULT_MINUTES = 10.0
"""How long all tests together may take where the task does not say."""

_PYTEST = (
    *("-c", "/dev/null", "-p", "no:cacheprovider", "--continue-on-collection-errors"),
    *("--tb=short", "--color=no", "-q"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The parameters of acceptance, as a task gives them.

    ``place`` is the folder inside the candidate where the tests are laid; None keeps them apart.
    """

    run: str
    tests: str
    expect: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    protect: tuple[str, ...]
    place: str | None
    minutes: float

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Settings:
        """The settings that a task's parameters come to."""
        return cls(
            run=str(parameters.get("run", "pytest")),
            tests=str(parameters.get("tests", "private/tests")).removesuffix("/"),
            expect=str(parameters.get("expect", "private/expected.json")),
            command=tuple(map(str, parameters.get("command", ()))),
            environment=dict(parameters.get("environment", {})),
            protect=tuple(parameters.get("protect", ())),
            place=parameters.get("place"),
            minutes=float(parameters.get("minutes", DEFAULT_MINUTES)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Folders that are ready for the tests.

    ``tests`` is where the private tests lie, ``laid`` what every file of theirs was. ``sentinel``
    is the name of the function that was injected to fail (pytest only).
    """

    room: Path
    candidate: Path
    tests: Path
    report: Path
    laid: Mapping[str, tuple[str, str, bool]]
    sentinel: str | None
    restored: tuple[Restored, ...]


def lay_out(settings: Settings, evidence: Evidence) -> Layout:
    """Copy the candidate, put protected files back, lay the tests, inject the sentinel."""
    room = evidence.scratch
    candidate = room / "candidate"
    copy_folder(evidence.candidate, candidate)
    restored: tuple[Restored, ...] = ()
    if evidence.baseline is not None:
        restored = restore(candidate, evidence.baseline, (*ALWAYS, *settings.protect))
    into = candidate if settings.place else room
    prefix = settings.place.strip("/") if settings.place else "tests"
    source = evidence.task_folder / settings.tests
    laid = {}
    for place in Tree(source).places:
        if place.kind in {Kind.FILE, Kind.LINK}:
            path = f"{prefix}/{place.path}"
            put(into, path, source, place)
            laid[path] = signature(source, place)
    sentinel = None
    if settings.run == "pytest":
        sentinel = f"test_{_token(evidence)}"
        _inject(room, into, f"{prefix}/{sentinel}.py", sentinel)
    (room / "output").mkdir()
    return Layout(
        room=room,
        candidate=candidate,
        tests=into / prefix,
        report=room / "output" / "report.xml",
        laid=laid,
        sentinel=sentinel,
        restored=restored,
    )


def run_tests(settings: Settings, layout: Layout, evidence: Evidence) -> ProcessResult:
    """Run the tests of a layout to their end."""
    names = {
        "{candidate}": str(layout.candidate),
        "{tests}": str(layout.tests),
        "{report}": str(layout.report),
        "{python}": evidence.python,
    }
    if settings.run == "pytest":
        argv = _pytest(settings, layout, evidence.python)
    else:
        argv = tuple(_filled(word, names) for word in settings.command)
    environment = environment_for(evidence.python, layout.room / "process")
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environment["TRIALBOOK_CANDIDATE"] = str(layout.candidate)
    environment |= {name: _filled(text, names) for name, text in settings.environment.items()}
    # A command may have to build the candidate first; tests that are laid inside it write beside
    # themselves. Tests that stay apart have nothing to write there.
    builds = settings.run == "command" or settings.place is not None
    return evidence.start(
        Command(
            argv=argv,
            cwd=layout.candidate if settings.place else layout.tests,
            environment=environment,
            stdout=layout.room / "stdout.txt",
            stderr=layout.room / "stderr.txt",
        ),
        minutes=settings.minutes,
        writable=(
            *((layout.candidate,) if builds else ()),
            layout.room / "output",
            layout.room / "process",
        ),
        readable=(layout.candidate, layout.tests) if not builds else (layout.tests,),
    )


def changed_tests(layout: Layout) -> list[str]:
    """The frozen files that are not what they were before the tests ran."""
    prefix = layout.tests.relative_to(layout.candidate) if _inside(layout) else Path("tests")
    top = layout.candidate if _inside(layout) else layout.room
    tree = Tree(top)
    changed = []
    for path, was in layout.laid.items():
        if _signature_at(tree, path) != was:
            changed.append(str(Path(path).relative_to(prefix)))
    return changed


def pytest_works(evidence: Evidence) -> str | None:
    """None if the interpreter can run a failing test and report it; else what was in the way.

    This tells a broken toolchain from a candidate that keeps the tests from reporting.
    """
    # Not a fixed name: what ran before may have left something there.
    room = Path(tempfile.mkdtemp(dir=evidence.scratch))
    tests = room / "tests"
    tests.mkdir()
    _write_sentinel(tests / "test_control.py", "test_control")
    report = room / "report.xml"
    argv = (
        *(evidence.python, "-I", "-B", "-m", "pytest", *_PYTEST),
        *(f"--rootdir={tests}", f"--confcutdir={tests}", f"--junitxml={report}", str(tests)),
    )
    environment = environment_for(evidence.python, room / "process")
    result = evidence.start(
        Command(
            argv=argv,
            cwd=tests,
            environment=environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdout=room / "stdout.txt",
            stderr=room / "stderr.txt",
        ),
        minutes=1.0,
        writable=(room,),
    )
    try:
        reported = read_report(report)
    except ReportError as error:
        return f"{error} (pytest in {evidence.python} ended with status {result.exit_code})"
    if [test.outcome for test in reported] != [FAILED]:
        return "a test that must fail did not fail"
    return None


def _pytest(settings: Settings, layout: Layout, python: str) -> tuple[str, ...]:
    root = layout.candidate if settings.place else layout.tests
    where: tuple[str, ...] = (f"--rootdir={root}", f"--confcutdir={root}")
    if settings.place is None:
        targets = [str(layout.tests)]
    else:
        importable = [root, root / "src"] if (root / "src").is_dir() else [root]
        where += ("-o", f"pythonpath={' '.join(shlex.quote(str(path)) for path in importable)}")
        names = [Path(path) for path in layout.laid]
        targets = [str(root / name) for name in names if _is_test_file(name.name)]
        targets.append(str(layout.tests / f"{layout.sentinel}.py"))
    return (
        python,
        "-I",
        "-B",
        "-m",
        "pytest",
        *_PYTEST,
        *where,
        f"--junitxml={layout.report}",
        *targets,
    )


def _is_test_file(name: str) -> bool:
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def _signature_at(tree: Tree, path: str) -> tuple[str, str, bool] | None:
    place = tree.at(path)
    if place.kind not in {Kind.FILE, Kind.LINK} or place.at != path:
        return None
    try:
        return signature(tree.root, place)
    except OSError:
        return None


def _inside(layout: Layout) -> bool:
    return layout.tests.is_relative_to(layout.candidate)


def _inject(room: Path, into: Path, path: str, name: str) -> None:
    source = room / "sentinel"
    source.mkdir()
    _write_sentinel(source / "sentinel.py", name)
    put(into, path, source, Place(path="sentinel.py", kind=Kind.FILE, at="sentinel.py"))


def _write_sentinel(path: Path, name: str) -> None:
    text = f'def {name}():\n    raise AssertionError("this test must fail")\n'
    path.write_text(text, encoding="ascii")


def _token(evidence: Evidence) -> str:
    """A name that no candidate can have known: the scratch folder's own is new each time."""
    seed = f"{evidence.scratch}\n{evidence.task}\n".encode() + evidence.patch
    return hashlib.sha256(seed).hexdigest()[:16]


def _filled(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(name, value)
    return text
