"""Which distribution a path in a folder of installed packages, or of downloads, is the mark of."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from trialbook.execution.project import canonical
from trialbook.storage.files import read_regular

_MANIFEST = 1_000_000
_METADATA = re.compile(
    rb"(?:.*/)?(?P<name>[\w.-]+?)-(?P<version>\d[^-/]*)(?:-py[\d.]+)?"
    rb"\.(?:dist-info/METADATA|egg-info/PKG-INFO|egg-info)"
)
_ARCHIVE = re.compile(
    rb"(?:.*/)?(?P<name>[\w.-]+?)-(?P<version>\d[\w.!+]*)(?:-[\w.-]+)?"
    rb"\.(?:whl|zip|egg|tar\.(?:gz|bz2|xz)|tgz|crate)"
)
_ENDINGS = (b"/METADATA", b"/PKG-INFO", b".egg-info", b"/package.json")
_ARCHIVES = (b".whl", b".zip", b".egg", b".gz", b".bz2", b".xz", b".tgz", b".crate")
_NODE = re.compile(rb"(?:.*/)?node_modules/(?:@[^/]+/)?[^/]+/package\.json", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A distribution that is there, by its name as in `canonical`."""

    name: str
    version: str


def installed_at(root: Path, path: bytes) -> Installed | None:
    """The distribution that a file below ``root`` stands for, if it does for one.

    Python's metadata and archives of every kind say it in their names; only a Node package's
    manifest has to be read.
    """
    if not path.endswith((*_ENDINGS, *_ARCHIVES)):
        return None
    found = _METADATA.fullmatch(path) or _ARCHIVE.fullmatch(path)
    if found is not None:
        name = found["name"].decode("utf-8", "replace")
        return Installed(name=canonical(name), version=found["version"].decode("utf-8", "replace"))
    if not _NODE.fullmatch(path):
        return None
    data = read_regular(root / os.fsdecode(path), _MANIFEST) or b""
    try:
        manifest = json.loads(data)
        name, version = manifest["name"], manifest["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(name, str) or not isinstance(version, str):
        return None
    return Installed(name=canonical(name), version=version)
