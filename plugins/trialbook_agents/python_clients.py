"""Clients that are Python packages: which interpreter is theirs, and what of the host they need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from trialbook.api import EnvironmentProblem

_SYSTEM = Path("/usr")
_LONGEST_HEAD = 4_096
_PATH = re.compile(r"#!(/[^\n]+)")
# What pip writes where the path is longer than the kernel reads.
_LONG_PATH = re.compile('#!/bin/sh\\n\'\'\'exec\' "?(/[^\\n"]+?)"? "[$]0"')


def interpreter_of(program: Path) -> Path:
    """The interpreter that runs a script which pip installed: the one in its first line.

    Raises:
        EnvironmentProblem: there is none in it.
    """
    try:
        with program.open("rb") as file:
            head = file.read(_LONGEST_HEAD).decode("utf-8", "replace")
    except OSError as error:
        raise EnvironmentProblem(f"{program} cannot be read: {error}") from error
    found = _LONG_PATH.match(head) or _PATH.match(head)
    interpreter = Path(found[1].strip()) if found else Path()
    if not interpreter.name.startswith("python"):
        raise EnvironmentProblem(
            f"{program} is no script of a Python package",
            hint="name the script itself as `program`, not a wrapper of it",
        )
    return interpreter


def ask_package(program: Path, package: str) -> tuple[str, ...]:
    """A command that prints the version of the package that a script belongs to."""
    question = f"import importlib.metadata as m; print(m.version({package!r}))"
    return str(interpreter_of(program)), "-I", "-c", question


def places_of(program: Path) -> tuple[Path, ...]:
    """What has to be shown to a sandbox, so that the script runs there.

    Raises:
        EnvironmentProblem: it is not installed in a folder of its own.
    """
    interpreter = interpreter_of(program)
    environment = interpreter.parent.parent
    settings = environment / "pyvenv.cfg"
    if program.parent != interpreter.parent:
        raise EnvironmentProblem(
            f"{program} is not installed beside its interpreter {interpreter}",
            hint="install it in a virtual environment (`python3 -m venv`, or pipx)",
        )
    base = list(_base(settings)) if settings.is_file() else []
    return tuple(one for one in (environment, *base) if not one.is_relative_to(_SYSTEM))


def package_file(program: Path, name: str) -> Path | None:
    """A file of an installed package, by its path below ``site-packages``; None if there is none.

    Raises:
        EnvironmentProblem: the program is no script of a Python package.
    """
    environment = interpreter_of(program).parent.parent
    found = sorted(environment.glob(f"lib/python3*/*-packages/{name}"))
    return found[0] if found else None


def _base(settings: Path) -> Iterator[Path]:
    """The folder of the interpreter that a virtual environment was made with."""
    for line in settings.read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            yield Path(value.strip()).resolve().parent
