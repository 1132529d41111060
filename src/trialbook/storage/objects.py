"""What git stores, as plain values: entries of trees, who and when, what a commit says."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

DIRECTORY = 0o040000
GITLINK = 0o160000
SYMLINK = 0o120000
EXECUTABLE = 0o100755
REGULAR = 0o100644

_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OID = re.compile(r"[0-9a-f]{40}")


def is_oid(text: str) -> bool:
    """Whether this is a full object id as git writes it."""
    return _OID.fullmatch(text) is not None


class TreeEntry(NamedTuple):
    """One entry of a git tree."""

    name: bytes
    mode: int
    oid: str


class Signature(NamedTuple):
    """Who, and when (seconds since 1970, offset from UTC in seconds)."""

    name: str
    email: str
    seconds: int
    offset: int = 0

    @property
    def line(self) -> bytes:
        """As git writes it in a commit, without what would break the line."""
        return f"{plain_line(self.name)} <{plain_line(self.email)}>".encode("utf-8", "replace")

    @property
    def log_line(self) -> bytes:
        """As git writes it in a reflog."""
        sign = "-" if self.offset < 0 else "+"
        hours, minutes = divmod(abs(self.offset) // 60, 60)
        return self.line + f" {self.seconds} {sign}{hours:02}{minutes:02}".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo:
    """What a commit says. ``seconds`` is the committer's time."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: str
    seconds: int
    message: str


def plain_line(text: str) -> str:
    """A name or an address for the head of a commit: git, too, leaves these characters out."""
    return re.sub(r"[\x00-\x20<>]+", " ", text).strip(" .,:;\"'\\")


def reachable(entries: Callable[[str], Iterable[TreeEntry]], tree: str) -> Iterator[str]:
    """The ids of a tree and everything below it, each once, gitlinks left out.

    ``entries`` gives what is in a tree.
    """
    seen = {tree}
    pending = [tree]
    yield tree
    while pending:
        for entry in entries(pending.pop()):
            if entry.mode == GITLINK or entry.oid in seen:
                continue
            seen.add(entry.oid)
            yield entry.oid
            if entry.mode == DIRECTORY:
                pending.append(entry.oid)


def commit_bytes(
    tree: str,
    parents: Iterable[str],
    author: Signature,
    message: str,
    sign: Callable[[bytes], bytes | None] = lambda _: None,
) -> bytes:
    """A commit by one person as git stores it. ``sign`` gives a signature for its bytes."""
    head = [b"tree %b" % tree.encode()]
    head += [b"parent %b" % parent.encode() for parent in parents]
    head += [b"author %b" % author.log_line, b"committer %b" % author.log_line, b"encoding UTF-8"]
    text = b"\n\n" + message.encode("utf-8", "replace")
    signature = sign(b"\n".join(head) + text)
    if signature:
        head.append(b"gpgsig " + b"\n ".join(signature.split(b"\n")))
    return b"\n".join(head) + text


def blob_oid(data: bytes) -> str:
    """The id that git gives to a blob with these bytes."""
    return _oid("blob", data)


def check_oid(oid: str, type_number: int, data: bytes) -> None:
    """Make sure that an object is what its id stands for.

    Raises:
        ValueError: it is not: cut short, or changed.
    """
    if _oid(_KINDS.get(type_number, ""), data) != oid:
        raise ValueError("its bytes are not those that its id stands for")


def object_id(kind: str, data: bytes) -> bytes:
    """The 20 bytes of the id of an object of this kind."""
    return _hash(kind, data).digest()


def _oid(kind: str, data: bytes) -> str:
    return _hash(kind, data).hexdigest()


def _hash(kind: str, data: bytes) -> hashlib._Hash:
    return hashlib.sha1(b"%b %d\0%b" % (kind.encode(), len(data), data), usedforsecurity=False)
