"""Commits of local repositories that tasks start from: they are there, and give nothing away."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from trialbook.errors import TrialbookError
from trialbook.formats.document import Document, Pointer
from trialbook.storage.repository import Repository
from trialbook.storage.suite_reading import Reading, value_of

REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/]+@[^/]+:")
"""How the address of a repository begins that is not a path."""

_FULL_ID = re.compile(r"[0-9a-f]{40}")


def check_commit(reading: Reading, document: Document, at: Pointer, folder: Path) -> None:
    """A local repository has to be one, have the commit, and not hold this suite's tasks in it."""
    place: Pointer = (*at, "git")
    where = os.path.normpath(folder)
    if not folder.is_dir():
        message = f"there is no repository `{where}`"
        reading.at(document, place, message, "the path goes from the task's folder")
        return
    if not ((folder / ".git").exists() or (folder / "HEAD").is_file()):
        message = f"`{where}` is not the top of a git repository"
        reading.at(document, place, message, "name its top, and a folder inside it under `path`")
        return
    commit = value_of(document, (*at, "commit"), str)
    if commit is None or not _FULL_ID.fullmatch(commit):
        return
    try:
        repository = Repository.discover(folder)
        try:
            _check_tree(reading, document, at, repository, commit)
        finally:
            repository.close()
    except TrialbookError as error:
        reading.at(document, place, error.message, error.hint)
    except KeyError:
        reading.at(
            document, (*at, "commit"), "the repository lacks a part of this commit", "fetch it"
        )


def _check_tree(
    reading: Reading, document: Document, at: Pointer, repository: Repository, commit: str
) -> None:
    try:
        tree = repository.store.commit(commit).tree
    except KeyError:
        message = "the repository has no such commit"
        reading.at(document, (*at, "commit"), message, "fetch it, or name one that is there")
        return
    top = repository.work_tree
    tasks = (reading.folder / "tasks").resolve()
    if at[0] != "snapshot" or top is None or not tasks.is_relative_to(top.resolve()):
        return
    inside = PurePosixPath(tasks.relative_to(top.resolve()).as_posix())
    if repository.store.lookup(os.fsencode(inside), tree) is None:
        return
    taken = PurePosixPath(value_of(document, (*at, "path"), str) or ".")
    listed = value_of(document, (*at, "remove"), list) or []
    removed = [taken / item for item in listed if isinstance(item, str)]
    if inside.is_relative_to(taken) and not any(inside.is_relative_to(item) for item in removed):
        message = f"this commit holds the tasks of the suite itself, in `{inside}`"
        hint = "take them out with `remove`, or take another folder with `path`"
        reading.at(document, (*at, "commit"), message, hint)
