"""Installs the clients that the tests run, at the versions that they are written for.

Run as ``python -m tests.agents.install``; with ``--more``, those that are not always tested too;
with ``--where``, it only prints where they are. They go into a folder outside the repository
(``TRIALBOOK_CLIENTS``, or one below the cache); nothing is done where they are there already. Only
on the build server it is an error that they cannot be installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NPM = {"@anthropic-ai/claude-code": "2.1.332", "@openai/codex": "0.171.0"}
MORE_NPM = {"opencode-ai": "1.18.33", "@google/gemini-cli": "0.61.0"}
MINI = "mini-swe-agent"
AIDER = "aider-chat"
PYTHON = {MINI: "2.4.6", AIDER: "0.86.2"}
# What it needs to ask a model; all that it names would be twice that.
NEEDED = (
    "jinja2==3.1.6",
    "litellm==1.110.2",
    "platformdirs==4.14.9",
    "prompt_toolkit==3.0.53",
    "pydantic==2.14.4",
    "python-dotenv==1.2.4",
    "pyyaml==6.0.4",
    "rich==15.0.0",
    "tenacity==9.2.1",
    "typer==0.29.2",
)


def _folder() -> Path:
    if chosen := os.environ.get("TRIALBOOK_CLIENTS"):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "trialbook-test-clients"


# Where it is when the tests begin, before they change the environment.
FOLDER = _folder()


def program(name: str) -> Path:
    return FOLDER / "node_modules" / ".bin" / name


def installed(package: str) -> bool:
    return _there(FOLDER, package, NPM[package])


def more_program(name: str) -> Path:
    return FOLDER / "more" / "node_modules" / ".bin" / name


def more_installed(package: str) -> bool:
    return _there(FOLDER / "more", package, MORE_NPM[package])


def python_program(package: str, name: str) -> Path:
    return FOLDER / package / "bin" / name


def python_installed(package: str) -> bool:
    """Whether it was installed to the end, at this version."""
    mark = FOLDER / package / "installed"
    return mark.is_file() and mark.read_text() == _mark(package)


def _mark(package: str) -> str:
    """What stands in its folder once it is whole: its version, and of what it was made."""
    return " ".join((PYTHON[package], *(NEEDED if package == MINI else ())))


def folders() -> list[Path]:
    """Where the programs of clients are."""
    return [FOLDER / "node_modules" / ".bin", FOLDER / MINI / "bin"]


def _there(folder: Path, package: str, version: str) -> bool:
    manifest = folder / "node_modules" / package / "package.json"
    return manifest.is_file() and f'"version": "{version}"' in manifest.read_text()


def _npm(folder: Path, packages: dict[str, str]) -> bool:
    if all(_there(folder, package, version) for package, version in packages.items()):
        return True
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [f"{package}@{version}" for package, version in packages.items()]
    flags = ["--no-fund", "--no-audit", "--loglevel", "error"]
    command = ["npm", "install", "--prefix", str(folder), *flags, *wanted]
    return shutil.which("npm") is not None and not subprocess.run(command, check=False).returncode


def _python(package: str, *needed: str) -> bool:
    """A package in a virtual environment of its own; with all it names, or with ``needed`` only."""
    if python_installed(package):
        return True
    folder = FOLDER / package
    wanted = f"{package}=={PYTHON[package]}"
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    pip += ["--disable-pip-version-check", "--no-warn-conflicts"]
    commands = [[sys.executable, "-m", "venv", "--clear", str(folder)]]
    commands += [[*pip, "--no-deps", wanted], [*pip, *needed]] if needed else [[*pip, wanted]]
    done = not any(subprocess.run(command, check=False).returncode for command in commands)
    if done:
        (folder / "installed").write_text(_mark(package))
    return done


def main(arguments: list[str]) -> int:
    if "--where" in arguments:
        sys.stdout.write("".join(f"{folder}\n" for folder in folders()))
        return 0
    done = [_npm(FOLDER, NPM), _python(MINI, *NEEDED)]
    if "--more" in arguments:
        done += [_npm(FOLDER / "more", MORE_NPM), _python(AIDER)]
    if not all(done):
        sys.stderr.write("some clients cannot be installed: their tests are left out\n")
    return 0 if all(done) or not os.environ.get("CI") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
