"""Lays a folder over a workspace, and deletes from it, in place: never through a link."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from trialbook.api import EnvironmentProblem, path_to_text, text_to_path


def lay_over(overlay: Path, workspace: Path) -> int:
    """Copy every file and link below a folder into the workspace; gives how many.

    A file, link or folder in the way is replaced. Links are copied as links; of a file's mode only
    whether it is executable. Empty folders are nothing, as in git.

    Raises:
        EnvironmentProblem: there is a ``.git`` in it.
        OSError: something cannot be read or written, or is neither file, link nor folder.
    """
    top = os.fsencode(overlay)
    count = 0
    for folder, names, files in os.walk(top, onerror=_stop):
        for name in sorted(files) + sorted(names):
            source = os.path.join(folder, name)  # noqa: PTH118 - names may be no text
            mode = os.lstat(source).st_mode
            path = os.path.relpath(source, top)
            _check(path)
            if not stat.S_ISDIR(mode):
                _place(source, mode, make_way(workspace, path))
                count += 1
    return count


def delete(listed: bytes, workspace: Path) -> int:
    """Delete the files, links and folders that a list names, one a line; gives how many.

    Raises:
        EnvironmentProblem: one of them is not there, lies outside, or lies behind a link.
        ValueError: the list is no text, or a quoted path in it is not well formed.
    """
    paths = [line for line in listed.decode("utf-8").replace("\r\n", "\n").split("\n") if line]
    for text in paths:
        path = text_to_path(text)
        _check(path)
        target = _inside(workspace, path)
        if target is None or not os.path.lexists(target):
            raise EnvironmentProblem(f"delete.txt names {text}, which the workspace does not have")
        _remove(target)
    return len(paths)


def make_way(workspace: Path, path: bytes) -> bytes:
    """Make room for a file: folders above it, nothing at its place; gives the full path."""
    here = os.fsencode(workspace)
    *above, name = path.split(b"/")
    for part in above:
        here = os.path.join(here, part)  # noqa: PTH118
        if not _is_folder(here):
            _remove(here)
            os.mkdir(here, 0o755)  # noqa: PTH102
    target = os.path.join(here, name)  # noqa: PTH118
    _remove(target)
    return target


def _stop(error: OSError) -> None:
    raise error


def _place(source: bytes, mode: int, target: bytes) -> None:
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)  # noqa: PTH115, PTH211
        return
    shutil.copyfile(source, target, follow_symlinks=False)
    os.chmod(target, 0o755 if mode & stat.S_IXUSR else 0o644)  # noqa: PTH101


def _check(path: bytes) -> None:
    parts = path.split(b"/")
    if any(part in (b"", b".", b"..") for part in parts):
        raise EnvironmentProblem(f"{path_to_text(path)} is no path inside the workspace")
    if any(part.lower() == b".git" for part in parts):
        raise EnvironmentProblem(f"the recording touches {path_to_text(path)}; .git is not for it")


def _inside(workspace: Path, path: bytes) -> bytes | None:
    here = os.fsencode(workspace)
    *above, name = path.split(b"/")
    for part in above:
        here = os.path.join(here, part)  # noqa: PTH118
        if not _is_folder(here):
            return None
    return os.path.join(here, name)  # noqa: PTH118


def _is_folder(path: bytes) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114


def _remove(path: bytes) -> None:
    if _is_folder(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)  # noqa: PTH108
