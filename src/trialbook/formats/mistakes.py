"""A schema's complaints in plain words: what is wrong with which key, and the nearest right one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trialbook.formats.document import Pointer
from trialbook.formats.nearest import nearest

if TYPE_CHECKING:
    from jsonschema import ValidationError

_NAMES = {
    "object": "a mapping (`key: value`)",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_MAX_SHOWN = 60
_MANY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One mistake, at a value or at its key. ``wanted`` are JSON types that would be right."""

    pointer: Pointer
    message: str
    hint: str = ""
    at_key: bool = False
    wanted: frozenset[str] = frozenset()


def one_of(words: Iterable[str]) -> str:
    """A list of words for a sentence: ``a, b or c``."""
    shown = list(words)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def mistakes(error: ValidationError) -> Iterator[Mistake]:
    """What one complaint of the validator comes to (several unknown keys are several mistakes)."""
    pointer = tuple(error.absolute_path)
    several = _SEVERAL.get(str(error.validator))
    if "propertyNames" in error.absolute_schema_path:
        pointer = (*pointer, str(error.instance))
        message, hint = _said(error, f"the key `{_shown(error.instance)}`")
        yield Mistake(pointer=pointer, message=message, hint=hint, at_key=True)
    elif several is not None:
        yield from several(error, pointer)
    else:
        message, hint = _said(error, _subject(pointer))
        yield Mistake(pointer=pointer, message=message, hint=hint)


def _subject(pointer: Pointer) -> str:
    if not pointer:
        return "the file"
    last = pointer[-1]
    if isinstance(last, str):
        return f"`{last}`"
    return f"item {last + 1} of {_subject(pointer[:-1])}"


def _shown(value: Any) -> str:  # noqa: ANN401 - any JSON value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def _type_of(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((dict, "object"), (list, "array"), (str, "string"), (int, "integer")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "number"


def _types(schema: Any) -> frozenset[str]:  # noqa: ANN401
    """The JSON types that a schema allows; empty if it does not say."""
    if not isinstance(schema, Mapping):
        return frozenset()
    if "type" in schema:
        kinds = schema["type"]
        return frozenset([kinds] if isinstance(kinds, str) else kinds)
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return frozenset(_type_of(value) for value in values)


def _fits(value: Any, types: frozenset[str]) -> bool:  # noqa: ANN401
    kind = _type_of(value)
    return kind in types or (kind == "integer" and "number" in types)


def _schema(error: ValidationError) -> Mapping[str, Any]:
    return error.schema if isinstance(error.schema, Mapping) else {}


def _wrong_type(error: ValidationError, pointer: Pointer) -> Iterator[Mistake]:
    wanted = _types({"type": error.validator_value})
    yield _mistyped(error.instance, wanted, pointer)


def _mistyped(value: Any, wanted: frozenset[str], pointer: Pointer) -> Mistake:  # noqa: ANN401
    names = one_of(_NAMES[kind] for kind in _NAMES if kind in wanted)
    if value is None:
        message = f"{_subject(pointer)} has no value; it must be {names}"
        return Mistake(pointer=pointer, message=message)
    kind = _type_of(value)
    said = f"`{_shown(value)}`" if kind == "number" else _NAMES[kind].partition(" (")[0]
    message = f"{_subject(pointer)} must be {names}, not {said}"
    return Mistake(pointer=pointer, message=message, wanted=wanted)


def _unknown_keys(error: ValidationError, pointer: Pointer) -> Iterator[Mistake]:
    known = list(_schema(error).get("properties", {}))
    patterns = list(_schema(error).get("patternProperties", {}))
    values: Any = error.instance
    for key in values:
        if key in known or any(re.search(pattern, key) for pattern in patterns):
            continue
        hint = nearest(str(key), known)
        if not hint and known:
            hint = f"known here: {', '.join(known)}"
        message = f"unknown key `{_shown(key)}`"
        yield Mistake(pointer=(*pointer, key), message=message, hint=hint, at_key=True)


def _missing_keys(error: ValidationError, pointer: Pointer) -> Iterator[Mistake]:
    # The validator reports each missing key by itself; which one, only its message says.
    keys: Any = error.validator_value
    for key in keys:
        if error.message.startswith(f"{key!r} "):
            message = f"the key `{key}` is missing"
            hint = _schema(error).get("errorMessage") or _meaning(_schema(error), key)
            yield Mistake(pointer=pointer, message=message, hint=hint)


def _meaning(schema: Mapping[str, Any], key: str) -> str:
    described = schema.get("properties", {}).get(key, {})
    text = described.get("description", "") if isinstance(described, Mapping) else ""
    first = text.partition(". ")[0].rstrip(".")
    return f"add `{key}:` ({first[:1].lower()}{first[1:]})" if first else f"add `{key}:`"


def _repeated(error: ValidationError, pointer: Pointer) -> Iterator[Mistake]:
    items: Any = error.instance
    for index, item in enumerate(items):
        if item in items[:index]:
            message = f"`{_shown(item)}` is in {_subject(pointer)} twice"
            yield Mistake(pointer=(*pointer, index), message=message, hint="remove one")


def _alternatives(error: ValidationError, pointer: Pointer) -> Iterator[Mistake]:
    """Of several forms, complain about the one whose type was written; else name the types."""
    branches: Any = error.validator_value
    types = [_types(branch) for branch in branches]
    fitting = [n for n, found in enumerate(types) if _fits(error.instance, found)]
    wanted = frozenset[str]().union(*types)
    if "errorMessage" in _schema(error) or not wanted or len(fitting) > 1:
        message, hint = _said(error, _subject(pointer))
        yield Mistake(pointer=pointer, message=message, hint=hint)
    elif not fitting:
        yield _mistyped(error.instance, wanted, pointer)
    else:
        for inner in error.context or ():
            if inner.relative_schema_path[0] == fitting[0]:
                yield from mistakes(inner)


def _said(error: ValidationError, subject: str) -> tuple[str, str]:
    """The message and the hint for one value."""
    value = error.instance
    limit: Any = error.validator_value
    if said := _schema(error).get("errorMessage"):
        message, _, hint = str(said).partition("; ")
        shown = "" if isinstance(value, dict | list) else f"`{_shown(value)}`"
        told = f" ({shown})" if shown and shown not in subject else ""
        return f"{subject}{told} {message}", hint
    rule = str(error.validator)
    if rule == "enum":
        return _none_of(value, [_shown(word) for word in limit], subject)
    if rule == "pattern":
        hint = f"it must match the regular expression {limit}"
        return f"{subject} (`{_shown(value)}`) does not have the right form", hint
    if rule.startswith("min") and limit == 1 and rule != "minimum":
        return f"{subject} is empty", ""
    words_of_rule = _BOUNDS.get(rule, "")
    if words_of_rule:
        return f"{subject} {words_of_rule.format(limit=_shown(limit))}", ""
    return f"{subject}: {error.message}", ""


def _none_of(value: Any, words: list[str], subject: str) -> tuple[str, str]:  # noqa: ANN401
    """What is said of a value that is none of a list."""
    if value is None:
        return f"{subject} has no value; it must be {one_of(words)}", ""
    near = nearest(str(value), words)
    wanted = "something else" if near and len(words) > _MANY else one_of(words)
    return f"{subject} must be {wanted}, not `{_shown(value)}`", near


_SEVERAL: dict[str, Callable[[ValidationError, Pointer], Iterator[Mistake]]] = {
    "additionalProperties": _unknown_keys,
    "anyOf": _alternatives,
    "oneOf": _alternatives,
    "required": _missing_keys,
    "type": _wrong_type,
    "unevaluatedProperties": _unknown_keys,
    "uniqueItems": _repeated,
}
_BOUNDS = {
    "const": "must be `{limit}`",
    "exclusiveMaximum": "must be less than {limit}",
    "exclusiveMinimum": "must be more than {limit}",
    "maxItems": "has more than {limit} items",
    "maxLength": "is longer than {limit} characters",
    "maxProperties": "has more than {limit} keys",
    "maximum": "must be at most {limit}",
    "minItems": "has fewer than {limit} items",
    "minLength": "is shorter than {limit} characters",
    "minProperties": "has fewer than {limit} keys",
    "minimum": "must be at least {limit}",
}
