"""Structural checks as an author writes them: the types, what each takes, and their mistakes."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialbook.api import Severity
from trialbook_graders.globs import path_mistake
from trialbook_graders.query import QueryError, Step, parse_query, shown

_CLIP = 200


def quoted(pattern: str) -> str:
    """A regular expression as its author wrote it, clipped; no escapes of escapes."""
    return f"'{pattern}'" if len(pattern) <= _CLIP else f"'{pattern[:_CLIP]}…'"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileExists:
    """At least one regular file is at ``path`` (a path or a pattern)."""

    path: str

    @property
    def asks(self) -> str:
        """The question, where the author gave none."""
        return f"Is there a file {self.path}?"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAbsent:
    """Nothing at all is at ``path`` (a path or a pattern)."""

    path: str

    @property
    def asks(self) -> str:
        """The question, where the author gave none."""
        return f"Is there nothing at {self.path}?"


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryExists:
    """A folder is at ``path``."""

    path: str

    @property
    def asks(self) -> str:
        """The question, where the author gave none."""
        return f"Is there a folder {self.path}?"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContains:
    """``pattern`` is found in the text of ``file``, or is not, as ``wanted`` says."""

    file: str
    pattern: str
    wanted: bool

    @property
    def asks(self) -> str:
        """The question, where the author gave none."""
        if self.wanted:
            return f"Does {self.file} contain {quoted(self.pattern)}?"
        return f"Is {self.file} free of {quoted(self.pattern)}?"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMatches:
    """``pattern`` is found in at least ``at_least`` of the files that ``files`` names."""

    files: str
    pattern: str
    at_least: int

    @property
    def asks(self) -> str:
        """The question, where the author gave none."""
        many = "1 file" if self.at_least == 1 else f"{self.at_least} files"
        return f"Is {quoted(self.pattern)} in at least {many} of {self.files}?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueEquals:
    """The value that ``steps`` lead to in a JSON or YAML ``file`` equals ``equals``."""

    file: str
    language: str
    query: str
    steps: tuple[Step, ...]
    equals: Any

    @property
    def asks(self) -> str:
        """The question, where the author gave none."""
        return f"Is {self.query} in {self.file} equal to {shown(self.equals)}?"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSucceeds:
    """The command exits with 0 within ``minutes`` in a copy of the tree."""

    argv: tuple[str, ...]
    minutes: float

    @property
    def asks(self) -> str:
        """The question, where the author gave none."""
        return f"Does `{shlex.join(self.argv)}` succeed?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedOnly:
    """Every changed path is covered by one of ``paths``."""

    paths: tuple[str, ...]

    @property
    def asks(self) -> str:
        """The question, where the author gave none."""
        return f"Does the change stay inside {', '.join(self.paths)}?"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChanged:
    """No changed path is covered by one of ``paths``."""

    paths: tuple[str, ...]

    @property
    def asks(self) -> str:
        """The question, where the author gave none."""
        return f"Does the change leave {', '.join(self.paths)} alone?"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxChanged:
    """The change has at most ``count`` files, or lines added and deleted together."""

    what: str
    count: int

    @property
    def asks(self) -> str:
        """The question, where the author gave none."""
        return f"Does the change touch at most {self.count} {self.what}?"


Rule = (
    FileExists
    | FileAbsent
    | DirectoryExists
    | FileContains
    | FileMatches
    | ValueEquals
    | CommandSucceeds
    | ChangedOnly
    | NotChanged
    | MaxChanged
)

DEFAULT_MINUTES = 5.0
"""How long `command_succeeds` may take where the check does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuralCheck:
    """One check of a task: its identity, and the rule that answers it."""

    id: str
    question: str
    severity: Severity
    rule: Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """What is wrong with one value of a checks file, by its place in it."""

    pointer: tuple[str | int, ...]
    message: str
    hint: str = ""


def parse_check(entry: Mapping[str, Any]) -> StructuralCheck:
    """A check from an entry that its schema and `mistakes` accept."""
    rule = _BUILD[entry["type"]](entry)
    question = entry.get("question") or entry.get("description") or rule.asks
    severity = Severity(str(entry.get("severity", Severity.HIGH)).lower())
    return StructuralCheck(
        id=str(entry["id"]), question=str(question), severity=severity, rule=rule
    )


def mistakes(checks: Sequence[Any]) -> Iterator[Mistake]:
    """What the schema cannot see: paths that leave the tree, regexes, queries, ids given twice."""
    seen: dict[str, int] = {}
    for number, entry in enumerate(checks):
        if not isinstance(entry, Mapping):
            continue
        name = str(entry.get("id", ""))
        if name in seen:
            yield Mistake(
                pointer=(number, "id"),
                message=f"the id {name!r} is taken by check {seen[name] + 1} of this file",
                hint="give every check an id of its own",
            )
        elif name:
            seen[name] = number
        for mistake in _in_entry(entry):
            yield Mistake(
                pointer=(number, *mistake.pointer), message=mistake.message, hint=mistake.hint
            )


def _in_entry(entry: Mapping[str, Any]) -> Iterator[Mistake]:
    for key, pointer, path in _paths(entry):
        if problem := path_mistake(path):
            yield Mistake(pointer=pointer, message=f"the path {path!r} {problem}")
        elif "*" in path and key in _PLAIN and entry.get("type") not in _GLOB_PATH_TYPES:
            yield Mistake(
                pointer=pointer,
                message=f"{path!r} is a pattern, and {entry.get('type')} takes one path",
                hint="use file_matches or file_exists for patterns",
            )
    pattern = entry.get("pattern")
    if isinstance(pattern, str) and (problem := regex_mistake(pattern)):
        yield Mistake(pointer=("pattern",), message=f"invalid regular expression: {problem}")
    query = entry.get("query")
    if isinstance(query, str):
        try:
            parse_query(query)
        except QueryError as error:
            yield Mistake(pointer=("query",), message=f"invalid query {query!r}: {error}")
    run = entry.get("run")
    if (isinstance(run, str) and not run.strip()) or (isinstance(run, list) and run[:1] == [""]):
        yield Mistake(pointer=("run",), message="the command is empty")


def regex_mistake(pattern: str) -> str | None:
    """What is wrong with a regular expression, or None."""
    try:
        with warnings.catch_warnings():
            # What Python merely warns of (nested sets) still means what the author wrote.
            warnings.simplefilter("ignore")
            re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)
    return None


# Keys that name paths; those that take only one plain path, unless the type says otherwise.
_PATH_KEYS = ("path", "file", "files")
_PLAIN = frozenset({"path", "file"})
_GLOB_PATH_TYPES = frozenset({"file_exists", "file_absent"})


def _paths(entry: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str | int, ...], str]]:
    for key in _PATH_KEYS:
        if isinstance(entry.get(key), str):
            yield key, (key,), entry[key]
    many = entry.get("paths")
    if isinstance(many, list):
        for number, path in enumerate(many):
            if isinstance(path, str):
                yield "paths", ("paths", number), path


def _value_equals(entry: Mapping[str, Any]) -> ValueEquals:
    return ValueEquals(
        file=entry["file"],
        language=entry["type"].removesuffix("_path"),
        query=entry["query"],
        steps=parse_query(entry["query"]),
        equals=entry["equals"],
    )


def _command(entry: Mapping[str, Any]) -> CommandSucceeds:
    run = entry["run"]
    argv = ("sh", "-c", run) if isinstance(run, str) else tuple(map(str, run))
    return CommandSucceeds(argv=argv, minutes=float(entry.get("minutes", DEFAULT_MINUTES)))


_BUILD: dict[str, Callable[[Mapping[str, Any]], Rule]] = {
    "file_exists": lambda entry: FileExists(path=entry["path"]),
    "file_absent": lambda entry: FileAbsent(path=entry["path"]),
    "directory_exists": lambda entry: DirectoryExists(path=entry["path"]),
    "file_contains": lambda entry: FileContains(
        file=entry["file"], pattern=entry["pattern"], wanted=True
    ),
    "file_not_contains": lambda entry: FileContains(
        file=entry["file"], pattern=entry["pattern"], wanted=False
    ),
    "file_matches": lambda entry: FileMatches(
        files=entry["files"], pattern=entry["pattern"], at_least=entry.get("at_least", 1)
    ),
    "json_path": _value_equals,
    "yaml_path": _value_equals,
    "command_succeeds": _command,
    "changed_only": lambda entry: ChangedOnly(paths=tuple(entry["paths"])),
    "not_changed": lambda entry: NotChanged(paths=tuple(entry["paths"])),
    "max_changed_files": lambda entry: MaxChanged(what="files", count=entry["count"]),
    "max_changed_lines": lambda entry: MaxChanged(what="lines", count=entry["count"]),
}

TYPES = tuple(_BUILD)
"""Every type of check, as written in a checks file."""
