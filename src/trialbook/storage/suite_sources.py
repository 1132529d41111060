"""Where trees come from, as suites write it: snapshots and references."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trialbook.formats.document import Document, Pointer
from trialbook.model.digest import sha256
from trialbook.model.suite import Reference, Snapshot, SnapshotKind
from trialbook.storage.suite_commits import REMOTE, check_commit
from trialbook.storage.suite_reading import Reading, below, value_of


def check_source(reading: Reading, document: Document, at: Pointer, task_folder: Path) -> None:
    """What a snapshot names has to be there, and inside the suite if it is no repository."""
    source = value_of(document, at, dict) or {}
    git = source.get("git")
    if isinstance(git, str) and git and not REMOTE.match(git) and git[0] not in "/~":
        check_commit(reading, document, at, task_folder / git)
    for kind in ("folder", "archive"):
        location = source.get(kind)
        if isinstance(location, str) and location and location[0] not in "/~":
            path = Path(os.path.normpath(task_folder / location))
            _check_inside(reading, document, (*at, kind), path)


def _check_inside(reading: Reading, document: Document, pointer: Pointer, path: Path) -> None:
    is_folder = pointer[-1] == "folder"
    if not path.is_relative_to(Path(os.path.normpath(reading.folder))):
        hint = "keep it inside, in `snapshots/` say"
        reading.at(document, pointer, "the path leads out of the suite", hint)
        return
    if is_folder and reading.exposes(path):
        hint = "give the snapshot a folder of its own"
        reading.at(document, pointer, "the folder holds the private part of a task", hint)
        return
    if not reading.found(document, pointer, path, folder=is_folder):
        return
    source = value_of(document, pointer[:-1], dict) or {}
    inner = below(path, source.get("path"))
    if is_folder and inner is not None:
        reading.found(document, (*pointer[:-1], "path"), inner, folder=True)
    if not is_folder:
        check_digest(reading, document, (*pointer[:-1], "sha256"), path)


def check_digest(reading: Reading, document: Document, pointer: Pointer, archive: Path) -> None:
    """The digest that a file gives of an archive has to be the archive's."""
    digest = value_of(document, pointer, str)
    if digest is None or len(digest) != len(sha256(b"")):
        return
    with archive.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != digest:
        message = "this is not the archive's sha256"
        reading.at(document, pointer, message, f"it has {actual}")


def check_answer(
    reading: Reading, document: Document, at: Pointer, task_folder: Path, owner: str
) -> None:
    """What a reference, a near miss or a variant names has to be there; its files are frozen."""
    short = value_of(document, at, str) is not None
    written = mapping_or_patch(value_of(document, at, str) or value_of(document, at, dict))
    for kind, is_folder in (("patch", False), ("overlay", True)):
        path = below(task_folder, written.get(kind))
        pointer: Pointer = at if short else (*at, kind)
        if path is not None and reading.found(document, pointer, path, folder=is_folder):
            reading.freeze(owner, path)
    check_source(reading, document, at, task_folder)


def mapping_or_patch(written: Any) -> Mapping[str, Any]:  # noqa: ANN401 - whatever was written
    """A reference in its long form."""
    if isinstance(written, str):
        return {"patch": written}
    return written if isinstance(written, dict) else {}


def build_snapshot(written: Mapping[str, Any]) -> Snapshot:
    """A snapshot from a mapping that has no mistakes."""
    kind = next(kind for kind in SnapshotKind if kind.value in written)
    return Snapshot(
        kind=kind,
        location=written[kind.value],
        revision=written.get("commit") or written.get("version"),
        sha256=written.get("sha256"),
        path=written.get("path", "."),
        into=written.get("into", "."),
        remove=tuple(written.get("remove", ())),
        submodules="submodules" in written,
        lfs="lfs" in written,
        links="links" in written,
        case="case" in written,
    )


def build_reference(written: Any) -> Reference | None:  # noqa: ANN401 - text or a mapping
    """A reference from what has no mistakes."""
    if written is None:
        return None
    long = mapping_or_patch(written)
    if "patch" in long:
        return Reference(patch=long["patch"])
    if "overlay" in long:
        return Reference(overlay=long["overlay"])
    return Reference(snapshot=build_snapshot(long))
