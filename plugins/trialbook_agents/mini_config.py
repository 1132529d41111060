"""Writes settings as YAML that holds any text: mini-swe-agent reads no other form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_ASCII_END = 0x7F
_WIDE = 0xFFFF


def config_text(settings: Mapping[str, Any]) -> str:
    """A YAML document of dotted keys and plain values."""
    tree: dict[str, Any] = {}
    for key, value in settings.items():
        *folders, name = key.split(".")
        place = tree
        for folder in folders:
            if not isinstance(place.get(folder), dict):
                place[folder] = {}
            place = place[folder]
        place[name] = value
    return "".join(_lines(tree, ""))


def _lines(tree: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield f"{indent}{quoted(key)}:\n"
            yield from _lines(value, f"{indent}  ")
        else:
            yield f"{indent}{quoted(key)}: {_scalar(value)}\n"


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """A text in double quotes, with everything escaped that a reader of YAML would take amiss."""
    return '"' + "".join(map(_character, text)) + '"'


def _character(one: str) -> str:
    if one in _SHORT:
        return _SHORT[one]
    if " " <= one < "\x7f":
        return one
    code = ord(one)
    return f"\\u{code:04x}" if code <= _WIDE else f"\\U{code:08x}"
