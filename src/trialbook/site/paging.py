"""Long lists on several pages: ``index.html``, ``page-2.html``, each with ways to the others."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from trialbook.reporting.wording import number_of

T = TypeVar("T")

ROWS = 200
"""How many rows of a list one page bears."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paged(Generic[T]):
    """One page of a list: its rows, and what the macro ``pager`` draws.

    ``number`` and ``of`` count pages from 1. ``shown`` says which rows these are. ``first``,
    ``previous``, ``next`` and ``last`` are paths of pages, empty where there is none to go to.
    """

    path: str
    rows: Sequence[T]
    number: int
    of: int
    shown: str
    first: str
    previous: str
    next: str
    last: str


def paged(rows: Sequence[T], path: str, noun: str, *, size: int = ROWS) -> Iterator[Paged[T]]:
    """The pages of a list; one, if it is short or empty.

    Args:
        rows: The whole list.
        path: Where its first page is; the others are beside it.
        noun: What a row is, as one: ``trial``.
        size: How many rows a page bears.
    """
    of = max(1, -(-len(rows) // size))
    paths = [path, *(_beside(path, number) for number in range(2, of + 1))]
    for index, here in enumerate(paths):
        start = index * size
        part = rows[start : start + size]
        before, after = index > 0, index < of - 1
        yield Paged(
            path=here,
            rows=part,
            number=index + 1,
            of=of,
            shown=_shown(start, len(part), len(rows), noun),
            first=paths[0] if before else "",
            previous=paths[index - 1] if before else "",
            next=paths[index + 1] if after else "",
            last=paths[-1] if after else "",
        )


def _shown(start: int, here: int, total: int, noun: str) -> str:
    if here == total:
        return number_of(total, noun)
    return f"{start + 1:,} to {start + here:,} of {number_of(total, noun)}"


def _beside(path: str, number: int) -> str:
    """``x/index.html`` is followed by ``x/page-2.html``, ``x/y.html`` by ``x/y-page-2.html``."""
    folder, name = posixpath.split(path)
    stem = name.removesuffix(".html")
    prefix = "" if stem == "index" else f"{stem}-"
    return posixpath.join(folder, f"{prefix}page-{number}.html")
