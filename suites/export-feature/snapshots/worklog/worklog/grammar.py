"""How a log is written: from lines to entries."""

import re
from collections.abc import Iterable, Iterator
from datetime import date

from worklog.clock import parse_time
from worklog.entry import Entry
from worklog.errors import LogMistake, WorklogError

_ENTRY = re.compile(r"(?P<start>[\d:]+)-(?P<end>[\d:]+)\s+(?P<project>[^\s#]\S*)(?P<rest>.*)")


def parse(lines: Iterable[str], name: str) -> Iterator[Entry]:
    """The entries of a file, each as soon as its line is read.

    `name` is what mistakes call the file.
    """
    day: date | None = None
    latest = 0
    for number, line in enumerate(lines, start=1):
        text = line.rstrip()
        if not text or text.lstrip().startswith(";"):
            continue
        where = f"{name}:{number}"
        if not text[0].isspace():
            day, latest = _day(text, day, where), 0
            continue
        if day is None:
            raise LogMistake("an entry before the first day", where)
        entry = _entry(text.strip(), day, where)
        if entry.start < latest:
            raise LogMistake("begins before the entry above it ends", where)
        latest = entry.end
        yield entry


def _day(text: str, before: date | None, where: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise LogMistake(f"{text!r} is no day such as 2026-03-02", where) from None
    if before is not None and day <= before:
        raise LogMistake(f"{day} comes after {before}", where)
    return day


def _entry(text: str, day: date, where: str) -> Entry:
    match = _ENTRY.fullmatch(text)
    if match is None:
        raise LogMistake("an entry is START-END PROJECT NOTE", where)
    try:
        start, end = parse_time(match["start"]), parse_time(match["end"])
    except WorklogError as problem:
        raise LogMistake(str(problem), where) from None
    if end <= start:
        raise LogMistake("ends before it begins; past midnight, write two entries", where)
    words = match["rest"].split()
    tags = tuple(word[1:] for word in words if word.startswith("#") and len(word) > 1)
    note = " ".join(word for word in words if not word.startswith("#"))
    return Entry(day, start, end, match["project"], note, tags)
