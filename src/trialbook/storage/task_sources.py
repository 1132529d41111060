"""Where a new task's snapshot comes from, worked out from what a person named."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import UserError
from trialbook.storage.repository import Repository
from trialbook.storage.suite_commits import REMOTE

_FULL_ID = re.compile(r"[0-9a-f]{40}")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_PACKAGE = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[^=\s*]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The lines of a task's ``snapshot`` key, and a folder to copy into the task, if any."""

    lines: Mapping[str, str]
    copy_from: Path | None = None


def folder_source(folder: Path, task_folder: Path) -> Source:
    """A folder: used where it is if it is in the suite already, else copied into the task.

    Raises:
        UserError: it is not a folder, it is a git repository, or it holds the task itself.
    """
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    suite_folder = task_folder.parents[1].resolve()
    place = folder.resolve()
    if suite_folder.is_relative_to(place) or (suite_folder / "tasks").is_relative_to(place):
        raise UserError(
            f"{folder} holds the suite itself", hint="name the folder with the files of the task"
        )
    if place.is_relative_to(suite_folder):
        return Source(lines={"folder": _from_task(place, task_folder)})
    if (folder / ".git").exists():
        raise UserError(
            f"{folder} is a git repository",
            hint="use --git, which takes one commit of it and none of its history",
        )
    return Source(lines={"folder": "snapshot"}, copy_from=folder)


def git_source(location: str, commit: str | None, task_folder: Path) -> Source:
    """A commit of a repository: by default the one that HEAD of a local repository is at.

    Raises:
        UserError: no such repository or commit, or a URL without a full commit id.
        EnvironmentProblem: the folder is not in a git repository.
    """
    if REMOTE.match(location):
        if commit is None or not _FULL_ID.fullmatch(commit):
            raise UserError(
                "a repository by URL needs a full commit id",
                hint="add --commit with all 40 hexadecimal digits",
            )
        return Source(lines={"git": location, "commit": commit})
    if not Path(location).is_dir():
        raise UserError(f"there is no repository {location}")
    repository = Repository.discover(Path(location))
    try:
        found = _commit(repository, commit or "HEAD")
        if found is None:
            raise UserError(
                f"{location} has no commit {commit or 'yet'}",
                hint="name a full commit id or a branch that it has",
            )
        top = (repository.work_tree or repository.common_folder).resolve()
    finally:
        repository.close()
    return Source(lines={"git": _from_task(top, task_folder), "commit": found})


def package_source(requirement: str, sha256: str | None) -> Source:
    """A package's source distribution, as ``NAME==VERSION`` with the digest of the file.

    Raises:
        UserError: not one exact version, or no digest.
    """
    match = _PACKAGE.fullmatch(requirement)
    if match is None:
        raise UserError(f"{requirement!r} is not NAME==VERSION", hint="name one exact version")
    if sha256 is None or not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise UserError(
            "a package needs the sha256 of its source distribution",
            hint="add --sha256 with all 64 hexadecimal digits; `pip hash FILE` prints them",
        )
    return Source(lines={"package": match["name"], "version": match["version"], "sha256": sha256})


def _commit(repository: Repository, name: str) -> str | None:
    """The full id of a commit by id or branch; None if there is none."""
    oid: str | None = name
    if not _FULL_ID.fullmatch(name):
        if ".." in name or not _BRANCH.fullmatch(name):
            return None
        oid = repository.read_ref(name if name == "HEAD" else f"refs/heads/{name}")
    try:
        return None if oid is None else repository.store.commit(oid).oid
    except KeyError:
        return None


def _from_task(place: Path, task_folder: Path) -> str:
    return os.path.relpath(place, task_folder.parents[1].resolve() / "tasks" / task_folder.name)
