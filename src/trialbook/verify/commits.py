"""The commits that a ledger's head leads to, each read from its object and checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from trialbook.storage.raw_objects import COMMIT, DamagedObject, MissingObject, RawObjects
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings

_ID = 20


class Commit(NamedTuple):
    """What counts of a commit here; ids are 20 bytes. ``whole``: all its parents are there."""

    tree: bytes
    parents: tuple[bytes, ...]
    signed: bool
    whole: bool


def read_commits(
    objects: RawObjects, head: bytes, findings: Findings, tick: Callable[[], None]
) -> dict[bytes, Commit]:
    """Every commit that can be reached from ``head``, parents before children.

    What is missing or damaged becomes a fault, and counts as not there.
    """
    found: dict[bytes, Commit | None] = {}
    pending = [head]
    while pending:
        oid = pending.pop()
        if oid in found:
            continue
        found[oid] = commit = read_commit(objects, oid, findings)
        tick()
        if commit is not None:
            pending += commit.parents
    return _ordered(found, head)


def read_commit(objects: RawObjects, oid: bytes, findings: Findings) -> Commit | None:
    """One commit; None, with a fault, if it is missing or damaged."""
    name = oid.hex()
    try:
        return parse_commit(objects.read(oid, COMMIT))
    except MissingObject as error:
        findings.fault(Code.OBJECT_MISSING, f"the commit {name} {error}", commit=name)
    except (DamagedObject, ValueError) as error:
        findings.fault(Code.OBJECT_DAMAGED, f"the commit {name} {error}", commit=name)
    return None


def parse_commit(data: bytes) -> Commit:
    """Tree and parents as a commit names them, and whether it carries a signature.

    Raises:
        ValueError: it is no commit.
    """
    head = data.partition(b"\n\n")[0]
    lines = head.split(b"\n")
    if not lines[0].startswith(b"tree "):
        raise ValueError("does not begin with a tree")
    parents = []
    for line in lines[1:]:
        if not line.startswith(b"parent "):
            break
        parents.append(_oid(line[7:]))
    return Commit(_oid(lines[0][5:]), tuple(parents), b"\ngpgsig" in head, whole=True)


def _oid(text: bytes) -> bytes:
    oid = bytes.fromhex(text.decode("ascii", "replace"))
    if len(oid) != _ID:
        raise ValueError(f"names {text.decode('ascii', 'replace')!r}, which is no id")
    return oid


def _ordered(found: dict[bytes, Commit | None], head: bytes) -> dict[bytes, Commit]:
    """Parents before children; a commit whose parent is not there is marked."""
    ordered: dict[bytes, Commit] = {}
    pending: list[tuple[bytes, bool]] = [(head, False)]
    while pending:
        oid, parents_done = pending.pop()
        commit = found.get(oid)
        if commit is None or oid in ordered:
            continue
        if parents_done:
            there = tuple(parent for parent in commit.parents if parent in ordered)
            whole = len(there) == len(commit.parents)
            ordered[oid] = commit._replace(parents=there, whole=whole)
            continue
        pending.append((oid, True))
        pending += [(parent, False) for parent in reversed(commit.parents)]
    return ordered
