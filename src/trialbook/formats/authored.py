"""Authored files: YAML 1.2 (or JSON) to plain values that still know where they were written.

The one door to ruamel.yaml, of which only the parser is used: scalars are resolved here, so that a
value is what it looks like. Numbers are JSON's, ``true``, ``false`` and ``null`` are words of the
format, everything else is text (``yes``, ``010``, ``2026-01-31``). Tags, merge keys and several
documents in one file are refused; aliases are limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from trialbook.errors import Problem
from trialbook.formats.document import Document, Mark, Node
from trialbook.formats.json_text import read_json

MAX_BYTES = 4_000_000
MAX_DEPTH = 50
MAX_ALIASED = 10_000

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+([eE][-+]?[0-9]{1,3})?|[eE][-+]?[0-9]{1,3})")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
_HINTS = (
    ("'\\t'", "indent with spaces, not with tabs"),
    ("mapping values are not allowed", "put text that holds `: ` in quotes, or check the indents"),
    ("could not find expected ':'", "write `key: value`, with a space after the colon"),
    ("cannot start any token", "put text that begins with this character in quotes"),
    ("expected <block end>", "check that the lines of one list or mapping have the same indent"),
    ("end of stream", "a quote or a bracket is not closed"),
    ("stream end", "a quote or a bracket is not closed"),
)


def read_document(path: Path, shown: str) -> tuple[Document | None, list[Problem]]:
    """Read a YAML file, or a JSON file if its name ends in ``.json``.

    Args:
        path: The file.
        shown: Its name in messages.

    Returns:
        The document (None if it cannot be read at all) and every mistake of form. A document may
        come with mistakes: then the first of two equal keys was taken, tags were ignored, ...
    """
    text, problem = read_text(path, shown)
    if text is None:
        return None, [] if problem is None else [problem]
    return parse_document(text, shown, json_form=path.suffix == ".json")


def read_text(path: Path, shown: str) -> tuple[str | None, Problem | None]:
    """The text of a regular UTF-8 file, or what is wrong with it."""
    try:
        if not path.exists():
            return None, Problem(path=shown, message="there is no such file")
        if not path.is_file():
            return None, Problem(path=shown, message="this is not a file")
        if path.stat().st_size > MAX_BYTES:
            limit = f"{MAX_BYTES // 1_000_000} MB"
            return None, Problem(path=shown, message=f"the file is larger than {limit}")
        data = path.read_bytes()
    except OSError as error:
        return None, Problem(path=shown, message=f"cannot be read: {error.strerror}")
    try:
        return data.decode("utf-8").removeprefix("\ufeff"), None
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        return None, Problem(
            path=shown,
            line=before.count("\n") + 1,
            column=len(before) - before.rfind("\n"),
            message=f"not UTF-8: byte 0x{data[error.start]:02x}",
            hint="save the file as UTF-8",
        )


def parse_document(
    text: str, shown: str, *, json_form: bool = False
) -> tuple[Document | None, list[Problem]]:
    """The same for a text that is at hand."""
    if json_form:
        return _parse_json(text, shown)
    root, problems = parse_nodes(shown, text)
    if root is None:
        return None, problems
    return Document(shown, root.plain(), lambda: root), problems


def parse_nodes(shown: str, text: str) -> tuple[Node | None, list[Problem]]:
    """The top node of a YAML text and the mistakes of form; None if it is not YAML at all."""
    composer = _Composer(shown)
    try:
        composer.feed(YAML(typ="safe", pure=True).parse(text))
    except _Stop as stop:
        return None, [*composer.problems, stop.problem]
    except MarkedYAMLError as error:
        return None, [*composer.problems, _syntax(shown, error)]
    except ReaderError as error:
        return None, [*composer.problems, _character(shown, text, error)]
    # ruamel's scanner has let plain Python errors through for some malformed texts.
    except (YAMLError, ValueError, IndexError, KeyError, AttributeError, AssertionError) as error:
        message = f"this is not YAML: {str(error) or type(error).__name__}"
        return None, [*composer.problems, Problem(path=shown, message=message)]
    if composer.root is None:
        return None, [*composer.problems, Problem(path=shown, message="the file is empty")]
    return composer.root, composer.problems


def _syntax(shown: str, error: MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    said = " ".join(part for part in (error.context, error.problem) if part)
    hint = next((hint for words, hint in _HINTS if words in said), "")
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    message = f"this is not YAML: {error.problem or error.context}"
    return Problem(path=shown, line=line, column=column, message=message, hint=hint)


def _character(shown: str, text: str, error: ReaderError) -> Problem:
    # The reader's own position is off once it has read ahead; the character is what it is about.
    code = error.character if isinstance(error.character, int) else ord(str(error.character)[0])
    before = text[: max(text.find(chr(code)), 0)]
    return Problem(
        path=shown,
        line=before.count("\n") + 1,
        column=len(before) - before.rfind("\n"),
        message=f"this is not YAML: the character U+{code:04X} may not stand in it",
        hint="remove it" + (f', or write it in double quotes as "\\u{code:04X}"' if code else ""),
    )


class _Stop(Exception):  # a signal inside this module
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(slots=True, kw_only=True)
class _Frame:
    """A collection whose end has not come yet, and the key that waits for its value."""

    node: Node
    key: Node | None = None
    skip: bool = False


class _Composer:
    """Builds nodes from parser events, without recursion."""

    def __init__(self, shown: str) -> None:
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self._shown = shown
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Node] = {}
        self._documents = 0
        self._aliased = 0
        self._last_end = Mark(0, 1, 1)

    def feed(self, events: Iterable[Any]) -> None:
        for event in events:
            if isinstance(event, DocumentStartEvent):
                self._document(event)
            elif isinstance(event, ScalarEvent):
                self._scalar(event)
            elif isinstance(event, MappingStartEvent | SequenceStartEvent):
                self._open(event)
            elif isinstance(event, MappingEndEvent | SequenceEndEvent):
                self._close(event)
            elif isinstance(event, AliasEvent):
                self._alias(event)

    def _document(self, event: DocumentStartEvent) -> None:
        self._documents += 1
        start = _mark(event.start_mark)
        if self._documents > 1:
            raise _Stop(self._problem(start, "a second document begins here", "keep only one"))
        if event.version not in (None, (1, 2)):
            self._add(start, "only YAML 1.2 is understood", "remove the %YAML line")

    def _open(self, event: Any) -> None:  # noqa: ANN401 - ruamel's events are untyped
        style = "flow" if event.flow_style else "block"
        node = Node(
            start=_mark(event.start_mark),
            end=event.end_mark.index,
            style=style,
            is_mapping=isinstance(event, MappingStartEvent),
            anchor=event.anchor,
        )
        self._no_tag(event, node)
        if len(self._stack) >= MAX_DEPTH:
            raise _Stop(self._problem(node.start, f"nested more than {MAX_DEPTH} levels deep"))
        self._last_end = _mark(event.end_mark)
        self._stack.append(_Frame(node=node))

    def _close(self, event: Any) -> None:  # noqa: ANN401
        node = self._stack.pop().node
        if node.style == "flow":
            node.end = event.end_mark.index
            self._last_end = _mark(event.end_mark)
        else:
            # The event stands where the next token begins; the value ends with its last part.
            node.end = self._last_end.offset
        self._place(node)

    def _scalar(self, event: ScalarEvent) -> None:
        start, end = _mark(event.start_mark), _mark(event.end_mark)
        raw = event.value
        if not event.style and not raw and event.anchor is None and event.tag is None:
            start = end = self._last_end  # the parser puts an empty value at the next token
        node = Node(
            start=start,
            end=end.offset,
            style=event.style or "",
            value=raw if event.style else resolve_plain(raw),
            raw=raw,
            anchor=event.anchor,
        )
        self._no_tag(event, node)
        self._last_end = end
        self._place(node)

    def _alias(self, event: AliasEvent) -> None:
        start, end = _mark(event.start_mark), _mark(event.end_mark)
        self._last_end = end
        name = event.anchor
        target = self._anchors.get(name)
        if target is None:
            inside = any(frame.node.anchor == name for frame in self._stack)
            message = f"the alias *{name} " + (
                "is inside what it names" if inside else "is unknown"
            )
            raise _Stop(self._problem(start, message, f"mark a value above with &{name}"))
        self._aliased += target.size
        if self._aliased > MAX_ALIASED:
            raise _Stop(self._problem(start, "too much is repeated by aliases", "write less"))
        node = Node(
            start=start,
            end=end.offset,
            style=target.style,
            value=target.value,
            raw=target.raw,
            keys=target.keys,
            items=target.items,
            is_mapping=target.is_mapping,
            is_alias=True,
            size=target.size,
        )
        self._place(node)

    def _place(self, node: Node) -> None:
        if node.anchor is not None:
            self._anchors[node.anchor] = node
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        frame.node.size += node.size
        if not frame.node.is_mapping:
            frame.node.items[len(frame.node.items)] = node
        elif frame.key is None:
            frame.key = node
            frame.skip = not self._usable_key(node, frame.node)
        else:
            if node.start.offset == node.end:  # an empty value is shown at its key
                node.start, node.end = frame.key.start, frame.key.start.offset
            if not frame.skip:
                name = str(frame.key.raw)
                frame.node.keys[name] = frame.key
                frame.node.items[name] = node
            frame.key = None

    def _usable_key(self, key: Node, mapping: Node) -> bool:
        if key.is_collection:
            self._add(key.start, "a key must be text")
            return False
        if key.raw == "<<" and not key.style:
            self._add(key.start, "merge keys (`<<`) are not supported", "write the keys out")
            return False
        if not isinstance(key.value, str):
            self._add(key.start, f"the key `{key.raw}` is not text", f'write "{key.raw}" in quotes')
        first = mapping.keys.get(str(key.raw))
        if first is not None:
            message = f"the key `{key.raw}` is here twice"
            self._add(key.start, message, f"it is already on line {first.start.line}")
        return first is None

    def _no_tag(self, event: Any, node: Node) -> None:  # noqa: ANN401
        if event.tag is not None:
            self._add(node.start, "tags are not supported", "remove it; use quotes to make text")

    def _add(self, start: Mark, message: str, hint: str = "") -> None:
        self.problems.append(self._problem(start, message, hint))

    def _problem(self, start: Mark, message: str, hint: str = "") -> Problem:
        return Problem(
            path=self._shown, line=start.line, column=start.column, message=message, hint=hint
        )


def resolve_plain(raw: str) -> Any:  # noqa: ANN401 - any JSON scalar
    """What a scalar without quotes means."""
    if raw in _WORDS:
        return _WORDS[raw]
    if _INTEGER.fullmatch(raw):
        return int(raw)
    if _FLOAT.fullmatch(raw):
        number = float(raw)
        if number not in (float("inf"), float("-inf")):
            return number
    return raw


def _mark(mark: Any) -> Mark:  # noqa: ANN401
    return Mark(mark.index, mark.line + 1, mark.column + 1)


def _parse_json(text: str, shown: str) -> tuple[Document | None, list[Problem]]:
    found = read_json(text, shown)
    if isinstance(found, Problem):
        return None, [found]
    # A tab may stand between JSON's tokens but never inside one, so places stay the same.
    spaced = text.replace("\t", " ")
    document = Document(shown, found.data, lambda: parse_nodes(shown, spaced)[0])
    if not found.twice:
        return document, []
    places = [problem for problem in parse_nodes(shown, spaced)[1] if "twice" in problem.message]
    return document, places or [
        Problem(path=shown, message=f"the key {key!r} is in one object twice")
        for key in found.twice
    ]
