"""The folder an agent works in: an exact tree and a fresh repository with one commit, nothing else.

Made once per tree as a template in the cache and unpacked for every trial. The repository holds the
objects of that tree and one commit; it has never been near any other repository.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import BinaryIO

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.execution.baseline import BASELINE_AUTHOR, BASELINE_MESSAGE, write_repository
from trialbook.formats.git_index import IndexEntry, index_bytes
from trialbook.formats.records import RecordError, from_json, to_json
from trialbook.model.paths import path_to_text, text_to_path
from trialbook.model.treepath import name_problem
from trialbook.storage.disk import doing
from trialbook.storage.files import fresh_folder, read_regular, remove_tree, write_atomic
from trialbook.storage.locks import exclusive
from trialbook.storage.objects import blob_oid
from trialbook.storage.repository import (
    DIRECTORY,
    GITLINK,
    REGULAR,
    SYMLINK,
    Store,
    TreeEntry,
)
from trialbook.storage.trees import fresh

_FORMAT = 2
_KEPT = 8
_LIST = "template.json"
_DATA = "template.data"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER_MODE = 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One file or link of a template; its bytes are the next ``size`` of the data file."""

    path: str
    mode: int
    oid: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Listing:
    """What a template holds: folders and files of the tree, then those of the repository.

    One that was read is kept for the next trial, and what follows from it is kept with it.
    ``trees`` are the ids of the tree and of every folder in it.
    """

    format: int
    tree: str
    commit: str
    bytes: int
    sha256: str
    trees: tuple[str, ...]
    folders: tuple[str, ...]
    items: tuple[Item, ...]
    git_folders: tuple[str, ...]
    git_items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A workspace ready to be unpacked. ``files`` counts the files and links of the tree.

    ``objects`` are the ids of everything in the tree.
    """

    folder: Path
    tree: str
    commit: str
    files: int
    objects: frozenset[str]
    listing: Listing = field(repr=False, compare=False)


def template(store: Store, tree: str, cache: Path) -> Template:
    """The template for a tree, made if the cache has none that is whole.

    ``tree`` is what the agent gets: the snapshot with the configuration's instruction files laid
    over it.

    Raises:
        Refused: an entry of the tree cannot stand in a folder.
        EnvironmentProblem: the store lacks part of the tree, or the disk does not do its part.
    """
    top = cache / "templates"
    folder = top / f"{tree}-{_FORMAT}"
    with doing("prepare a workspace in the cache"), exclusive(top / f"{tree}.lock"):
        listing = _read_listing(folder, tree)
        if listing is None or not _is_whole(folder, listing):
            building = top / f"{tree}.building"
            remove_tree(building)
            building.mkdir()
            try:
                listing = _build(store, tree, building)
            except KeyError as error:
                raise EnvironmentProblem(
                    f"the cache lacks a part of the tree {tree}: {error.args[0]}",
                    hint=f"remove {cache} to have everything fetched again",
                ) from error
            remove_tree(folder)
            building.rename(folder)
    return Template(
        folder=folder,
        tree=tree,
        commit=listing.commit,
        files=len(listing.items),
        objects=_objects_of(listing),
        listing=listing,
    )


def unpack(made: Template, destination: Path) -> dict[bytes, IndexEntry]:
    """Write a workspace into a fresh folder: files, repository, and an index that knows them.

    ``destination`` is made, or is an empty folder. Gives what was written, by path.

    Raises:
        Refused: the folder is not empty.
        EnvironmentProblem: the template was damaged after it was made, or the disk is full.
    """
    listing = made.listing
    with fresh(destination) as root, _mapped(made.folder / _DATA, listing.bytes) as data:
        writer = _Writer(root, data)
        entries = writer.write(listing.folders, listing.items)
        writer.write(listing.git_folders, listing.git_items)
        handle = os.open(b".git/index", _NEW_FILE, 0o644, dir_fd=root)
        with os.fdopen(handle, "wb") as file:
            file.write(index_bytes(entries))
    return {entry.path: entry for entry in entries}


class TemplateObjects:
    """A store that has the files of a template at hand; each is checked against its id.

    For trees that are much like the template's: most of what is asked for is one read of memory.
    """

    def __init__(self, made: Template, store: Store) -> None:
        self._made = made
        self._store = store
        self._places = _places_of(made.listing)

    def tree(self, oid: str) -> list[TreeEntry]:
        """The entries of a tree.

        Raises:
            KeyError: there is no such object.
        """
        known = _trees_of(self._made.listing).get(oid)
        return self._store.tree(oid) if known is None else list(known)

    def blob(self, oid: str) -> bytes:
        """The bytes of a blob.

        Raises:
            KeyError: there is no such object.
        """
        at, size = self._places.get(oid, (0, 0))
        if size:
            data = self._data[at : at + size]
            if blob_oid(data) == oid:
                return data
        return self._store.blob(oid)

    @cached_property
    def _data(self) -> bytes | mmap.mmap:
        # Whatever has become of it meanwhile, the store has everything, too.
        with suppress(OSError, ValueError), (self._made.folder / _DATA).open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return b""


@lru_cache(maxsize=_KEPT)
def _objects_of(listing: Listing) -> frozenset[str]:
    """The ids of everything in the tree."""
    return frozenset((*listing.trees, *(item.oid for item in listing.items)))


@lru_cache(maxsize=_KEPT)
def _places_of(listing: Listing) -> dict[str, tuple[int, int]]:
    """Where in the data the files of the tree are, by their ids: from which byte, and how many."""
    found: dict[str, tuple[int, int]] = {}
    at = 0
    for item in listing.items:
        found[item.oid] = at, item.size
        at += item.size
    return found


@lru_cache(maxsize=_KEPT)
def _trees_of(listing: Listing) -> dict[str, list[TreeEntry]]:
    """The entries of the tree and of every folder in it, by their ids."""
    oids = dict(zip(("", *listing.folders), listing.trees, strict=True))
    found: dict[str, list[TreeEntry]] = {oid: [] for oid in listing.trees}
    first: dict[str, str] = {}
    inside = [(path, DIRECTORY, oid) for path, oid in oids.items() if path]
    inside += [(item.path, item.mode, item.oid) for item in listing.items]
    for path, mode, oid in inside:
        folder, _, name = path.rpartition("/")
        parent = oids[folder]
        # Two folders with the same content are one tree.
        if first.setdefault(parent, folder) == folder:
            found[parent].append(TreeEntry(text_to_path(name), mode, oid))
    for entries in found.values():
        entries.sort(key=lambda entry: entry.name + b"/" * (entry.mode == DIRECTORY))
    return found


class _Writer:
    """Writes the files of a template below an open folder, in the order of the data."""

    def __init__(self, root: int, data: memoryview) -> None:
        self._root = root
        self._data = data
        self._at = 0

    def write(self, folders: tuple[str, ...], items: tuple[Item, ...]) -> list[IndexEntry]:
        """Write folders and files; gives the index entries of the files."""
        for folder in folders:
            # Folders are made here and now: nothing on the way can be a link.
            path = text_to_path(folder)
            os.mkdir(path, dir_fd=self._root)
            os.chmod(path, _FOLDER_MODE, dir_fd=self._root)
        return [self._item(item) for item in items]

    def _item(self, item: Item) -> IndexEntry:
        path = text_to_path(item.path)
        data = self._data[self._at : self._at + item.size]
        self._at += item.size
        # One fixed time for all: older than the index, so that git never has to look twice.
        moment = (BASELINE_AUTHOR.seconds, BASELINE_AUTHOR.seconds)
        if item.mode == SYMLINK:
            os.symlink(bytes(data), path, dir_fd=self._root)
            os.utime(path, moment, dir_fd=self._root, follow_symlinks=False)
            status = os.stat(path, dir_fd=self._root, follow_symlinks=False)
            return IndexEntry(path, item.mode, item.oid, status)
        permissions = item.mode & 0o777
        handle = os.open(path, _NEW_FILE, permissions, dir_fd=self._root)
        try:
            while data:
                data = data[os.write(handle, data) :]
            os.utime(handle, moment)
            status = os.fstat(handle)
            if status.st_mode & 0o777 != permissions:
                # The operator's umask took some away.
                os.fchmod(handle, permissions)
                status = os.fstat(handle)
            return IndexEntry(path, item.mode, item.oid, status)
        finally:
            os.close(handle)


@contextmanager
def _mapped(path: Path, size: int) -> Iterator[memoryview]:
    """The bytes of a template, not copied into memory."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size != size:
            raise EnvironmentProblem(
                f"the template {path.parent} is damaged", hint="remove that folder and try again"
            )
        # Not closed here: the traceback of an error still holds parts of it, and closing would
        # raise an error of its own in the place of "no space left".
        yield memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _read_listing(folder: Path, tree: str) -> Listing | None:
    """What a template says that it holds, or None if it is not there, or damaged."""
    raw = read_regular(folder / _LIST)
    if raw is None:
        return None
    digest, _, body = raw.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        return None
    listing = _parsed(body)
    if listing is None or (listing.format, listing.tree) != (_FORMAT, tree):
        return None
    return listing


@lru_cache(maxsize=_KEPT)
def _parsed(body: bytes) -> Listing | None:
    try:
        return from_json(Listing, body, _LIST)
    except RecordError:
        return None


def _is_whole(folder: Path, listing: Listing) -> bool:
    try:
        with (folder / _DATA).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == listing.sha256
    except OSError:
        return False


def _build(store: Store, tree: str, folder: Path) -> Listing:
    commit = store.add_commit(tree, (), BASELINE_AUTHOR, BASELINE_MESSAGE)
    with (folder / _DATA).open("xb") as file, fresh_folder(folder) as scratch:
        data = _Data(file)
        folders: dict[str, str] = {}
        items = tuple(_tree_items(store, tree, data, folders))
        git_folder = scratch / ".git"
        write_repository(store, tree, commit, git_folder)
        git_folders, git_items = _folder_items(scratch, git_folder, data)
    listing = Listing(
        format=_FORMAT,
        tree=tree,
        commit=commit,
        bytes=data.size,
        sha256=data.digest.hexdigest(),
        trees=(tree, *folders.values()),
        folders=tuple(folders),
        items=items,
        git_folders=git_folders,
        git_items=git_items,
    )
    body = to_json(listing)
    digest = hashlib.sha256(body).hexdigest().encode()
    write_atomic(folder / _LIST, digest + b"\n" + body)
    return listing


class _Data:
    """The data file of a template while it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = 0
        self.digest = hashlib.sha256()

    def add(self, data: bytes) -> None:
        """Append one file's bytes."""
        self._file.write(data)
        self.digest.update(data)
        self.size += len(data)


def _tree_items(
    store: Store, tree: str, data: _Data, folders: dict[str, str], prefix: bytes = b""
) -> Iterator[Item]:
    names: set[bytes] = set()
    for name, mode, oid in store.tree(tree):
        path = prefix + name
        problem = name_problem(name) or ("is there twice" if name in names else None)
        if problem or mode == GITLINK:
            raise Refused(f"the tree entry {path_to_text(path)} {problem or 'is a submodule'}")
        names.add(name)
        if mode == DIRECTORY:
            folders[path_to_text(path)] = oid
            yield from _tree_items(store, oid, data, folders, path + b"/")
        else:
            content = store.blob(oid)
            data.add(content)
            yield Item(path=path_to_text(path), mode=mode, oid=oid, size=len(content))


def _folder_items(top: Path, folder: Path, data: _Data) -> tuple[tuple[str, ...], tuple[Item, ...]]:
    folders = [folder.relative_to(top).as_posix()]
    items: list[Item] = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(top).as_posix()
        if path.is_dir():
            folders.append(name)
            continue
        content = path.read_bytes()
        data.add(content)
        # As git has it: objects are read-only, everything else is not.
        mode = 0o100444 if "/objects/" in name else REGULAR
        items.append(Item(path=name, mode=mode, oid="", size=len(content)))
    return tuple(folders), tuple(items)
