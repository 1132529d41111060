"""Counts what an agent uses while it works, and says when that is more than it may."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from trialbook.api import Assignment, Usage, added, cost_of

_ALL = ("turns", "tokens", "usd")


class Meter:
    """The calls of the model that are known so far, held against the limits of a trial.

    What is spent shows only after a call, so that each limit is overshot by about one call.
    """

    def __init__(self, assignment: Assignment, kept: Iterable[str] = _ALL) -> None:
        self._limits = assignment.limits
        self._kept = frozenset(kept)
        prices = assignment.prices
        self._price = None if prices is None else prices.models.get(assignment.model or "")
        self._calls: dict[str, Usage] = {}

    def call(self, key: str, usage: Usage) -> None:
        """What a call used; a later word on the same call, by its key, replaces an earlier one."""
        self._calls[key] = usage

    @property
    def calls(self) -> int:
        """How many calls there are."""
        return len(self._calls)

    def over(self) -> str:
        """The limit that is exceeded, in words; empty if none is."""
        limits = self._limits
        if limits.turns is not None and "turns" in self._kept and self.calls > limits.turns:
            return f"it asked the model {self.calls} times, and {limits.turns} are allowed"
        total = added(self._calls.values())
        tokens = tokens_of(total)
        if limits.tokens is not None and "tokens" in self._kept and tokens > limits.tokens:
            return f"it used {tokens} tokens, and {limits.tokens} are allowed"
        if limits.usd is None or "usd" not in self._kept or self._price is None:
            return ""
        cost = cost_of(self._price, total)
        if cost is None or cost <= Decimal(str(limits.usd)):
            return ""
        return f"it cost {cost:f} US dollars, and {limits.usd:g} are allowed"


def tokens_of(usage: Usage) -> int:
    """All tokens together, read and written; what is not known counts as none."""
    kinds = (
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
    )
    return sum(kind or 0 for kind in kinds)
