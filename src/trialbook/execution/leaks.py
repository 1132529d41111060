"""Looks for answers where an agent can read: files, repositories, installed packages, documents.

Several answers are looked for at once, so that a folder is read once. No link is followed. What is
found is told with its place, and never quoted: records are public, and answers are not.
"""

from __future__ import annotations

import os
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from trialbook.execution.answer import TEXT_BYTES, Answer, files_of, folded_lines, is_document
from trialbook.execution.object_store import OBJECT, repository_of
from trialbook.execution.packages import Installed, installed_at
from trialbook.execution.project import is_newer
from trialbook.execution.reachable import Place, files_below, inventory_of
from trialbook.model.evidence import Sighting, SightingSeverity
from trialbook.model.paths import path_to_text, text_to_path
from trialbook.storage.files import read_regular
from trialbook.storage.objects import blob_oid
from trialbook.storage.trees import Objects

FEW_LINES = 3
"""As many of an answer's own lines in one file are told, however many there are."""

MANY_LINES = 10
"""As many are a leak."""

SHARE = 0.3
"""And so is this share of them, or more."""

COMMON_FILES = 4
"""A line that more files than this have, each another text, is nobody's own."""

_MOST_BYTES = 50_000_000
_MOST_TOLD = 12
# Files of these kinds are many, and never have a line.
_NO_TEXT = (b".pyc", b".so", b".a", b".o", b".class", b".png", b".gz", b".mo", b".woff2")
_ZIPS = (b".whl", b".zip", b".egg", b".jar")


class _Matched(NamedTuple):
    """Lines of an answer in one text: where that is, and where each line first stands."""

    place: str
    path: bytes
    text: int
    lines: dict[bytes, int]


@dataclass(slots=True, kw_only=True)
class Search:
    """A look for answers. Feed it places, then ask for what was seen of each task's.

    ``files`` counts what was looked at. Without ``lines`` only files of the right size are read.
    With it every text is; in what belongs to the host, though, only those whose path has a name
    that the answer's files or the project have, since the host's libraries are large.
    """

    answers: Sequence[Answer]
    lines: bool
    files: int = 0
    _seen: dict[str, list[Sighting]] = field(default_factory=lambda: defaultdict(list))
    _matched: dict[str, list[_Matched]] = field(default_factory=lambda: defaultdict(list))
    _sizes: dict[int, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    _owners: dict[bytes, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    _akin: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        for answer in self.answers:
            for size in answer.sizes:
                self._sizes[size].append(answer)
            for line in answer.lines or ():
                self._owners[line].append(answer)
            self._akin |= {text_to_path(path).rpartition(b"/")[2] for path in answer.blobs.values()}
            if answer.project is not None:
                name = answer.project.name.rpartition("/")[2]
                self._akin |= {name.encode(), name.replace("-", "_").encode()}

    def folder(self, place: Place, only: Sequence[str] | None = None) -> None:
        """Look at a folder of the host; ``only`` names the tasks whose agents get it.

        Raises:
            EnvironmentProblem: it cannot be read, or is too large.
        """
        if not self.lines:
            self._quickly(place)
            return
        for path, status in files_below(place.root):
            self.files += 1
            shown = place.prefix + path
            installed = installed_at(place.root, path)
            if installed is not None:
                self._package(place.name, shown, installed)
            readable = status.st_size <= TEXT_BYTES and not path.endswith(_NO_TEXT)
            if place.lasting and readable:
                readable = not self._akin.isdisjoint(path.split(b"/"))
            if readable or status.st_size in self._sizes:
                self._file(place, path, only)
            if path.endswith(_ZIPS):
                self._archive(place.name, shown, _joined(place.root, path))

    def _quickly(self, place: Place) -> None:
        """Only what can be an answer's file by its size is read."""
        there = inventory_of(place)
        self.files += there.files
        for path, installed in there.packages.items():
            self._package(place.name, place.prefix + path, installed)
        for size in sorted(self._sizes.keys() & there.by_size.keys()):
            for path in there.by_size[size]:
                self._file(place, path)

    def _file(self, place: Place, path: bytes, only: Sequence[str] | None = None) -> None:
        data = read_regular(_joined(place.root, path), _MOST_BYTES)
        if data is not None:
            self.text(place.name, place.prefix + path, data, only)

    def tree(self, place: str, tree: str, objects: Objects, only: Sequence[str]) -> None:
        """Look at a git tree that the agents of these tasks get."""
        for path, oid in files_of(objects, tree):
            self.files += 1
            self.text(place, path, objects.blob(oid), only)

    def repository(self, place: str, workspace: Path, only: Sequence[str]) -> None:
        """Look at everything that git can give in a folder, reachable from a branch or not.

        Raises:
            ValueError, OSError: the repository is damaged.
        """
        with repository_of(workspace) as found:
            self.ids(place, found.oids, only)
            if self.lines:
                for name, data in found.contents():
                    self.files += 1
                    self.text(f"{place}, by git", name, data, only)

    def ids(self, place: str, oids: AbstractSet[str], only: Sequence[str]) -> None:
        """Look at the ids of what an object store holds."""
        for answer in self.answers:
            for oid in sorted(answer.blobs.keys() & oids) if answer.task in only else ():
                detail = f"{place} has the object {oid}, the reference's {answer.blobs[oid]}"
                self._tell(answer, "answer_object", detail)

    def text(self, place: str, path: bytes, data: bytes, only: Sequence[str] | None = None) -> None:
        """Look at one file's bytes."""
        for answer in self._sizes.get(len(data), ()):
            oid = blob_oid(data)
            if oid in answer.blobs and (only is None or answer.task in only):
                detail = f"in {place}: it is the reference's {answer.blobs[oid]}, byte for byte"
                self._tell(answer, "answer_file", detail, path)
        if not self.lines:
            return
        lines = folded_lines(data)
        shared = self._owners.keys() & set(lines)
        if shared:
            numbers = {line: lines.index(line) + 1 for line in shared}
            for answer in self.answers:
                own = {line: numbers[line] for line in shared if answer in self._owners[line]}
                if own and (only is None or answer.task in only):
                    self._matched[answer.task].append(_Matched(place, path, hash(data), own))
        if lines and (is_document(path) or path.startswith(OBJECT)):
            self._document(place, path, data, only)

    def sightings(self, answer: Answer) -> list[Sighting]:
        """What was seen of an answer, in order of place."""
        found = [*_together(self._seen[answer.task]), *self._by_lines(answer)]
        found.sort(key=lambda one: (one.kind, one.path or "", one.line or 0, one.detail))
        unique = sorted(dict.fromkeys(found), key=lambda one: one.severity.value, reverse=True)
        if len(unique) > _MOST_TOLD:
            first = unique[_MOST_TOLD]
            more = f"and {len(unique) - _MOST_TOLD} more"
            unique[_MOST_TOLD:] = [Sighting(kind=first.kind, severity=first.severity, detail=more)]
        return unique

    def _by_lines(self, answer: Answer) -> Iterator[Sighting]:
        matched = self._matched[answer.task]
        texts = {(one.text, line) for one in matched for line in one.lines}
        counts = Counter(line for _, line in texts)
        total = len(answer.lines or ())
        for one in matched:
            own = {
                line: number for line, number in one.lines.items() if counts[line] <= COMMON_FILES
            }
            share = len(own) >= SHARE * total
            if own and (share or len(own) >= FEW_LINES):
                leak = share or len(own) >= MANY_LINES
                detail = f"in {one.place}: it has {len(own)} of the {total} lines of the answer"
                yield Sighting(
                    kind="answer_lines",
                    severity=SightingSeverity.VIOLATION if leak else SightingSeverity.FLAG,
                    detail=detail,
                    path=path_to_text(one.path),
                    line=min(own.values()),
                )

    def _document(self, place: str, path: bytes, data: bytes, only: Sequence[str] | None) -> None:
        for answer in self.answers:
            if only is not None and answer.task not in only:
                continue
            for pattern, said in answer.names:
                match = pattern.search(data)
                # A release or a number says something only in what is about the project.
                if match and (only is not None or said.startswith("the commit")):
                    line = data.count(b"\n", 0, match.start()) + 1
                    self._tell(answer, "fix_named", f"in {place}: it names {said}", path, line)

    def _package(self, place: str, path: bytes, installed: Installed) -> None:
        for answer in self.answers:
            project = answer.project
            if project is None or project.name != installed.name:
                continue
            said = f"in {place}: {installed.name} {installed.version}"
            if project.version is None:
                detail = f"{said}, and the snapshot does not say which version it is"
                self._tell(answer, "newer_release", detail, path, severity=SightingSeverity.FLAG)
            elif is_newer(installed.version, project.version):
                detail = f"{said}, newer than the snapshot's {project.version}"
                self._tell(answer, "newer_release", detail, path)

    def _archive(self, place: str, path: bytes, file: Path) -> None:
        try:
            with zipfile.ZipFile(file) as archive:
                members = [(one.CRC, one.file_size, one.filename) for one in archive.infolist()]
        except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
            return
        for answer in self.answers:
            for crc, size, name in members:
                if (crc, size) in answer.sums:
                    told = name.encode("utf-8", "backslashreplace").decode()
                    detail = f"in {place}: {told} in it is the reference's {answer.sums[crc, size]}"
                    self._tell(answer, "answer_file", detail, path)

    def _tell(
        self,
        answer: Answer,
        kind: str,
        detail: str,
        path: bytes | None = None,
        line: int | None = None,
        *,
        severity: SightingSeverity = SightingSeverity.VIOLATION,
    ) -> None:
        sighting = Sighting(
            kind=kind,
            severity=severity,
            detail=detail,
            path=None if path is None else path_to_text(path),
            line=line,
        )
        self._seen[answer.task].append(sighting)


def _joined(root: Path, path: bytes) -> Path:
    return root / os.fsdecode(path)


def _together(sightings: list[Sighting]) -> Iterator[Sighting]:
    """The same, with files of the answer that lie in one folder told as one."""
    first: dict[str, Sighting] = {}
    more: Counter[str] = Counter()
    for one in sorted(dict.fromkeys(sightings), key=lambda one: (one.path or "", one.detail)):
        if one.kind != "answer_file" or one.path is None:
            yield one
            continue
        folder = one.path.rpartition("/")[0]
        if folder in first:
            more[folder] += 1
        first.setdefault(folder, one)
    for folder, one in first.items():
        others = f"; {more[folder]} more are beside it" if more[folder] else ""
        yield replace(one, detail=one.detail + others)
