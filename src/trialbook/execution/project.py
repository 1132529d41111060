"""Which project a snapshot is, and which of two versions is the newer one."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trialbook.model.suite import Snapshot, SnapshotKind
from trialbook.storage.repository import DIRECTORY, GITLINK, SYMLINK
from trialbook.storage.trees import Objects

_LARGEST = 1_000_000
_SEPARATORS = re.compile(r"[-_.]+")
_VERSION = re.compile(
    r"\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<number>\d*))?"
    r"(?P<post>-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?(?P<dev>[-_.]?dev[-_.]?\d*)?",
    re.IGNORECASE,
)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_FINAL = 3
_UNRELEASED = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project by its name, as in `canonical`, and the version of the snapshot if it is known."""

    name: str
    version: str | None


def canonical(name: str) -> str:
    """A distribution's name as it compares: ``Ruamel_YAML`` is ``ruamel-yaml``."""
    return _SEPARATORS.sub("-", name).strip("-").lower()


def project_of(snapshot: Snapshot, tree: str, objects: Objects) -> Project | None:
    """The project of a snapshot: by its source, or by what its own files say."""
    if snapshot.kind is SnapshotKind.PACKAGE:
        return Project(name=canonical(snapshot.location), version=snapshot.revision)
    there = {
        entry.name: entry.oid
        for entry in objects.tree(tree)
        if entry.mode not in (DIRECTORY, SYMLINK, GITLINK)
    }
    for file, read in _READERS.items():
        data = objects.blob(there[file]) if file in there else b""
        if not data or len(data) > _LARGEST:
            continue
        try:
            name, version = read(data.decode("utf-8", "replace"))
        except (ValueError, KeyError, TypeError, RecursionError, configparser.Error):
            continue
        if isinstance(name, str) and name.strip():
            version = version if isinstance(version, str) and _VERSION.match(version) else None
            return Project(name=canonical(name.strip()), version=version)
    return None


def is_newer(version: str, than: str) -> bool:
    """Whether a version is newer; what cannot be read as a version is not."""
    one, other = _key(version), _key(than)
    return one is not None and other is not None and one > other


def _key(version: str) -> tuple[int, tuple[int, ...], int, int, int, int] | None:
    found = _VERSION.match(version)
    if found is None:
        return None
    release = [int(part[:18]) for part in found["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    stage = _STAGES[found["pre"].lower()] if found["pre"] else _FINAL
    if found["dev"] and not found["pre"] and not found["post"]:
        stage = _UNRELEASED
    post = -1 if found["post"] is None else _digits(found["post"])
    dev = _digits(found["dev"]) if found["dev"] else 10**18
    epoch = int((found["epoch"] or "0")[:18])
    return epoch, tuple(release), stage, _digits(found["number"] or ""), post, dev


def _digits(text: str) -> int:
    return int(re.sub(r"\D", "", text)[:18] or "0")


def _metadata(text: str) -> tuple[Any, Any]:
    fields = dict(
        line.split(": ", 1) for line in text.partition("\n\n")[0].splitlines() if ": " in line
    )
    return fields["Name"], fields.get("Version")


def _pyproject(text: str) -> tuple[Any, Any]:
    data = tomllib.loads(text)
    project = data.get("project") or data["tool"]["poetry"]
    return project["name"], project.get("version")


def _setup(text: str) -> tuple[Any, Any]:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return parser["metadata"]["name"], parser["metadata"].get("version")


def _package(text: str) -> tuple[Any, Any]:
    data = json.loads(text)
    return data["name"], data.get("version")


def _cargo(text: str) -> tuple[Any, Any]:
    package = tomllib.loads(text)["package"]
    return package["name"], package.get("version")


_READERS: dict[bytes, Callable[[str], tuple[Any, Any]]] = {
    b"PKG-INFO": _metadata,
    b"pyproject.toml": _pyproject,
    b"setup.cfg": _setup,
    b"package.json": _package,
    b"Cargo.toml": _cargo,
}
