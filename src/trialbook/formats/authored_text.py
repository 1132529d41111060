"""Writes YAML as people do: one key a line, lists below their key, no quotes where none are needed.

What it writes is read back by `formats.authored` as the same values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbook.formats.editing import render


def to_yaml(values: Mapping[str, Any], *, lead: str = "") -> bytes:
    """The YAML text of a mapping of plain JSON values; what is empty or null is left out.

    Args:
        values: The mapping.
        lead: Lines of comment for the top, without their ``#``.
    """
    comment = [f"# {line}".rstrip() for line in lead.splitlines()]
    said = {key: value for key, value in values.items() if value not in (None, [], (), {})}
    lines = [*comment, *_entries(said)]
    return ("\n".join(lines) + "\n").encode()


def _entries(values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, list | tuple) and value:
            yield f"{render(key)}:"
            for item in value:
                yield from _item(item)
        else:
            yield f"{render(key)}: {render(value)}"


def _item(item: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    if not isinstance(item, Mapping) or not item:
        yield f"  - {render(item)}"
        return
    sign = "-"
    for key, value in item.items():
        yield f"  {sign} {render(key)}: {render(value)}"
        sign = " "
