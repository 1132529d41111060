"""What ATIF has no place for is kept in its ``extra``; and how usage is counted here and there."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from trialbook.model.trajectory import CallUsage, Event, EventKind
from trialbook.model.usage import money

OURS = "trialbook"
"""The key in ``extra`` objects that holds what is ours."""

SAID = frozenset({EventKind.MESSAGE, EventKind.REASONING})
DONE = frozenset(
    {EventKind.COMMAND, EventKind.READ, EventKind.WRITE, EventKind.SEARCH, EventKind.TOOL}
)
TOLD = frozenset({EventKind.ERROR, EventKind.RETRY, EventKind.NOTICE})
"""What an agent says, what it does, and what is told of it."""

LEFT_OVER = (
    *("number", "at", "turn", "agent", "text", "tool", "call", "arguments"),
    *("command", "path", "output", "output_bytes", "exit_code", "ok", "denied"),
)
"""The fields of an event that may have to be kept apart."""

DEFAULTS = Event(number=0, kind=EventKind.NOTICE)


def metrics_of(usage: CallUsage) -> dict[str, Any]:
    """What a call used: here the whole of what was read, there what was read without a cache."""
    ours: dict[str, Any] = {}
    found: dict[str, Any] = {}
    cached, written = usage.cache_read_tokens, usage.cache_write_tokens
    if usage.input_tokens is not None:
        found["prompt_tokens"] = usage.input_tokens + (cached or 0) + (written or 0)
    found |= _known(completion_tokens=usage.output_tokens, cached_tokens=cached)
    ours |= _known(cache_write_tokens=written, reasoning_tokens=usage.reasoning_tokens)
    cost = dollars(usage.cost_usd)
    if cost is not None:
        found["cost_usd"] = cost
    if usage.cost_usd is not None and (cost is None or as_money(cost) != usage.cost_usd):
        ours["cost_usd"] = usage.cost_usd
    return found | ({"extra": {OURS: ours}} if ours else {})


def usage_of(metrics: dict[str, Any]) -> CallUsage:
    """The same the other way round."""
    extra = metrics.get("extra")
    kept = extra.get(OURS) if isinstance(extra, dict) else None
    ours = kept if isinstance(kept, dict) else {}
    written, reasoning = _count(ours.get("cache_write_tokens")), ours.get("reasoning_tokens")
    prompt, cached = metrics.get("prompt_tokens"), metrics.get("cached_tokens")
    cost = metrics.get("cost_usd")
    exact = ours.get("cost_usd")
    return CallUsage(
        input_tokens=None if prompt is None else max(0, prompt - (cached or 0) - (written or 0)),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=metrics.get("completion_tokens"),
        reasoning_tokens=_count(reasoning),
        cost_usd=exact if isinstance(exact, str) else None if cost is None else as_money(cost),
    )


def as_money(cost: float) -> str:
    """A number of dollars as records have it."""
    return money(Decimal(repr(cost)))


def dollars(text: str | None) -> float | None:
    """An amount of a record as a number; None if it is none."""
    try:
        cost = float(text or "")
    except ValueError:
        return None
    return cost if 0 <= cost < float("inf") else None


def _count(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if whole and isinstance(value, int) else None


def _known(**values: int | None) -> dict[str, int]:
    return {name: value for name, value in values.items() if value is not None}
