"""Files and folders on disk: written whole or not at all; links are never followed.

Everything here holds against what an agent may have left behind: links that point anywhere, folders
without permissions, names that are no text, trees deeper than a path may be long.
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Refused

TEMPORARY_PREFIX = ".trialbook-tmp-"
"""How the names of files begin that `write_atomic` has not finished."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_counter = itertools.count()


def write_atomic(path: Path, data: bytes, mode: int = 0o644, *, durable: bool = False) -> None:
    """Put a file in place, whole or not at all; its folder is made if need be.

    A link at ``path`` is replaced, never followed. ``mode`` is subject to the umask. A process that
    dies in between leaves at most a file whose name begins with `TEMPORARY_PREFIX`. With
    ``durable`` the bytes and the name are on the disk when this returns.

    Raises:
        EnvironmentProblem: the file cannot be written (permissions, space, a folder in its place).
    """
    folder = os.path.dirname(path) or "."  # noqa: PTH120 - pathlib is slow, and this runs often
    try:
        try:
            temporary, descriptor = _create_beside(folder, mode)
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - likewise
            temporary, descriptor = _create_beside(folder, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, path)  # noqa: PTH105 - likewise
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108 - likewise
            raise
        if durable:
            _sync(folder, os.O_DIRECTORY)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write {path}: {error.strerror or error}",
            hint="check the folder's permissions and the space that is left",
        ) from error


def read_regular(path: Path, limit: int | None = None) -> bytes | None:
    """The bytes of a regular file, or None for anything else.

    None stands for: nothing there, not readable, a link, a folder, a device, a pipe, a socket, and
    a file of more than ``limit`` bytes. Only the last part of ``path`` is kept from being a link.
    """
    try:
        descriptor = os.open(path, _READ)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file, suppress(OSError):
        data = file.read() if limit is None else file.read(limit + 1)
        return None if limit is not None and len(data) > limit else data
    return None


def remove_unfinished(folder: Path) -> None:
    """Remove the files that killed writers have not finished; to be called when nobody writes.

    What cannot be removed stays: it is in nobody's way.
    """
    for left in folder.glob(f"{TEMPORARY_PREFIX}*"):
        with suppress(OSError):
            left.unlink()


def remove_tree(path: Path) -> None:
    """Remove a file or a folder with all that is below it; nothing there is fine.

    Links are removed, never followed. Folders without permissions are given them first. Depth does
    not matter: folders below are moved up to the top and emptied there, so that no path gets long.

    Raises:
        EnvironmentProblem: something could not be removed.
    """
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            return
        top = _open_folder(path, None)
        try:
            while _empty_once(top):
                pass
        finally:
            os.close(top)
        path.rmdir()
    except FileNotFoundError:
        return
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot remove {path}: {error.strerror or error}",
            hint="remove the folder by hand; a mount or an immutable file inside it is in the way",
        ) from error


def copy_tree(source: Path, destination: Path) -> None:
    """Copy a folder to a place where nothing is yet.

    Bytes and names are exact, links stay links, and what the owner may execute stays executable.
    Other permission bits, times and hard links are not kept: folders get 755, files 755 or 644.

    Raises:
        Refused: something below is neither a file, a folder nor a link.
        EnvironmentProblem: something cannot be read or written, or ``destination`` is there.
    """
    try:
        destination.mkdir(parents=True)
        pending = [(os.fsencode(source), os.fsencode(destination))]
        while pending:
            here, there = pending.pop()
            with os.scandir(here) as listing:
                entries = list(listing)
            for entry in entries:
                target = os.path.join(there, entry.name)  # noqa: PTH118 - names may be no text
                if entry.is_symlink():
                    os.symlink(os.readlink(entry.path), target)  # noqa: PTH115, PTH211 - likewise
                elif entry.is_dir(follow_symlinks=False):
                    os.mkdir(target, 0o755)  # noqa: PTH102 - likewise
                    pending.append((entry.path, target))
                else:
                    _copy_file(entry, target)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot copy {source} to {destination}: {error}",
            hint="check the permissions and the space that is left",
        ) from error


@contextmanager
def fresh_folder(parent: Path) -> Iterator[Path]:
    """An empty folder below ``parent`` whose name says nothing; removed at the end.

    Raises:
        EnvironmentProblem: it cannot be made, or not be removed.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="", dir=parent))
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot make a folder in {parent}: {error.strerror or error}",
            hint="point TRIALBOOK_WORK to a folder that can be written",
        ) from error
    try:
        yield folder
    finally:
        remove_tree(folder)


def sync(path: Path) -> None:
    """Wait until the bytes of a file are on the disk."""
    _sync(path, os.O_NOFOLLOW)


def _sync(path: Path | str, flags: int) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _create_beside(folder: str, mode: int) -> tuple[str, int]:
    while True:
        temporary = f"{folder}/{TEMPORARY_PREFIX}{os.getpid()}-{next(_counter)}"
        # A name that is taken was left by a dead process that had the same number.
        with suppress(FileExistsError):
            return temporary, os.open(temporary, _CREATE, mode)


def _open_folder(name: Path | str, parent: int | None) -> int:
    """Open a folder for emptying, after giving ourselves permission for it."""
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if os.fstat(handle).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            # By way of the handle, since chmod by name would follow a link that has just come.
            Path(f"/proc/self/fd/{handle}").chmod(stat.S_IRWXU)
    finally:
        os.close(handle)
    return os.open(name, _FOLDER, dir_fd=parent)


def _empty_once(top: int) -> bool:
    """Remove what is directly in a folder; what was inside of that moves up. False if empty."""
    with os.scandir(top) as listing:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
    for name, is_folder in entries:
        if not is_folder:
            os.unlink(name, dir_fd=top)
            continue
        folder = _open_folder(name, top)
        try:
            _hoist(folder, top)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)
    return bool(entries)


def _hoist(folder: int, top: int) -> None:
    """Remove the files of a folder and move its folders into ``top``."""
    with os.scandir(folder) as listing:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
    for name, is_folder in entries:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
            continue
        # Moving a folder needs permission to write in it: its ".." changes.
        os.close(_open_folder(name, folder))
        _move_to_free_name(name, folder, top)


def _move_to_free_name(name: str, folder: int, top: int) -> None:
    taken = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}
    while True:
        try:
            # An empty folder that has the name already is replaced, which is as good.
            os.rename(name, f"{next(_counter)}", src_dir_fd=folder, dst_dir_fd=top)
        except OSError as error:
            if error.errno not in taken:
                raise
        else:
            return


def _copy_file(entry: os.DirEntry[bytes], target: bytes) -> None:
    if not entry.is_file(follow_symlinks=False):
        raise Refused(
            f"{os.fsdecode(entry.path)} is neither a file, a folder nor a link",
            hint="remove pipes, sockets and devices from the folder",
        )
    with os.fdopen(os.open(entry.path, _READ), "rb") as reader:
        mode = os.fstat(reader.fileno()).st_mode
        permissions = 0o755 if mode & stat.S_IXUSR else 0o644
        with os.fdopen(os.open(target, _CREATE, permissions), "wb") as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
