"""One reading of a suite: where it is, which plugins there are, and every problem found so far."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trialbook.errors import Problem, TrialbookError
from trialbook.formats.authored import read_document, read_text
from trialbook.formats.document import Document, Pointer
from trialbook.formats.nearest import nearest
from trialbook.formats.schema import check_schema, load_schema, schema_fault
from trialbook.model.digest import sha256
from trialbook.model.paths import path_to_text
from trialbook.registry import Registry

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_RESERVED = frozenset({"incidents", "plan.json", "report.md", "results.csv", "reviews"})

# `tasks/<task>` is a task's folder.
_TASK_DEPTH = 2

# What running tests by hand leaves behind is no part of a suite.
_LITTER = frozenset({"__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".DS_Store"})


_KINDS = (
    (stat.S_ISREG, "a file"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def name_fault(name: str) -> str:
    """Why a suite, a task or a configuration may not be called that; empty if it may."""
    if not _NAME.fullmatch(name) or ".." in name:
        return (
            f"{name!r} is not a usable name; use a-z, 0-9, `.`, `_` and `-`, at most 64 "
            "characters, beginning with a letter or digit, without `..`"
        )
    if name in _RESERVED:
        return f"{name!r} is the name of something else in a run; choose another"
    return ""


class Reading:
    """Reads files of one suite and keeps what is wrong, so that one pass reports everything."""

    def __init__(self, root: Path, name: str, registry: Registry) -> None:
        self.root = root
        self.name = name
        self.folder = root / "suites" / name
        self.registry = registry
        self.problems: list[Problem] = []
        self.requirements: set[Path] = set()
        self._real = self.folder.resolve()
        self._frozen: dict[str, dict[str, Path]] = {}
        self._plugins: dict[tuple[str, str], Any] = {}
        self._schemas: dict[str, dict[str, Any]] = {}

    def shown(self, path: Path) -> str:
        """A path as messages and digests name it: from the ledger's root down."""
        return path_to_text(os.fsencode(os.path.relpath(path, self.root)))

    def add(self, path: Path, message: str, hint: str = "") -> None:
        """A problem with a file or folder as a whole."""
        self.problems.append(Problem(path=self.shown(path), message=message, hint=hint))

    def add_line(self, path: Path, line: int, message: str, hint: str = "") -> None:
        """A problem with one line of a file."""
        shown = self.shown(path)
        self.problems.append(Problem(path=shown, line=line, column=1, message=message, hint=hint))

    def at(
        self,
        document: Document,
        pointer: Pointer,
        message: str,
        hint: str = "",
        **named: Any,  # noqa: ANN401 - passed on to Document.problem
    ) -> None:
        """A problem at a place in a file."""
        self.problems.append(document.problem(pointer, message, hint, **named))

    def document(self, path: Path, kind: str) -> Document | None:
        """Read an authored file and check it against its schema."""
        if not self.confined(path):
            return None
        document, problems = read_document(path, self.shown(path))
        self.problems += problems
        if document is not None:
            schema = self._schemas.setdefault(kind, load_schema(kind))
            self.problems += check_schema(document, schema)
            for pointer in _with_nul(document.data, ()):
                message = "a text may not hold the character U+0000"
                self.at(document, pointer, message, "remove it")
        return document

    def text(self, path: Path) -> str:
        """The text of a file that is there; empty if it cannot be read."""
        text, problem = read_text(path, self.shown(path))
        if problem is not None:
            self.problems.append(problem)
        return text or ""

    def named(self, path: Path, name: str) -> None:
        """The name of a folder or a file has to be usable."""
        if fault := name_fault(name):
            message, _, hint = fault.partition("; ")
            self.add(path, message, hint)

    def found(
        self, document: Document, pointer: Pointer, path: Path, *, folder: bool = False
    ) -> bool:
        """Whether what a file names is there, and inside the suite."""
        kind = "folder" if folder else "file"
        if path.is_dir() if folder else path.is_file():
            return self.confined(path)
        message = f"there is no {kind} `{self.shown(path)}`"
        hint = nearest(path.name, _names(path.parent)) or f"add the {kind}, or correct the path"
        if what := _what_is_there(path):
            message = f"`{self.shown(path)}` is {what}, not a {kind}"
            hint = f"put the {kind} itself there, or correct the path"
        self.at(document, pointer, message, hint)
        return False

    def exposes(self, path: Path) -> bool:
        """Whether a folder that an agent gets would hold the private part of a task."""
        try:
            parts = path.resolve().relative_to(self._real).parts
        except ValueError:
            return self._real.is_relative_to(path.resolve())
        return not parts or (
            parts[0] == "tasks" and (len(parts) <= _TASK_DEPTH or parts[_TASK_DEPTH] == "private")
        )

    def plugin(self, group: str, name: str, document: Document, pointer: Pointer) -> Any:  # noqa: ANN401
        """A plugin that a file names, with a usable schema; None if there is none."""
        key = (group, name)
        if key not in self._plugins:
            self._plugins[key] = self._made(group, name)
        made = self._plugins[key]
        if not isinstance(made, Problem):
            return made
        is_key = group == "graders"
        self.at(document, pointer, made.message, made.hint, key=is_key)
        return None

    def _made(self, group: str, name: str) -> Any:  # noqa: ANN401 - a plugin, or what is wrong
        known = self.registry.names(group)
        try:
            plugin = self.registry.plugin(group, name).make()
        except TrialbookError as error:
            hint = nearest(name, known) if name not in known else ""
            return Problem(path="", message=error.message, hint=hint or error.hint)
        fault = schema_fault(getattr(plugin, "parameters", {}))
        if fault:
            message = f"the plugin {name!r} has a broken schema for its parameters: {fault}"
            return Problem(path="", message=message, hint="report it to the plugin's authors")
        return plugin

    # --- what is frozen ------------------------------------------------------------------------

    def freeze(self, owner: str, path: Path) -> None:
        """Count a file, or every file below a folder, among those of ``owner``."""
        files = self._frozen.setdefault(owner, {})
        for file in self._files(path, frozenset()):
            files[self.shown(file)] = file

    def digests(self, owner: str) -> dict[str, str]:
        """Every frozen file of an owner, from the ledger's root down, with its sha256."""
        files = self._frozen.get(owner, {})
        return {name: _digest(files[name]) for name in sorted(files, key=str.encode)}

    def _files(self, path: Path, above: frozenset[Path]) -> Iterator[Path]:
        if not self.confined(path):
            return
        if path.is_dir():
            real = path.resolve()
            if real in above:
                return
            for child in sorted(path.iterdir()):
                if child.name not in _LITTER and child.suffix != ".pyc":
                    yield from self._files(child, above | {real})
        elif path.is_file() or path.is_symlink():
            yield path
        elif path.exists():
            self.add(path, "neither a file nor a folder", "remove it")

    def confined(self, path: Path) -> bool:
        """Whether a path, links followed, stays in the suite."""
        try:
            inside = path.resolve().is_relative_to(self._real)
        except (OSError, RuntimeError):
            inside = False
        if not inside:
            self.add(
                path, "a symbolic link leads out of the suite", "put the files themselves here"
            )
        return inside


def _with_nul(value: Any, at: Pointer) -> Iterator[Pointer]:  # noqa: ANN401 - any JSON value
    """Where a text stands that no command line, file name or message can hold."""
    if isinstance(value, str):
        if "\0" in value:
            yield at
    elif isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _with_nul(item, (*at, key))


def _what_is_there(path: Path) -> str:
    """What stands at a path that is not what was looked for; empty if nothing does."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            mode = path.stat().st_mode
    except FileNotFoundError:
        return "a link that leads to nothing" if path.is_symlink() else ""
    except OSError as error:
        return "a link that leads to itself" if error.errno == errno.ELOOP else ""
    return next((said for kind, said in _KINDS if kind(mode)), "something else")


def value_of(document: Document, pointer: Pointer, kind: type) -> Any:  # noqa: ANN401
    """The value at a pointer if it is there and of the right kind, else None."""
    value = document.data
    for part in pointer:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    if isinstance(value, bool) and kind is not bool:
        return None
    return value if isinstance(value, kind) else None


def below(base: Path, relative: Any) -> Path | None:  # noqa: ANN401 - whatever was written
    """A path that stays below ``base``, or None (the schema has said why)."""
    if not isinstance(relative, str) or not relative or "\\" in relative or "\0" in relative:
        return None
    if relative.startswith("/") or ".." in relative.split("/"):
        return None
    return base / relative


def _names(folder: Path) -> list[str]:
    try:
        return sorted(child.name for child in folder.iterdir())
    except OSError:
        return []


def _digest(path: Path) -> str:
    if stat.S_ISLNK(path.lstat().st_mode) and not path.exists():
        return sha256(os.fsencode(path.readlink()))
    return sha256(path.read_bytes())


def mapping_of(document: Document) -> Mapping[str, Any]:
    """The top of a file, or nothing if it is no mapping."""
    return document.data if isinstance(document.data, dict) else {}
