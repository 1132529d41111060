"""An authored file in memory: plain values, and for each of them the place where it was written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from trialbook.errors import Problem

Pointer = tuple[str | int, ...]
"""The way to a value: keys and indexes from the top of the file."""


class Mark(NamedTuple):
    """A place in a text: ``offset`` counts characters from 0, ``line`` and ``column`` from 1."""

    offset: int
    line: int
    column: int


@dataclass(slots=True, kw_only=True)
class Node:
    """One value as it stands in the text.

    ``style`` is empty (plain), a quote, ``|`` or ``>`` for a scalar; *flow* or *block* for a
    collection. ``raw`` is a scalar's text. ``end`` is the offset behind the last character.
    """

    start: Mark
    end: int
    style: str
    value: Any = None
    raw: str | None = None
    keys: dict[str, Node] = field(default_factory=dict)
    items: dict[str | int, Node] = field(default_factory=dict)
    is_mapping: bool = False
    anchor: str | None = None
    is_alias: bool = False
    size: int = 1

    @property
    def is_collection(self) -> bool:
        """Whether it is a mapping or a list."""
        return self.raw is None

    def plain(self) -> Any:  # noqa: ANN401 - any JSON value
        """The value without its places."""
        if not self.is_collection:
            return self.value
        if self.is_mapping:
            return {key: item.plain() for key, item in self.items.items()}
        return [item.plain() for item in self.items.values()]


class Document:
    """A file that was read: its data as plain JSON values, and where each value stands."""

    def __init__(
        self,
        path: str,
        data: Any,  # noqa: ANN401 - any JSON value
        locate: Callable[[], Node | None],
    ) -> None:
        self.path = path
        self.data = data
        self._locate: Callable[[], Node | None] | None = locate
        self._root: Node | None = None

    @property
    def root(self) -> Node | None:
        """The top node; it may be worked out only now, when somebody asks for a place."""
        if self._locate is not None:
            self._root = self._locate()
            self._locate = None
        return self._root

    def node(self, pointer: Pointer) -> Node | None:
        """The node there, or the nearest one above it."""
        node = self.root
        for part in pointer:
            if node is None or part not in node.items:
                break
            node = node.items[part]
        return node

    def position(self, pointer: Pointer, offset: int = 0) -> tuple[int, int]:
        """Line and column of a value (or of the nearest one above that exists).

        ``offset`` moves to a character inside a text that stands on one line.
        """
        node = self.node(pointer)
        if node is None:
            return 1, 1
        line, column = node.start.line, node.start.column
        if offset and node.raw is not None and node.style in ("", "'", '"'):
            quote = 1 if node.style else 0
            if node.end - node.start.offset == len(node.raw) + 2 * quote:
                column += offset + quote
        return line, column

    def key_position(self, pointer: Pointer) -> tuple[int, int]:
        """Line and column of the key that names a value."""
        parent = self.node(pointer[:-1])
        if parent is not None and pointer and pointer[-1] in parent.keys:
            start = parent.keys[str(pointer[-1])].start
            return start.line, start.column
        return self.position(pointer)

    def problem(
        self, pointer: Pointer, message: str, hint: str = "", *, key: bool = False, offset: int = 0
    ) -> Problem:
        """A mistake in this file, at a value or at its key."""
        line, column = self.key_position(pointer) if key else self.position(pointer, offset)
        return Problem(path=self.path, line=line, column=column, message=message, hint=hint)
