"""Applying a patch to a folder on disk, without ever passing through a link.

Everything is checked before the first file is touched. Folders on the way are held open by
descriptor, so that a link in their place is an error and not a way out.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.formats.patch import parse_patch
from trialbook.formats.patch_apply import Content, apply_patch
from trialbook.model.paths import path_to_text

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def apply_patch_to_folder(folder: Path, patch: bytes) -> tuple[str, ...]:
    """Change the files of a folder as a git patch says; gives the paths that it touched.

    Strict: every hunk at its exact place with its exact context; binary parts, renames, modes and
    links included. Folders are made as needed, and removed where the patch empties them.

    Raises:
        Refused: the patch is damaged, made for other files, names a path outside the folder or a
            ``.git``, or a link is on the way to one of its files. Nothing has been changed then.
        EnvironmentProblem: the folder cannot be read or written.
    """
    try:
        root = os.open(folder, _FOLDER)
    except OSError as error:
        raise EnvironmentProblem(f"cannot open the folder {folder}: {error.strerror}") from error
    try:
        changes = apply_patch(parse_patch(patch), lambda path: _read(root, path))
        _check_room(root, changes)
        for path, content in changes.items():
            if content is None:
                _remove(root, path)
        for path, content in changes.items():
            if content is not None:
                _write(root, path, content)
    except OSError as error:
        raise EnvironmentProblem(f"cannot apply the patch in {folder}: {error}") from error
    finally:
        os.close(root)
    return tuple(path_to_text(path) for path in sorted(changes))


def _read(root: int, path: bytes) -> Content | None:
    with _parent(root, path) as parent:
        if parent is None:
            return None
        name = path.rpartition(b"/")[2]
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(status.st_mode):
            return None
        if stat.S_ISLNK(status.st_mode):
            return Content(stat.S_IFLNK, os.readlink(name, dir_fd=parent))
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{path_to_text(path)} is neither a file nor a link")
        with os.fdopen(os.open(name, _READ, dir_fd=parent), "rb") as file:
            return Content(status.st_mode, file.read())


@contextlib.contextmanager
def _parent(root: int, path: bytes, *, make: bool = False) -> Iterator[int | None]:
    """The folder that a path is in, open; None if it is not there (or a file or link is)."""
    here: int | None = os.dup(root)
    try:
        for name in path.split(b"/")[:-1]:
            below = _step(here, name, make=make) if here is not None else None
            if here is not None:
                os.close(here)
            here = below
        yield here
    finally:
        if here is not None:
            os.close(here)


def _step(here: int, name: bytes, *, make: bool) -> int | None:
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=here)
    try:
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
    except FileNotFoundError:
        return None
    # Below a link there is nothing, as in git: a patch changes what it names, in its place.
    return os.open(name, _FOLDER, dir_fd=here) if stat.S_ISDIR(status.st_mode) else None


def _check_room(root: int, changes: Mapping[bytes, Content | None]) -> None:
    for path in (path for path, content in changes.items() if content is not None):
        above = path
        while above := above.rpartition(b"/")[0]:
            stays = changes[above] is not None if above in changes else _is_file(root, above)
            if stays:
                raise Refused(
                    f"the patch makes {path_to_text(path)}, but {path_to_text(above)} is no folder",
                    hint="a patch changes files in place, never what a link points to",
                )
        if not _makes_way(root, path, changes):
            raise Refused(f"the patch makes a file of {path_to_text(path)}, which is a folder")


def _is_file(root: int, path: bytes) -> bool:
    with _parent(root, path) as parent:
        if parent is None:
            return False
        try:
            status = os.stat(path.rpartition(b"/")[2], dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return not stat.S_ISDIR(status.st_mode)


def _makes_way(root: int, path: bytes, changes: Mapping[bytes, Content | None]) -> bool:
    """Whether there is no folder at a path, or one that loses all it has."""
    with _parent(root, path + b"/.") as folder:
        if folder is None:
            return True
        names = [os.fsencode(name) for name in os.listdir(folder)]  # noqa: PTH208 - a descriptor
    inside = [path + b"/" + name for name in names]
    return bool(inside) and all(
        below in changes and changes[below] is None
        if _is_file(root, below)
        else _makes_way(root, below, changes)
        for below in inside
    )


def _remove(root: int, path: bytes) -> None:
    """Remove a file, and the folders that it leaves empty."""
    with _parent(root, path) as parent:
        if parent is not None:
            os.unlink(path.rpartition(b"/")[2], dir_fd=parent)
    while path := path.rpartition(b"/")[0]:
        with _parent(root, path) as parent:
            try:
                os.rmdir(path.rpartition(b"/")[2], dir_fd=parent)
            except OSError:
                # Something else is in it: it stays, and so do the folders above.
                return


def _write(root: int, path: bytes, content: Content) -> None:
    name = path.rpartition(b"/")[2]
    with _parent(root, path, make=True) as parent:
        if parent is None:
            raise Refused(f"the folder of {path_to_text(path)} cannot be made")
        with contextlib.suppress(FileNotFoundError):
            # Never written in place: the old file may be a link, or have other names.
            os.unlink(name, dir_fd=parent)
        if stat.S_ISLNK(content.mode):
            os.symlink(content.data, name, dir_fd=parent)
            return
        with os.fdopen(os.open(name, _NEW, dir_fd=parent), "wb") as file:
            file.write(content.data)
            os.fchmod(file.fileno(), 0o755 if content.mode & stat.S_IXUSR else 0o644)
