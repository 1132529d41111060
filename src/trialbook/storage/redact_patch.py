"""Takes secrets out of a patch so that it stays a patch: same files, same hunks, same lines.

Inside of a hunk, the text before and the text after are each looked at as they are in the file, so
that something secret of several lines is found; what goes is then taken from each line for itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from trialbook.errors import Refused
from trialbook.formats.patch import FilePatch, parse_patch
from trialbook.model.paths import path_to_text
from trialbook.storage.redact import Redactor
from trialbook.storage.spans import Span, counted, merged, replaced

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_FILE = b"diff --git "
_BINARY = b"GIT binary patch"
_UNTOUCHED = (b"index ", b"similarity index ", b"literal ", b"delta ")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPatch:
    """A patch without secrets. ``problems`` say what could not be taken out."""

    data: bytes
    counts: Counter[str]
    problems: tuple[str, ...]


@dataclass(slots=True)
class _File:
    """The numbers of the lines of one file's part: its headings, and what it was and becomes."""

    heading: list[int] = field(default_factory=list)
    old: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)


def redact_patch(patch: bytes, redactor: Redactor) -> CleanPatch:
    """Replace what is secret in the lines of a patch.

    What is packed in a binary part cannot be replaced; ``problems`` names it, and what makes the
    result no patch any more.
    """
    lines = patch.split(b"\n")
    places: dict[int, list[Span]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for file in _files(lines):
        seen: set[tuple[int, int, int, int]] = set()
        for numbers, margin in ((file.heading, 0), (file.old, 1), (file.new, 1)):
            for parts in _secret_parts(lines, numbers, margin, redactor):
                first, last = parts[0], parts[-1]
                for number, span in parts:
                    places[number].append(span)
                # What begins and ends in lines that stay is found on both sides, and is one.
                key = (first[0], first[1].start, last[0], last[1].end)
                counts[first[1].kind] += key not in seen
                seen.add(key)
    for number, spans in places.items():
        lines[number] = replaced(lines[number], merged(spans))
    clean = b"\n".join(lines)
    return CleanPatch(data=clean, counts=+counts, problems=tuple(_problems(patch, clean, redactor)))


def _files(lines: Sequence[bytes]) -> Iterator[_File]:
    file = _File()
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.startswith(_FILE):
            yield file
            file = _File()
        if match := _HUNK.match(line):
            file.heading.append(number)
            number = _hunk(lines, number + 1, match, file)
            continue
        if line == _BINARY:
            number = _past_binary(lines, number + 1)
            continue
        if not line.startswith(_UNTOUCHED):
            file.heading.append(number)
        number += 1
    yield file


def _hunk(lines: Sequence[bytes], number: int, match: re.Match[bytes], file: _File) -> int:
    old, new = (int(count) if count else 1 for count in match.groups())
    while number < len(lines) and (old > 0 or new > 0 or lines[number].startswith(b"\\ ")):
        sign = lines[number][:1]
        if sign != b"\\":
            if sign != b"+":
                file.old.append(number)
                old -= 1
            if sign != b"-":
                file.new.append(number)
                new -= 1
        number += 1
    return number


def _past_binary(lines: Sequence[bytes], number: int) -> int:
    while number < len(lines) and not lines[number].startswith(_FILE):
        number += 1
    return number


def _secret_parts(
    lines: Sequence[bytes], numbers: Sequence[int], margin: int, redactor: Redactor
) -> Iterator[list[tuple[int, Span]]]:
    """For each secret in these lines, read as one text: its part of every line that it touches."""
    texts = [lines[number][margin:] for number in numbers]
    starts: list[int] = []
    at = 0
    for text in texts:
        starts.append(at)
        at += len(text) + 1
    for start, end, kind in redactor.spans(b"\n".join(texts)):
        parts = []
        for index in range(bisect_right(starts, start) - 1, bisect_right(starts, end - 1)):
            whole = len(texts[index])
            # A line's end is not ours to take: CRLF stays CRLF.
            longest = whole - 1 if texts[index].endswith(b"\r") else whole
            first, last = max(start - starts[index], 0), min(end - starts[index], longest)
            if first < last:
                parts.append((numbers[index], Span(first + margin, last + margin, kind)))
        if parts:
            yield parts


def _problems(patch: bytes, clean: bytes, redactor: Redactor) -> Iterator[str]:
    try:
        before = parse_patch(patch)
    except Refused:
        # No patch of ours; then it has no structure to keep either.
        return
    for file in before:
        if kinds := _packed(file, redactor):
            name, _ = redactor.redact_text(path_to_text(file.path))
            yield f"change.patch: the binary file {name} holds {', '.join(kinds)}"
    if clean == patch:
        return
    try:
        kept = [_shape(file) for file in parse_patch(clean)] == [_shape(file) for file in before]
    except Refused:
        kept = False
    if not kept:
        yield "change.patch: without what is secret in its headings it is no patch any more"


def _shape(file: FilePatch) -> tuple[object, ...]:
    hunks = [
        (hunk.old_start, hunk.new_start, [line.kind for line in hunk.lines]) for hunk in file.hunks
    ]
    return file.status, file.old_oid, file.new_oid, hunks


def _packed(file: FilePatch, redactor: Redactor) -> Iterable[str]:
    """What is secret in a file's binary parts: names of known values, kinds of credentials."""
    if file.binary is None:
        return ()
    forward, backward = file.binary.forward, file.binary.backward
    found = set(counted(redactor.spans(forward.added())))
    if backward is not None:
        # What was there before is not the agent's, but a known value is secret anywhere.
        found |= set(redactor.known_values(backward.added()))
    return sorted(found)
