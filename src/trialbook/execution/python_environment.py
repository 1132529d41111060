"""Virtual environments from requirements: resolved once, held to hashes, the same bytes each time.

Requirements without hashes are resolved first; what that gives is written down with its hashes,
and only that is installed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbook.execution.interpreters import Interpreter
from trialbook.execution.toolchain_log import Steps
from trialbook.model.digest import sha256

_PIP = ("-m", "pip", "--no-input", "--disable-pip-version-check", "--no-color", "--python")
_INSTALL = ("install", "--no-compile", "--progress-bar", "off", "--no-warn-script-location")
_OPTION = re.compile(
    r"(?P<name>-f|-i|--find-links|--index-url|--extra-index-url|--no-index|--trusted-host|--pre|"
    r"--prefer-binary|--only-binary|--no-binary)(?:[ =](?P<value>[^#]*)|$)"
)
_HASHED = re.compile(rb"^[^#\n]*--hash[ =]", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What was installed: each distribution, and the digest of the list that it was held to."""

    packages: tuple[str, ...]
    lock_sha256: str


def make_environment(folder: Path, python: Interpreter, steps: Steps) -> Path:
    """Make an empty virtual environment; gives its interpreter.

    Raises:
        ToolchainFailure: that does not work.
    """
    arguments = ("-I", "-m", "venv", "--without-pip", str(folder))
    steps.run((python.program, *arguments), cwd=folder.parent)
    return folder / "bin" / "python"


def install(python: Path, requirements: Path, room: Path, steps: Steps) -> Installed:
    """Install requirements into a virtual environment.

    Args:
        python: The environment's interpreter.
        requirements: The file; every line pinned.
        room: An empty folder for what is needed on the way.
        steps: Runs the commands.

    Raises:
        ToolchainFailure: it cannot be resolved or installed, or is not what the hashes say.
    """
    data = requirements.read_bytes()
    pip = _pip_for(python, room, steps)
    report = room / "report.json"
    cwd = requirements.parent
    if _HASHED.search(data):
        held = ("--require-hashes", "--report", str(report), "--requirement", str(requirements))
        steps.run((*pip, *_INSTALL, *held), cwd=cwd)
        installed = Installed(packages=tuple(_packages(report)), lock_sha256=sha256(data))
    else:
        asked = ("--dry-run", "--report", str(report), "--requirement", str(requirements))
        steps.run((*pip, *_INSTALL, *asked), cwd=cwd)
        options = _options(data.decode("utf-8", "replace"), cwd)
        (room / "options.txt").write_text("".join(f"{line}\n" for line in options))
        installed = _install_locked(pip, report, room, steps)
    _compile(python, steps)
    return installed


def _pip_for(python: Path, room: Path, steps: Steps) -> tuple[str, ...]:
    """The installer: trialbook's own pip or, for a Python that is too old for it, that one's."""
    own = (sys.executable, *_PIP, str(python))
    if steps.run((*own, "--version"), cwd=room, may_fail=True):
        return own
    steps.run((str(python), "-I", "-m", "venv", str(room / "pip")), cwd=room)
    return (str(room / "pip" / "bin" / "python"), *_PIP, str(python))


def _install_locked(pip: tuple[str, ...], report: Path, room: Path, steps: Steps) -> Installed:
    lines = sorted(map(_locked_line, _chosen(report)))
    lock = "".join(f"{line}\n" for line in lines).encode()
    with steps.log.open("ab") as log:
        log.write(b"# resolved to:\n" + lock)
    hashed = [line for line in lines if " --hash=" in line]
    for name, chosen, held in (
        ("lock.txt", hashed, ("--require-hashes",)),
        # What comes from a repository or a folder has no hash that pip could hold it to.
        ("sources.txt", [line for line in lines if line not in hashed], ()),
    ):
        if chosen:
            path = room / name
            path.write_text("".join(f"{line}\n" for line in chosen), encoding="utf-8")
            words = (*held, "--no-deps", "--requirement", str(room / "options.txt"))
            words = (*words, "--requirement", str(path))
            steps.run((*pip, *_INSTALL, *words), cwd=room)
    return Installed(packages=tuple(_packages(report)), lock_sha256=sha256(lock))


def _options(text: str, folder: Path) -> Iterator[str]:
    """The lines that say where distributions come from; relative folders as whole paths."""
    for line in text.splitlines():
        found = _OPTION.match(line.strip())
        if found is None:
            continue
        value = (found["value"] or "").strip()
        if found["name"] in ("-f", "--find-links") and (folder / value).exists():
            value = str((folder / value).resolve())
        yield f"{found['name']} {value}".strip()


def _compile(python: Path, steps: Steps) -> None:
    """Compile what is installed, with no time in it: the same bytes each time it is prepared."""
    libraries = [str(path) for path in sorted(python.parent.parent.glob("lib/python3*"))]
    mode = ("--invalidation-mode", "unchecked-hash")
    quiet = ("-m", "compileall", "-qq", *mode, *libraries)
    # Files of other versions of the language are in some packages, as templates or for tests.
    steps.run((str(python), "-I", "-S", *quiet), cwd=Path("/"), may_fail=True)


def _chosen(report: Path) -> Iterator[Mapping[str, Any]]:
    yield from json.loads(report.read_bytes()).get("install", ())


def _packages(report: Path) -> list[str]:
    found = (item["metadata"] for item in _chosen(report))
    return sorted(f"{_normal(one['name'])}=={one['version']}" for one in found)


def _locked_line(item: Mapping[str, Any]) -> str:
    """A distribution as a requirement that nothing else can satisfy."""
    about, source = item["metadata"], item["download_info"]
    name, url = _normal(about["name"]), str(source["url"])
    archive = source.get("archive_info", {})
    # The second is how older installers write it.
    digest = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").partition("=")[2]
    if "vcs_info" in source:
        info = source["vcs_info"]
        return f"{name} @ {info['vcs']}+{url}@{info['commit_id']}"
    if not digest:
        return f"{name} @ {url}"
    exact = f"{name} @ {url}" if item.get("is_direct") else f"{name}=={about['version']}"
    return f"{exact} --hash=sha256:{digest}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
