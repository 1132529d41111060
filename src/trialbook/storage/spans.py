"""Places in bytes that have to go, and putting placeholders where they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """Bytes ``start`` to ``end`` hold something secret of some kind."""

    start: int
    end: int
    kind: str


def placeholder(kind: str) -> bytes:
    """What stands in the place of something secret.

    It has no blank, quote, backslash or line end, so that it can stand in JSON, in a URL and in the
    header of a patch.
    """
    return f"[redacted:{kind}]".encode()


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same places without overlaps, in order.

    Of two kinds for one place, the longer one names it; of two for the very same bytes, the first.
    """
    found: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if found and span.start < found[-1].end:
            last = found[-1]
            found[-1] = last._replace(end=max(last.end, span.end))
        elif span.start < span.end:
            found.append(span)
    return found


def replaced(data: bytes, spans: Iterable[Span]) -> bytes:
    """``data`` with a placeholder for every one of these places, which do not overlap."""
    parts: list[bytes] = []
    at = 0
    for start, end, kind in spans:
        parts += (data[at:start], placeholder(kind))
        at = end
    return b"".join((*parts, data[at:])) if parts else data


def counted(spans: Iterable[Span]) -> Counter[str]:
    """How many places of each kind there are."""
    return Counter(span.kind for span in spans)
