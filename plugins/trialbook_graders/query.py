"""Queries into JSON and YAML data: which value a check asks about.

A query leads down from the top: ``project.name``, ``jobs[0].steps[2]``, ``tool['a.b'].c``.
Keys of letters, digits, ``_`` and ``-`` stand as they are, joined by dots. Any other key stands in
brackets and quotes (``['...']`` or ``["..."]``, no escapes). ``[n]`` counts from 0. A ``$`` in
front is allowed; ``$`` alone is the whole value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

Step = str | int

_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BRACKET = re.compile(r"""\[(?:(?P<index>\d{1,9})|'(?P<single>[^']*)'|"(?P<double>[^"]*)")\]""")

_DEPTH = 3
_ITEMS = 6
_CHARACTERS = 120


class QueryError(ValueError):
    """A query that is not well formed. ``position`` counts from 1."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} at character {position}")
        self.position = position


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Nothing is there; ``why`` says where the way ended."""

    why: str


def parse_query(text: str) -> tuple[Step, ...]:
    """The keys and indexes that a query names, from the top.

    Raises:
        QueryError: it is not well formed.
    """
    position = 1 if text.startswith("$") else 0
    steps: list[Step] = []
    if not text:
        raise QueryError("the query is empty; `$` asks for the whole value", 1)
    while position < len(text):
        if text[position] == "[":
            found = _BRACKET.match(text, position)
            if found is None:
                raise QueryError("expected [number] or ['key']", position + 1)
            steps.append(_bracketed(found))
        else:
            if text[position] == ".":
                position += 1
            elif position:
                raise QueryError("expected a dot or a bracket", position + 1)
            found = _KEY.match(text, position)
            if found is None:
                raise QueryError("expected a key", position + 1)
            steps.append(found.group())
        position = found.end()
    return tuple(steps)


def value_at(data: Any, steps: Sequence[Step]) -> Any:  # noqa: ANN401 - any JSON value
    """The value that the steps lead to, or `Missing`."""
    here = data
    for number, step in enumerate(steps):
        place = _written(steps[:number])
        if isinstance(step, int):
            if not isinstance(here, list):
                return Missing(why=f"{place} is {_kind(here)}, not a list")
            if step >= len(here):
                return Missing(why=f"{place} has {len(here)} items, no [{step}]")
            here = here[step]
        else:
            if not isinstance(here, Mapping):
                return Missing(why=f"{place} is {_kind(here)}, not a mapping")
            if step not in here:
                return Missing(why=f"{place} has no key {step!r}")
            here = here[step]
    return here


def same(found: Any, wanted: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Whether two values are equal as data: ``true`` is not 1, and 1 is 1.0.

    The walk goes no deeper than ``wanted``, which an author wrote; ``found`` may be a bomb.
    """
    if isinstance(found, bool) or isinstance(wanted, bool):
        return isinstance(found, bool) and isinstance(wanted, bool) and found == wanted
    if isinstance(wanted, Mapping):
        return (
            isinstance(found, Mapping)
            and len(found) == len(wanted)
            and all(key in found and same(found[key], wanted[key]) for key in wanted)
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
        )
    if isinstance(found, Mapping | list):
        return False
    return bool(found == wanted)


def shown(value: Any, depth: int = _DEPTH) -> str:  # noqa: ANN401 - any JSON value
    """A value in a few words, however large or deep it is."""
    if isinstance(value, Mapping):
        pairs = (
            f"{shown(key, depth - 1)}: {shown(item, depth - 1)}"
            for key, item in islice(value.items(), _ITEMS if depth else 0)
        )
        return "{" + ", ".join([*pairs, *_rest(value, depth)]) + "}"
    if isinstance(value, list):
        items = (shown(item, depth - 1) for item in value[: _ITEMS if depth else 0])
        return "[" + ", ".join([*items, *_rest(value, depth)]) + "]"
    if value is None or isinstance(value, bool | str):
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = str(value)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "…"


def _rest(value: Mapping[Any, Any] | list[Any], depth: int) -> list[str]:
    return ["…"] if len(value) > (_ITEMS if depth else 0) else []


def _bracketed(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        return int(found["index"])
    return found["single"] if found["single"] is not None else found["double"]


def _written(steps: Sequence[Step]) -> str:
    if not steps:
        return "the top"
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{step!r}]"
    return text


def _kind(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list) else f"the value {shown(value)}"
