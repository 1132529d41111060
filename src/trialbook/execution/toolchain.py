"""What a task needs to run: Python environments from pinned requirements, prepared once.

An environment is keyed by the digest of its requirements file and the interpreter's version, made
with network under a lock, and only read afterwards.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.model.digest import sha256
from trialbook.model.suite import Toolchain
from trialbook.process import tool
from trialbook.storage.files import remove_tree, write_atomic
from trialbook.storage.locks import exclusive
from trialbook.system import System

_FORMAT = "toolchain/1"
_INSTALL_SECONDS = 900.0


def python_of(
    toolchain: Toolchain | None, *, suite_folder: Path, cache: Path, system: System
) -> str:
    """The interpreter of a toolchain, prepared if this machine has not done so yet.

    Without a toolchain it is the interpreter that runs trialbook.

    Raises:
        EnvironmentProblem: the environment cannot be made; the installer's last lines are told.
    """
    if toolchain is None:
        return sys.executable
    key = sha256(f"{_FORMAT} {platform.python_version()} {toolchain.requirements_sha256}".encode())
    folder = cache / "toolchains" / key[:24]
    ready = folder / "ready"
    python = folder / "bin" / "python"
    if ready.is_file():
        return str(python)
    with exclusive(folder.with_suffix(".lock")):
        if not ready.is_file():
            if folder.exists():
                remove_tree(folder)
            _install(folder, suite_folder / toolchain.requirements, system)
            write_atomic(ready, f"{toolchain.requirements_sha256}\n".encode())
    return str(python)


def bare_python() -> str:
    """The interpreter that trialbook's own environment was made from.

    For agents of tasks without a toolchain: nothing that is installed beside trialbook is theirs to
    see.
    """
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix, "bin", name)
    return str(base) if base.is_file() else sys.executable


def _install(folder: Path, requirements: Path, system: System) -> None:
    steps = (
        ["-m", "venv", "--without-pip", str(folder)],
        [
            *("-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"),
            *("--no-input", "--disable-pip-version-check", "--requirement", str(requirements)),
        ],
    )
    for arguments in steps:
        done = tool(
            [sys.executable, *arguments],
            cwd=folder.parent,
            environment=system.environ,
            timeout=_INSTALL_SECONDS,
        )
        if done.code != 0:
            tail = done.stderr.decode("utf-8", "replace").strip().splitlines()[-6:]
            raise EnvironmentProblem(
                f"the toolchain of {requirements} cannot be installed: " + "\n  ".join(tail),
                hint="it needs the package index once; see that every line is pinned and exists",
            )
