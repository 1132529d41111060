"""Installs the clients that the tests run, at the versions that they are written for.

Run as ``python -m tests.agents.install``. They go into a folder outside the repository
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
    manifest = FOLDER / "node_modules" / package / "package.json"
    return manifest.is_file() and f'"version": "{NPM[package]}"' in manifest.read_text()


def main() -> int:
    if all(installed(package) for package in NPM):
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = [f"{package}@{version}" for package, version in NPM.items()]
    flags = ["--no-fund", "--no-audit", "--loglevel", "error"]
    command = ["npm", "install", "--prefix", str(FOLDER), *flags, *wanted]
    done = shutil.which("npm") is not None and not subprocess.run(command, check=False).returncode
    if not done:
        sys.stderr.write("the clients cannot be installed: their tests are left out\n")
    return 0 if done or not os.environ.get("CI") else 1


if __name__ == "__main__":
    sys.exit(main())
