"""What an agent used: tokens, calls, money. Counted alike for every client."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

REPORTED = "reported"
PRICED = "priced"
UNKNOWN = "unknown"
"""Where a cost comes from: the client, a table of prices, or nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the agent used. Null is *not known*; ``basis`` says where the cost comes from.

    ``input_tokens`` are those that were read without a cache; the whole of what was read is the sum
    of input, cache read and cache write. ``output_tokens`` have those of reasoning in them.
    ``prices`` is the table that a ``priced`` cost was counted with.
    """

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    model_calls: int | None = None
    turns: int | None = None
    cost_usd: str | None = None
    basis: str = UNKNOWN
    prices: str | None = None

    @property
    def tokens(self) -> int | None:
        """Every token that was read or written; None unless input and output are known."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        cached = (self.cache_read_tokens or 0) + (self.cache_write_tokens or 0)
        return self.input_tokens + cached + self.output_tokens


_COUNTS = tuple(field.name for field in fields(Usage) if "int" in str(field.type))


def added(parts: Iterable[Usage]) -> Usage:
    """The sum of several. What is not known of one of them is not known of all of them."""
    listed = list(parts)
    if len(listed) < 2:  # noqa: PLR2004 - nothing to add
        return listed[0] if listed else Usage()
    counts: dict[str, Any] = {
        name: _sum([getattr(part, name) for part in listed]) for name in _COUNTS
    }
    costs = [part.cost_usd for part in listed]
    known = [Decimal(cost) for cost in costs if cost is not None]
    if len(known) < len(costs):
        return Usage(**counts)
    bases = dict.fromkeys(part.basis for part in listed)
    tables = dict.fromkeys(part.prices for part in listed if part.prices is not None)
    return Usage(
        **counts,
        cost_usd=money(sum(known, Decimal(0))),
        basis="+".join(bases),
        prices=", ".join(tables) or None,
    )


def money(amount: Decimal) -> str:
    """An amount as records have it: plain digits, without zeros at the end."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
