"""Large files outside of git's objects, the way Git LFS keeps them: a pointer, and a local store.

Stock ``git lfs`` pushes and fetches what is in the store; nothing here needs it to be installed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trialbook.model.digest import sha256
from trialbook.model.trial import CutFile
from trialbook.storage.files import read_regular, write_atomic

FULL_FOLDER = "full"
"""The folder of a trial that holds pointers, each at the path of the file that it stands for."""

_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n"
    rb"oid sha256:([0-9a-f]{64})\nsize (0|[1-9][0-9]{0,18})\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """What a pointer says: the content's digest and its size in bytes."""

    sha256: str
    size: int

    @property
    def text(self) -> bytes:
        """The file that stands in the tree, byte for byte as git-lfs writes it."""
        return (
            "version https://git-lfs.github.com/spec/v1\n"
            f"oid sha256:{self.sha256}\nsize {self.size}\n"
        ).encode()


def pointer_to(content: bytes) -> Pointer:
    """The pointer to some content."""
    return Pointer(sha256=sha256(content), size=len(content))


def read_pointer(data: bytes) -> Pointer | None:
    """What a file says if it is a pointer in its canonical form, else None."""
    match = _POINTER.fullmatch(data)
    return None if match is None else Pointer(sha256=match[1].decode(), size=int(match[2]))


def cut_problem(file: CutFile, contents: Mapping[str, bytes]) -> str | None:
    """Where a trial's files are not what its record says of a log that was cut, or None.

    Args:
        file: What the record says.
        contents: The trial's files.
    """
    if f"all {file.bytes} bytes have sha256 {file.sha256}".encode() not in contents.get(
        file.path, b""
    ):
        return f"it does not say that it is part of {file.bytes} bytes with sha256 {file.sha256}"
    if file.full is None:
        return None
    if file.full != f"{FULL_FOLDER}/{file.path}":
        return f"its pointer is {file.full}, not {FULL_FOLDER}/{file.path}"
    if contents.get(file.full) != Pointer(sha256=file.sha256, size=file.bytes).text:
        return f"{file.full} is no pointer to {file.bytes} bytes with sha256 {file.sha256}"
    return None


class LargeStore:
    """The local store of a repository, shared by its work trees: ``<git folder>/lfs/objects``."""

    def __init__(self, common_folder: Path) -> None:
        self._objects = common_folder / "lfs" / "objects"

    def path(self, digest: str) -> Path:
        """Where the content with that sha256 is, if it is here."""
        return self._objects / digest[:2] / digest[2:4] / digest

    def add(self, contents: Mapping[str, bytes]) -> None:
        """Put contents into the store, by their sha256; what is there already stays.

        Raises:
            EnvironmentProblem: the store cannot be written.
        """
        for digest, content in contents.items():
            if self.read(digest) != content:
                write_atomic(self.path(digest), content, durable=True)

    def read(self, digest: str) -> bytes | None:
        """The content with that sha256; None if it is not here, or is not what it should be."""
        data = read_regular(self.path(digest))
        return data if data is not None and sha256(data) == digest else None
