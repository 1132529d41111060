"""New suites and tasks: files that pass the check as they are and say what each key is for."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Problem, UserError
from trialbook.formats.authored import read_document
from trialbook.formats.editing import render
from trialbook.formats.schema import SUITE_KINDS, schema_text
from trialbook.model.acceptance import PolicyError, parse_policy
from trialbook.registry import Registry
from trialbook.storage.files import copy_tree, remove_tree, write_atomic
from trialbook.storage.suite_configurations import configuration_files
from trialbook.storage.suite_reading import name_fault, value_of
from trialbook.storage.suites import SUITE_FILE, check_suite, suite_names
from trialbook.storage.task_sources import Source

SCHEMAS_FOLDER = ".schemas"
EXAMPLE_TASK = "greet-strangers"

_SUFFIX = ".in"
_GRADERS = {
    "checks": ("checks: checks.yaml",),
    "acceptance": (
        "acceptance:",
        "    run: pytest",
        "    tests: private/tests",
        "    expect: private/expected.json",
    ),
}
_NO_RECORDING = "Nothing is recorded for this task yet: put files into overlay/ beside this one.\n"
_FIRST_FILES = {"replay": ("stdout.txt", _NO_RECORDING)}
_ANY_FILE = (
    "README.md",
    "Files for the agent in this task. They are copied beside the workspace.\n",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """The files of a new task from the ledger's root down, and what is left to do by hand."""

    files: tuple[Path, ...]
    left: tuple[Problem, ...]


def new_suite(root: Path, name: str, registry: Registry) -> list[Path]:
    """Make a suite with one task and two configurations that run offline.

    Returns:
        The files that were made, from the ledger's root down.

    Raises:
        UserError: the name is not usable, or taken, or a plugin that it needs is missing.
    """
    _usable(name)
    target = root / "suites" / name
    _refuse(root, target)
    with _draft(root / "suites") as draft:
        suite = draft / name
        words = {"suite": name, "task": EXAMPLE_TASK}
        _render(_starter("suite"), suite, words)
        _write_task(suite / "tasks" / EXAMPLE_TASK, _example_words(), ["checks"])
        _render(_starter("example"), suite / "tasks" / EXAMPLE_TASK, words)
        schemas = write_schemas(root)
        _move(root, [(suite, target)])
    if problems := check_suite(root, name, registry):
        # A plugin that the example needs is missing, or another one took its name.
        remove_tree(target)
        raise UserError(problems=problems)
    return sorted([*schemas, *_files_below(root, target)])


def new_task(
    root: Path, suite: str, name: str, registry: Registry, source: Source | None = None
) -> NewTask:
    """Make a task in a suite; with an example snapshot unless a source is given.

    Graders that the suite's policy names get a first file each, and so do configurations whose
    ``files`` have a folder per task.

    Raises:
        UserError: there is no such suite, or the name is not usable or taken.
    """
    _usable(name)
    folder = root / "suites" / suite
    if suite not in suite_names(root):
        known = ", ".join(suite_names(root)) or "none yet; trialbook suite new NAME"
        raise UserError(f"there is no suite named {suite!r}", hint=f"here are: {known}")
    target = folder / "tasks" / name
    _refuse(root, target)
    before = {problem.message for problem in check_suite(root, suite, registry)}
    graders = _wanted_graders(folder)
    with _draft(folder) as draft:
        task = draft / "task"
        words = _example_words() if source is None else _source_words(source)
        _write_task(task, words | {"task": name}, graders)
        _render(_starter("example" if source is None else "bare"), task, words)
        if "acceptance" in graders:
            _render(_starter("acceptance"), task, words)
        if source is not None and source.copy_from is not None:
            copy_tree(source.copy_from, task / "snapshot")
        moves = [*_recordings(folder, name, draft), (task, target)]
        schemas = write_schemas(root)
        _move(root, moves)
    made = [file for _, place in moves for file in _files_below(root, place)]
    left = [one for one in check_suite(root, suite, registry) if one.message not in before]
    return NewTask(files=tuple(sorted([*schemas, *made])), left=tuple(left))


def write_schemas(root: Path) -> list[Path]:
    """Put copies of the schemas where editors find them; gives those that are new or changed."""
    written = []
    for kind in SUITE_KINDS:
        path = root / "suites" / SCHEMAS_FOLDER / f"{kind}.schema.json"
        data = schema_text(kind).encode()
        if not path.is_file() or path.read_bytes() != data:
            write_atomic(path, data)
            written.append(path.relative_to(root))
    return written


def _usable(name: str) -> None:
    if fault := name_fault(name):
        message, _, hint = fault.partition("; ")
        raise UserError(message, hint=hint)


def _refuse(root: Path, target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise UserError(f"{target.relative_to(root)} is there already", hint="choose another name")


CI_SERVICES = ("github", "gitlab")
"""The CI services that there is a template of a job for."""


def ci_template(service: str) -> str:
    """A job that gates changes of instructions, for one of :data:`CI_SERVICES`."""
    return _starter("ci").joinpath(f"{service}.yml").read_text(encoding="utf-8")


PUBLISHERS = {"github": "github.yml", "gitlab": "gitlab.yml", "rsync": "rsync.sh"}
"""The ways to publish a site that there is a template of, each with its file."""


def publish_template(way: str) -> str:
    """What publishes a ledger's site, for one of :data:`PUBLISHERS`."""
    return _starter("publish").joinpath(PUBLISHERS[way]).read_text(encoding="utf-8")


def _starter(part: str) -> Traversable:
    return resources.files("trialbook.storage").joinpath("starter", part)


def _render(source: Traversable, target: Path, words: Mapping[str, str]) -> None:
    """Copy a folder of templates, with ``@word@`` replaced in names and texts."""
    for child in source.iterdir():
        place = target / _filled(child.name.removesuffix(_SUFFIX), words)
        if child.is_dir():
            _render(child, place, words)
        elif child.name.endswith(_SUFFIX):
            text = _filled(child.read_text(encoding="utf-8"), words)
            write_atomic(place, text.encode())


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"@([a-z]+)@", lambda match: words.get(match[1], match[0]), text)


def _write_task(folder: Path, words: Mapping[str, str], graders: Sequence[str]) -> None:
    lines = ["\n  ".join(_GRADERS[grader]) for grader in graders]
    listed = "\n".join(f"  - {line}" for line in lines)
    _render(_starter("task"), folder, {"task": EXAMPLE_TASK} | dict(words) | {"graders": listed})


def _example_words() -> dict[str, str]:
    return {"snapshot": "  folder: snapshot", "contamination": "constructed"}


def _source_words(source: Source) -> dict[str, str]:
    lines = "\n".join(f"  {key}: {render(value)}" for key, value in source.lines.items())
    return {"snapshot": lines, "contamination": "unknown"}


def _wanted_graders(suite_folder: Path) -> list[str]:
    """``checks``, and what the suite's policy names and a first file is known for."""
    document, _ = read_document(suite_folder / SUITE_FILE, SUITE_FILE)
    text = value_of(document, ("accept",), str) if document else None
    try:
        named = parse_policy(text or "").graders
    except PolicyError:  # `suite check` says so; a new task does without
        named = frozenset()
    wanted = [grader for grader in _GRADERS if grader in named]
    return wanted or ["checks"]


def _recordings(suite_folder: Path, task: str, draft: Path) -> list[tuple[Path, Path]]:
    """A first file for each configuration that has a folder per task; what goes where."""
    moves: dict[Path, Path] = {}
    for path in configuration_files(suite_folder):
        document, _ = read_document(path, path.name)
        template = value_of(document, ("files",), str) if document else None
        agent = value_of(document, ("agent",), str) if document else None
        if not template or "{task}" not in template or "{repetition}" in template:
            continue
        target = suite_folder / template.replace("{task}", task)
        if target.exists() or ".." in template or template.startswith("/"):
            continue
        name, text = _FIRST_FILES.get(agent or "", _ANY_FILE)
        made = draft / f"files-{path.stem}"
        write_atomic(made / name, text.encode())
        moves.setdefault(target, made)
    return [(made, target) for target, made in moves.items()]


@contextmanager
def _draft(parent: Path) -> Iterator[Path]:
    """A hidden folder to make everything in before it is moved into place."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=".new-", dir=parent))
    except OSError as error:
        raise EnvironmentProblem(f"cannot write into {parent}: {error.strerror}") from error
    try:
        yield folder
    finally:
        remove_tree(folder)


def _move(root: Path, moves: Sequence[tuple[Path, Path]]) -> None:
    """Move all of them into place, or none."""
    done: list[Path] = []
    try:
        for made, target in moves:
            target.parent.mkdir(parents=True, exist_ok=True)
            _refuse(root, target)
            made.rename(target)
            done.append(target)
    except BaseException as error:
        for target in done:
            remove_tree(target)
        if isinstance(error, OSError):
            raise EnvironmentProblem(f"cannot make the files: {error}") from error
        raise


def _files_below(root: Path, folder: Path) -> list[Path]:
    return [path.relative_to(root) for path in folder.rglob("*") if not path.is_dir()]
