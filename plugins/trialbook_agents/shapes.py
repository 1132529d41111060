"""Reads values out of JSON that a client printed, whatever stands there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

Json = Mapping[str, Any]
_NOTHING: Json = {}
_MOST_DOLLARS = 1_000_000_000
_LARGEST = 2**53


def mapping(value: object) -> Json:
    """An object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else _NOTHING


def listed(value: object) -> list[Any]:
    """A list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """A text; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def text_or_none(value: object) -> str | None:
    """A text that is not empty, or None."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """A whole number that is not negative, or None."""
    found = number(value)
    return found if found is not None and found >= 0 else None


def number(value: object) -> int | None:
    """A whole number that every program can read, or None."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) < _LARGEST else None


def moment(seconds: object) -> str | None:
    """A time in seconds since 1970 as text, in UTC; None for anything else."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return None
    try:
        at = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def dollars(value: object) -> Decimal | None:
    """An amount of money that a client tells; None for nothing, and for what can be none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if not 0 < value < _MOST_DOLLARS:
        return None
    # As many digits as prices can give; the rest is the noise of binary fractions.
    return round(Decimal(repr(value)), 10)


def without(whole: int | None, *parts: int | None) -> int | None:
    """What is left of a number; None if it is not known, or if its parts are more."""
    rest = None if whole is None else whole - sum(part or 0 for part in parts)
    return None if rest is None or rest < 0 else rest


def one_line(said: str, most: int = 300) -> str:
    """A text in one line, cut to a length; for messages."""
    line = " ".join("".join(c if c.isprintable() else " " for c in said).split())
    return line if len(line) <= most else f"{line[: most - 3]}..."
