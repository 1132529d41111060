"""JSON Schemas: the shipped ones, and checking a document against one in words a person can act on.

Schemas are draft 2020-12. One annotation is ours: ``errorMessage`` beside ``pattern``, ``not``,
``oneOf``, ``anyOf`` or ``contains`` says what is wrong, and after a semicolon what to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, cast

from trialbook.errors import Problem
from trialbook.formats.document import Document, Node, Pointer
from trialbook.formats.mistakes import mistakes

SUITE_KINDS = ("suite", "task", "configuration", "checks", "expected", "regression_key")
"""What people write into a suite."""

AUTHORED_KINDS = (*SUITE_KINDS, "judge", "prices", "rubric", "site")
"""What people write."""

RECORD_KINDS = (
    "plan",
    "trial",
    "trajectory",
    "grade",
    "lock",
    "amendment",
    "incident",
    "incident_closing",
    "regrade",
    "generation",
    "review",
    "reconciliation",
    "handover",
    "series",
    "calibration",
    "rule",
    "alarm",
)
"""What the program writes."""

ANSWER_KINDS = ("doctor", "agents", "agent_try")
"""What commands print with ``--json``, where that is described."""

SCHEMA_KINDS = (*AUTHORED_KINDS, *RECORD_KINDS, *ANSWER_KINDS)

_WHOLE: Any = object()

# More digits than a whole number may have make text of it.
_FEWER_DIGITS = "it may have 18 digits at most"
_TOO_LARGE = re.compile(r"-?[0-9]{19,}")


def _is_integer(_: Any, value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(value, int) and not isinstance(value, bool)


@cache
def _validator() -> Any:  # noqa: ANN401 - a class made by the library
    # Not at the top: it takes as long to import as the rest of most commands, which do not need it.
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415

    # To JSON Schema 1.0 is an integer, but it does not read as one.
    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
    return validators.extend(Draft202012Validator, type_checker=checker)  # type: ignore[no-untyped-call]


@cache
def schema_text(kind: str) -> str:
    """The text of a shipped schema.

    Raises:
        KeyError: there is none of that kind.
    """
    if kind not in SCHEMA_KINDS:
        raise KeyError(kind)
    folder = resources.files("trialbook.formats.schemas")
    return folder.joinpath(f"{kind}.schema.json").read_text(encoding="utf-8")


def load_schema(kind: str) -> dict[str, Any]:
    """A shipped schema as a value of the caller's own.

    Raises:
        KeyError: there is none of that kind.
    """
    return cast("dict[str, Any]", json.loads(schema_text(kind)))


def schema_fault(schema: Mapping[str, Any]) -> str:
    """What is wrong with a schema itself (a plugin's, say), or an empty text."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - see `_validator`

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return error.message
    return ""


def schema_mistakes(value: Any, schema: Mapping[str, Any], most: int) -> list[str]:  # noqa: ANN401
    """What a schema finds wrong with a JSON value that no file holds, each with where; bounded."""
    found: list[str] = []
    for error in _validator()(schema).iter_errors(value):
        where = error.json_path.removeprefix("$").removeprefix(".")[:80]
        at = f" (at {where})" if where else ""
        found += (f"{one.message[:200]}{at}" for one in mistakes(error))
        if len(found) >= most:
            break
    return list(dict.fromkeys(found))[:most]


def check_schema(
    document: Document,
    schema: Mapping[str, Any],
    *,
    at: Pointer = (),
    data: Any = _WHOLE,  # noqa: ANN401 - any JSON value
) -> list[Problem]:
    """Every mistake that a schema finds in a document, at the place where it was written.

    Args:
        document: The file.
        schema: A JSON Schema.
        at: The part of the document to check; the whole by default.
        data: The value to check in place of what stands at ``at`` (a shorthand written out, say).
    """
    value = _value(document, at) if data is _WHOLE else data
    return sorted(set(_problems(document, schema, at, value)))


def _value(document: Document, at: Pointer) -> Any:  # noqa: ANN401
    value = document.data
    for part in at:
        value = value[part]
    return value


def _problems(
    document: Document,
    schema: Mapping[str, Any],
    at: Pointer,
    value: Any,  # noqa: ANN401
) -> Iterator[Problem]:
    errors = list(_validator()(schema).iter_errors(value))
    # What has the wrong type has no keys to complain about.
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    for error in errors:
        if error.validator != "type" and tuple(error.absolute_path) in mistyped:
            continue
        for mistake in mistakes(error):
            pointer = at + mistake.pointer
            message = mistake.message
            hint = mistake.hint or _hint(document, pointer, mistake.wanted)
            if hint == _FEWER_DIGITS:
                message = f"{message.partition(' must be ')[0]} is too large a number"
            yield document.problem(pointer, message, hint, key=mistake.at_key)


def _hint(document: Document, pointer: Pointer, wanted: frozenset[str]) -> str:
    """What to do about a scalar of the wrong type, judged by how it was written."""
    node = document.node(pointer)
    if node is None or node.raw is None:
        return ""
    if wanted & {"integer", "number"} and (hint := _number_hint(node, node.raw)):
        return hint
    if "string" in wanted and not node.style and node.raw:
        return f'write it in quotes: "{node.raw}"'
    if "boolean" in wanted and node.raw.lower() in {"yes", "no", "on", "off", "y", "n"}:
        return "write true or false"
    if "array" in wanted and node.raw and "\n" not in node.raw:
        return f"write a list: [{node.raw}]"
    return ""


def _number_hint(node: Node, raw: str) -> str:
    if node.style:
        return "remove the quotes" if _is_number(raw) else ""
    if _TOO_LARGE.fullmatch(raw):
        return _FEWER_DIGITS
    if isinstance(node.value, float) and node.value.is_integer():
        return f"write {node.value:.0f}"
    return ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
