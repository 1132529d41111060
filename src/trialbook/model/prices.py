"""Prices of models on a date, and what tokens cost by them. Money is decimal, never a float."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from trialbook.model.usage import PRICED, Usage, money

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens of each kind, as decimal numbers in text.

    A kind that is None has no price: tokens of it make a cost unknown.
    """

    input: str
    output: str
    cache_read: str | None = None
    cache_write: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """The prices that a run counts with: ``date`` is the day that they were taken down on.

    ``path`` and ``sha256`` are those of its file, from the ledger's root.
    """

    path: str
    sha256: str
    date: str
    models: dict[str, Price] = field(default_factory=dict)


def cost_of(price: Price, usage: Usage) -> Decimal | None:
    """What tokens cost in US dollars; None if some of them are not known, or have no price.

    Reasoning tokens are among the output already. Kinds of tokens that the client does not tell
    apart count as none, but input and output have to be known.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    parts = (
        (usage.input_tokens, price.input),
        (usage.output_tokens, price.output),
        (usage.cache_read_tokens or 0, price.cache_read),
        (usage.cache_write_tokens or 0, price.cache_write),
    )
    total = Decimal(0)
    for tokens, rate in parts:
        if tokens and rate is None:
            return None
        total += tokens * Decimal(rate or 0) / _MILLION
    return total


def priced(usage: Usage, by_model: Mapping[str, Usage], table: PriceTable | None) -> Usage:
    """The usage with a cost by the table, where the client told none and all of it has a price.

    Args:
        usage: What was used in all.
        by_model: The same by the model that used it.
        table: The prices; None if there are none.
    """
    if usage.cost_usd is not None or table is None or not by_model:
        return usage
    total = Decimal(0)
    for model, part in by_model.items():
        price = table.models.get(model)
        cost = None if price is None else cost_of(price, part)
        if cost is None:
            return usage
        total += cost
    return replace(usage, cost_usd=money(total), basis=PRICED, prices=table.path)
