"""What a task's answer looks like: the files that only it has, its own lines, what names it.

An answer is the reference against the snapshot. Files that it moves or copies from the snapshot are
no part of it, and neither are lines that stood there before, or that anybody could have written. A
file that it changes is, even if the snapshot has the same bytes elsewhere: that is a leak.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from trialbook.execution.project import Project, is_newer, project_of
from trialbook.model.paths import path_to_text
from trialbook.model.suite import SnapshotKind, Task
from trialbook.storage.repository import DIRECTORY, GITLINK, SYMLINK
from trialbook.storage.trees import Objects

LINE_BYTES = 20
"""The shortest line, white space folded, that can be an answer's own."""

TEXT_BYTES = 2_000_000
"""The largest file, in bytes, whose lines are looked at."""

_SMALL_BYTES = 20
_SNIFFED = 8000
_FEW_NUMBERS = 200
# Lines that say nothing of where they come from.
_COMMON = re.compile(
    rb"(?:from \S+ import\b|import |#include\b|#pragma\b|#!|use [\w:]+|using |package |export \* )"
    rb"|if __name__ == |# ?-\*- |# ?(?:type|noqa|pylint|fmt|pragma)\b|raise NotImplementedError\b"
    rb"|(?:const|let|var) \w+ = require\(|@(?:override|property|staticmethod|classmethod)\b"
    rb"|def __\w+__\(self(?:, \*args, \*\*kwargs)?\)|super\(\)\.__init__\("
    rb"|.{0,4}(?:SPDX-License|Copyright\b|Licensed under)"
)
_RULER = re.compile(rb"[^\w]*\Z|.{0,4}(.)\1{9,}", re.DOTALL)
_DOCUMENT = re.compile(
    rb"(?:.*/)?(?:(?:change|release|new|histor|upgrad)[\w.-]*|[^/]*\.(?:md|rst|adoc))\Z",
    re.IGNORECASE,
)
_BEFORE_NUMBER = rb"(?:/(?:issues|pull|pulls|merge_requests)/|\bgh-|(?<![\w&])#)"
_NUMBER = re.compile(_BEFORE_NUMBER + rb"(\d{2,7})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A task's answer as it can be looked for.

    ``blobs`` maps the id of each file that the reference adds to its path there, ``sizes`` are
    their sizes, ``sums`` the same by CRC-32 and size, as archives list them. ``lines`` are the
    reference's own, white space folded; None if they were not asked for. ``names`` are patterns
    that name the fix, with what each one is in words.
    """

    task: str
    blobs: Mapping[str, str]
    sizes: frozenset[int]
    sums: Mapping[tuple[int, int], str]
    lines: frozenset[bytes] | None = None
    project: Project | None = None
    names: tuple[tuple[re.Pattern[bytes], str], ...] = ()


def answer_of(task: Task, base: str, reference: str, objects: Objects, *, lines: bool) -> Answer:
    """The answer of a task.

    Args:
        task: The task.
        base: The tree of its snapshot.
        reference: The tree of the snapshot with the reference on it.
        objects: Where both are.
        lines: Whether to gather lines and names too: every file of both trees is read for it.
    """
    before = dict(files_of(objects, base))
    known = set(before.values())
    added = {
        path: oid
        for path, oid in files_of(objects, reference)
        if before.get(path) != oid and (path in before or oid not in known)
    }
    contents = {path: objects.blob(oid) for path, oid in added.items()}
    blobs = {
        oid: path_to_text(path)
        for path, oid in added.items()
        if len(contents[path].strip()) >= _SMALL_BYTES
    }
    sums = {
        (zlib.crc32(contents[path]), len(contents[path])): path_to_text(path)
        for path, oid in added.items()
        if oid in blobs
    }
    answer = Answer(
        task=task.name,
        blobs=blobs,
        sizes=frozenset(size for _, size in sums),
        sums=sums,
        project=project_of(task.snapshot, base, objects),
    )
    if not lines:
        return answer
    texts = [objects.blob(oid) for oid in sorted(known)]
    old = {line for text in texts for line in folded_lines(text)}
    new = {
        line
        for content in contents.values()
        for line in folded_lines(content)
        if is_distinctive(line) and line not in old
    }
    return replace(answer, lines=frozenset(new), names=tuple(_names(task, contents, texts)))


def folded_lines(data: bytes) -> list[bytes]:
    """The lines of a text in order, without white space at the ends, and runs of it as one space.

    Of what is no text, or larger than `TEXT_BYTES`, there are none.
    """
    if len(data) > TEXT_BYTES or b"\0" in data[:_SNIFFED]:
        return []
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    # Few lines have runs of white space inside, and much is read.
    lines = [
        b" ".join(line.split()) if b"  " in line or b"\t" in line else line
        for line in map(bytes.strip, data.split(b"\n"))
    ]
    return lines if lines[-1] else lines[:-1]


def is_distinctive(line: bytes) -> bool:
    """Whether a folded line is long enough, and not one that many files have."""
    return len(line) >= LINE_BYTES and not _COMMON.match(line) and not _RULER.match(line)


def is_document(path: bytes) -> bool:
    """Whether a path is that of text for people: a changelog, release notes, a page of docs."""
    return _DOCUMENT.fullmatch(path) is not None


def files_of(objects: Objects, tree: str) -> Iterator[tuple[bytes, str]]:
    """The path and the id of every file in a tree; links are none."""
    pending = [(b"", tree)]
    while pending:
        prefix, oid = pending.pop()
        for name, mode, entry in objects.tree(oid):
            if mode == DIRECTORY:
                pending.append((prefix + name + b"/", entry))
            elif mode not in (SYMLINK, GITLINK):
                yield prefix + name, entry


def _release(task: Task) -> str | None:
    """The release that the reference is, if it is a later one of the same package."""
    reference = task.reference.snapshot if task.reference else None
    if reference is None or reference.kind is not SnapshotKind.PACKAGE:
        return None
    return reference.revision


def _names(
    task: Task, contents: Mapping[bytes, bytes], texts: list[bytes]
) -> Iterator[tuple[re.Pattern[bytes], str]]:
    """What would name the fix: its commit, its release, and the numbers that it writes down."""
    snapshot = task.reference.snapshot if task.reference else None
    if snapshot is not None and snapshot.kind is SnapshotKind.GIT and snapshot.revision:
        revision = snapshot.revision.encode()
        longer = b"".join(b"(?:%c" % digit for digit in revision[7:]) + b")?" * len(revision[7:])
        yield (
            re.compile(rb"(?<![0-9a-zA-Z])" + revision[:7] + longer + rb"(?![0-9a-zA-Z])"),
            (f"the commit of the fix, {snapshot.revision[:7]}"),
        )
    release = _release(task)
    older = task.snapshot.revision if task.snapshot.kind is SnapshotKind.PACKAGE else None
    if release is not None and is_newer(release, older or "0"):
        said = re.escape(release.encode())
        yield (
            re.compile(rb"(?<![\w.])v?" + said + rb"(?!\.?\d)"),
            (f"the release that shipped the fix, {release}"),
        )
    before = {number for text in texts for number in _NUMBER.findall(text)}
    found = {
        number
        for path, content in contents.items()
        if is_document(path)
        for number in _NUMBER.findall(content)
    }
    for number in sorted(found - before)[:_FEW_NUMBERS]:
        pattern = _BEFORE_NUMBER + number + rb"\b"
        yield re.compile(pattern, re.IGNORECASE), f"number {number.decode()} of the fix"
