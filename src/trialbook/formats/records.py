"""JSON records: frozen values to readable JSON and back, strictly.

Keys stand in the order of the value's fields, two spaces of indent, one fact a line, a final
newline, no NaN, so that a record reads well as a diff and the same value gives the same bytes.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

from trialbook.errors import TrialbookError

T = TypeVar("T")


class RecordError(TrialbookError):
    """A record that cannot be read as what it should be."""


def to_json(value: Any) -> bytes:  # noqa: ANN401 - any record
    """The JSON text of a record.

    Raises:
        ValueError: a float that is NaN or infinite.
    """
    plain = msgspec.to_builtins(value, str_keys=True)
    # Numbers and strings as `json` writes them; with an indent it is ten times as slow.
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    return msgspec.json.format(text.encode(), indent=2) + b"\n"


def from_json(kind: type[T], data: bytes, where: str) -> T:
    """The value that a record holds.

    Args:
        kind: The dataclass to read.
        data: The bytes of the file.
        where: The file's name, for messages.

    Raises:
        RecordError: not JSON, or not of that kind.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"{where}: not a {kind.__name__.lower()} record: {error}") from error


def prepare(*kinds: type) -> None:
    """Work out how to read these kinds now, for processes that are forked later as well."""
    for kind in kinds:
        msgspec.json.Decoder(kind)


def is_canonical(value: Any, data: bytes) -> bool:  # noqa: ANN401 - any record
    """Whether these bytes are what `to_json` writes for the value that was read from them.

    Fields that an older version did not know may be missing; nothing else may differ.
    """
    if data == _quick_json(value):
        return True
    given = msgspec.json.decode(data)
    if data != _quick_json(given):
        # Only some numbers are written in another way by the quick encoder.
        text = json.dumps(given, indent=2, ensure_ascii=False)
        if data != text.encode("utf-8", "replace") + b"\n":
            return False
    return _within(given, plain(value))


def _quick_json(value: Any) -> bytes:  # noqa: ANN401 - any record or JSON value
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _within(given: Any, whole: Any) -> bool:  # noqa: ANN401 - any JSON values
    """Whether ``given`` is ``whole``, but for keys of objects that may be missing."""
    if not isinstance(given, dict | list):
        return bool(given == whole) and type(given) is type(whole)
    if msgspec.json.encode(given) == msgspec.json.encode(whole):
        # Of most records only few parts differ: this is where the others end.
        return True
    if isinstance(given, dict):
        known = [key for key in whole if key in given] if isinstance(whole, dict) else None
        return list(given) == known and all(_within(given[key], whole[key]) for key in given)
    same_size = isinstance(whole, list | tuple) and len(given) == len(whole)
    return same_size and all(map(_within, given, whole))


def from_plain(kind: type[T], value: Any, where: str) -> T:  # noqa: ANN401 - any JSON value
    """The value that plain JSON values (of a YAML file, say) hold.

    Raises:
        RecordError: they are not of that kind.
    """
    try:
        return msgspec.convert(value, type=kind)
    except msgspec.ValidationError as error:
        raise RecordError(f"{where}: not a {kind.__name__.lower()} record: {error}") from error


def plain(value: Any) -> Any:  # noqa: ANN401 - any record
    """The record as plain JSON values (for ``--json`` and templates)."""
    return msgspec.to_builtins(value, str_keys=True)


def pack(value: Any) -> bytes:  # noqa: ANN401 - any record
    """The value in a compact binary form, for the runner's own files outside the ledger."""
    return msgspec.msgpack.encode(value)


def unpack(kind: type[T], data: bytes, where: str) -> T:
    """The value that `pack` wrote.

    Raises:
        RecordError: the bytes are not such a value.
    """
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise RecordError(f"{where}: not a {kind.__name__.lower()}: {error}") from error
