"""The interpreters of Python on this machine: the one of a version, found by running it."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.process import tool

_SECONDS = 20.0
_ASK = (
    "import json, platform, sys; "
    "print(json.dumps([platform.python_version(), getattr(sys, '_base_executable', None) "
    "or sys.executable]))"
)
# Where version managers put them, below a home or at the top.
_BELOW_HOME = (
    ".pyenv/versions/{version}*/bin",
    ".local/share/uv/python/cpython-{version}*/bin",
    ".asdf/installs/python/{version}*/bin",
    ".local/share/mise/installs/python/{version}*/bin",
    ".local/bin",
)
_OTHERS = (
    *("/usr/local/bin", "/usr/bin", "/opt/python/*/bin", "/opt/homebrew/bin"),
    "/opt/hostedtoolcache/Python/{version}*/*/bin",
)
_MANY = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A program that runs Python, outside of any virtual environment, and its full version."""

    program: str
    version: str


def bare_python() -> str:
    """The interpreter that trialbook's own environment was made from.

    For agents of tasks without a toolchain: nothing that is installed beside trialbook is theirs to
    see.
    """
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix, "bin", name)
    return str(base) if base.is_file() else sys.executable


def interpreter(version: str | None, environ: Mapping[str, str]) -> Interpreter:
    """The interpreter of a version, or the one that trialbook was made from.

    Args:
        version: ``3.11`` (any such release) or ``3.11.4``.
        environ: The operator's environment: its ``PATH`` and ``HOME`` say where to look.

    Raises:
        EnvironmentProblem: there is none; says which there are, and how to get one.
    """
    if version is None:
        return Interpreter(program=bare_python(), version=platform.python_version())
    return _found(version, environ.get("PATH", ""), environ.get("HOME") or "/")


@lru_cache(maxsize=64)
def _found(version: str, path: str, home: str) -> Interpreter:
    if _is(version, platform.python_version()):
        return Interpreter(program=bare_python(), version=platform.python_version())
    seen: set[str] = set()
    minor = ".".join(version.split(".")[:2])
    for program in _candidates(version, minor, path, home):
        found = _asked(program, path, home)
        if found is None:
            continue
        if _is(version, found.version):
            return found
        seen.add(found.version)
    near = f"; here is {', '.join(sorted(seen)[:_MANY])}" if seen else ""
    raise EnvironmentProblem(
        f"there is no Python {version} on this machine (looked on the PATH, in /usr, and where "
        f"pyenv, uv, asdf and mise put theirs){near}",
        hint=f"install it: uv python install {version}, or pyenv install {version}, or on Debian "
        f"and Ubuntu apt install python{minor} python{minor}-venv; or change `python` in the "
        "toolchain",
    )


def _candidates(version: str, minor: str, path: str, home: str) -> Iterator[Path]:
    folders = [Path(part) for part in path.split(":") if part.startswith("/")]
    for pattern in _BELOW_HOME:
        folders += sorted(Path(home).glob(pattern.format(version=version)), reverse=True)
    for pattern in _OTHERS:
        folders += sorted(Path("/").glob(pattern.format(version=version).lstrip("/")))
    for folder in dict.fromkeys(folders):
        program = folder / f"python{minor}"
        if program.is_file():
            yield program


def _asked(program: Path, path: str, home: str) -> Interpreter | None:
    """What a program says that it is; None if it is none that runs."""
    try:
        done = tool(
            [str(program), "-I", "-S", "-c", _ASK],
            cwd=Path("/"),
            environment={"PATH": path, "HOME": home},
            timeout=_SECONDS,
        )
        version, base = json.loads(done.stdout) if done.code == 0 else (None, None)
    except (EnvironmentProblem, ValueError):
        return None
    return Interpreter(program=str(base), version=str(version)) if version else None


def _is(asked: str, version: str) -> bool:
    return version == asked or version.startswith(f"{asked}.")
