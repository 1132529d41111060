"""The static report on a change: everything in it that may be there to fool its graders.

Made from two trees and the task, so that the same change gives the same report. What an agent left
is hostile: how much of it is looked at is bounded, and what was not is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import ChangedFile
from trialbook.grading.tampering.lines import in_lines
from trialbook.grading.tampering.look import TEXT_BYTES, Looked, text_of
from trialbook.grading.tampering.paths import in_paths, leaving
from trialbook.grading.tampering.private import Private, in_private
from trialbook.grading.tampering.python_code import in_python
from trialbook.model.evidence import KINDS, Sighting, bounded
from trialbook.model.paths import text_to_path
from trialbook.model.suite import Task
from trialbook.storage.files import read_regular
from trialbook.storage.repository import DIRECTORY, GITLINK, SYMLINK, TreeEntry
from trialbook.storage.trees import Objects

MOST_FILES = 2000
"""How many changed files are looked into."""

MOST_BYTES = 20_000_000
"""And how much of them in all, in bytes."""

MOST_LINES = 300_000
"""And in lines."""

_OPEN_BYTES = 100_000_000
_PRIVATE = "private"
_PRIVATE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TamperSubject:
    """A change to report on: its trees, its files, and the task with its folder."""

    task: Task
    task_folder: Path
    baseline: str
    candidate: str
    changed: Sequence[ChangedFile]


def tamper_report(subject: TamperSubject, objects: Objects) -> tuple[Sighting, ...]:
    """What was seen in a change, with severities by default, bounded in number."""
    return bounded(_seen(subject, objects))


def protected_paths(task: Task) -> tuple[str, ...]:
    """The patterns that a task protects: its own, and those of its graders."""
    found = list(task.protected)
    for use in task.graders:
        protect = use.parameters.get("protect", ())
        if isinstance(protect, list | tuple):
            found += [one for one in protect if isinstance(one, str)]
    return tuple(found)


def _seen(subject: TamperSubject, objects: Objects) -> Iterator[Sighting]:
    protected = protected_paths(subject.task)
    private = Private(
        files=_private_files(subject),
        brief=subject.task.brief,
        open_texts=lambda: _open_texts(subject.baseline, objects),
    )
    trees = _Trees(objects)
    read = lines = 0
    links: dict[bytes, bytes] = {}
    for number, changed in enumerate(subject.changed):
        if number >= MOST_FILES or read > MOST_BYTES or lines > MOST_LINES:
            left = len(subject.changed) - number
            yield _unseen(f"{left} of {len(subject.changed)} changed files were not looked into")
            break
        old_path = changed.old_path or changed.path
        before = trees.at(subject.baseline, old_path)
        after = trees.at(subject.candidate, changed.path)
        if after is not None and after.mode == SYMLINK:
            links[text_to_path(changed.path)] = objects.blob(after.oid)
        old, new = _content(objects, before), _content(objects, after)
        read += len(old or b"") + len(new or b"")
        lines += (new or b"").count(b"\n")
        if new is not None and len(new) > TEXT_BYTES:
            yield _unseen(f"a file of {len(new)} bytes was not looked into", changed.path)
        file = Looked(
            path=changed.path,
            status=changed.status,
            old_path=old_path,
            old=text_of(old),
            new=text_of(new),
        )
        yield from in_paths(file, protected)
        yield from in_lines(file)
        yield from in_python(file)
        yield from in_private(file, private)
    yield from leaving(links)


class _Trees:
    """Finds what stands at paths of trees; each folder is read once."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: dict[str, dict[bytes, TreeEntry]] = {}

    def at(self, tree: str, path: str) -> TreeEntry | None:
        """The file or link at a path, if there is one."""
        here: str | None = tree
        found: TreeEntry | None = None
        for name in text_to_path(path).split(b"/"):
            found = None if here is None else self._folder(here).get(name)
            here = found.oid if found is not None and found.mode == DIRECTORY else None
        return None if found is None or found.mode in (DIRECTORY, GITLINK) else found

    def _folder(self, oid: str) -> dict[bytes, TreeEntry]:
        if oid not in self._known:
            self._known[oid] = {entry.name: entry for entry in self._objects.tree(oid)}
        return self._known[oid]


def _content(objects: Objects, entry: TreeEntry | None) -> bytes | None:
    return None if entry is None or entry.mode == SYMLINK else objects.blob(entry.oid)


def _open_texts(tree: str, objects: Objects) -> Iterator[bytes]:
    """The texts of the snapshot, up to a bound."""
    total = 0
    pending = [tree]
    while pending and total < _OPEN_BYTES:
        for _, mode, oid in objects.tree(pending.pop()):
            if mode == DIRECTORY:
                pending.append(oid)
            elif mode not in (SYMLINK, GITLINK):
                text = text_of(objects.blob(oid))
                if text is not None:
                    total += len(text)
                    yield text


def _private_files(subject: TamperSubject) -> dict[str, bytes]:
    """The private files of the task; the authors are trusted, and links are not followed."""
    top = subject.task_folder / _PRIVATE
    found: dict[str, bytes] = {}
    for path in sorted(top.rglob("*")) if top.is_dir() else ():
        data = text_of(read_regular(path, _PRIVATE_BYTES))
        if data is not None:
            found[path.relative_to(subject.task_folder).as_posix()] = data
    return found


def _unseen(detail: str, path: str | None = None) -> Sighting:
    return Sighting(
        kind="not_all_seen", severity=KINDS["not_all_seen"][0], detail=detail, path=path
    )
