"""Answers about what files say: patterns in their text, values in JSON and YAML."""

from __future__ import annotations

from collections.abc import Sequence

from trialbook.api import Document, Finding, parse_document
from trialbook_graders.answer import Answer, no, seen, unknown, yes
from trialbook_graders.patterns import SEARCH_MINUTES, Found
from trialbook_graders.query import Missing, same, shown, value_at
from trialbook_graders.search import TEXT_LIMIT
from trialbook_graders.structural import FileContains, FileMatches, ValueEquals, quoted
from trialbook_graders.tree import Kind, Place, Tree

DATA_LIMIT = {"json": 10_000_000, "yaml": 200_000}
"""The largest file, in bytes, that a query reads. YAML is slow to read."""

_LOCATED = 50_000


def contains(rule: FileContains, place: Place, found: Found | None) -> Answer:
    """Whether a file's text has the pattern, or has it not; a missing file is a no to both."""
    if place.kind is not Kind.FILE:
        return _no_file(rule.file, place)
    if found is None:
        return _too_slow(rule.pattern, rule.file)
    if found.unread:
        return no(_unread(rule.file, TEXT_LIMIT))
    if found.hits:
        verb = "matches" if rule.wanted else "contains"
        give = yes if rule.wanted else no
        return give(f"{rule.file} {verb} {quoted(rule.pattern)}", *found.hits)
    verb = "match" if rule.wanted else "contain"
    give = no if rule.wanted else yes
    nothing = _nothing(rule.pattern, found, rule.file)
    return give(f"{rule.file} does not {verb} {quoted(rule.pattern)}", nothing)


def file_matches(rule: FileMatches, places: Sequence[Place], found: Found | None) -> Answer:
    """Whether enough of the files that a glob names have the pattern."""
    if found is None:
        return _too_slow(rule.pattern, rule.files)
    files = sum(place.kind is Kind.FILE for place in places)
    links = [place for place in places if place.kind is Kind.LINK]
    message = f"{found.count} of {files} files of {rule.files} match {quoted(rule.pattern)}"
    if found.unread:
        message += f"; {found.unread} too large or not readable"
    if links:
        message += f"; {len(links)} left out as symbolic links"
    if found.count >= rule.at_least:
        return yes(message, *found.hits)
    nothing = _nothing(rule.pattern, found, None)
    message += f"; at least {rule.at_least} asked for"
    return no(message, *found.hits, nothing, *map(seen, links))


def value_equals(rule: ValueEquals, tree: Tree) -> Answer:
    """Whether the value that a query leads to is the one asked for."""
    place = tree.at(rule.file)
    if place.kind is not Kind.FILE:
        return _no_file(rule.file, place)
    limit = DATA_LIMIT[rule.language]
    data = tree.read(place, limit)
    if data is None or len(data) > limit:
        return no(_unread(rule.file, limit))
    document, trouble = _document(data, rule)
    if document is None:
        return no(f"{rule.file} is not {rule.language.upper()}: {trouble}")
    value = value_at(document.data, rule.steps)
    if isinstance(value, Missing):
        here = _finding(document, rule, len(data), value.why)
        return no(f"{rule.query} not found in {rule.file}: {value.why}", here)
    here = _finding(document, rule, len(data), shown(value))
    if same(value, rule.equals):
        return yes(f"{rule.query} is {shown(value)}", here)
    return no(f"{rule.query} is {shown(value)}, not {shown(rule.equals)}", here)


def _no_file(file: str, place: Place) -> Answer:
    if place.kind is Kind.MISSING:
        return no(f"file not found: {file}")
    return no(f"{place.says}; no content was looked at", seen(place))


def _document(data: bytes, rule: ValueEquals) -> tuple[Document | None, str]:
    """What a file of the candidate holds, or what is wrong with it."""
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return None, "not UTF-8"
    document, problems = parse_document(text, rule.file, json_form=rule.language == "json")
    return document, problems[0].message if problems else ""


def _finding(document: Document, rule: ValueEquals, size: int, text: str) -> Finding:
    """Where a value stands. Large JSON files are not read a second time to tell the line."""
    told = rule.language == "yaml" or size <= _LOCATED
    line = document.position(rule.steps)[0] if told else None
    return Finding(text=text, file=rule.file, line=line)


def _nothing(pattern: str, found: Found, file: str | None) -> Finding:
    lines = "1 line" if found.lines == 1 else f"{found.lines} lines"
    return Finding(text=f"looked for {quoted(pattern)} in {lines}, not found", file=file)


def _too_slow(pattern: str, where: str) -> Answer:
    return unknown(
        f"the search for {quoted(pattern)} in {where} took too long and was stopped "
        f"(it got its share of the {SEARCH_MINUTES * 60:g} seconds for all searches)"
    )


def _unread(file: str, limit: int) -> str:
    return f"{file} is not readable, or larger than {limit / 1e6:g} MB"
