"""What an attempt may use of a trial's ceilings: its own limits, and what is left of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from trialbook.model.escalation import SHARED_LIMITS
from trialbook.model.suite import WHOLE_LIMITS, GivenLimits, Limits
from trialbook.model.trial import Attempt

_UNITS = {"minutes": "minutes", "usd": "US dollars", "turns": "turns", "tokens": "tokens"}
# Less time than this is none: no client starts in it.
_LEAST_MINUTES = 1 / 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The limits of an attempt. ``unknown`` names ceilings of which nobody knows what is left.

    ``used_up`` says which one leaves nothing to another attempt; empty if all leave something.
    """

    limits: Limits
    unknown: tuple[str, ...] = ()
    used_up: str = ""


def allowance(trial: Limits, own: GivenLimits | None, before: Sequence[Attempt]) -> Allowance:
    """What an attempt may use.

    Args:
        trial: The ceilings of the whole trial.
        own: Those of this attempt alone.
        before: The attempts that were made already.
    """
    given: dict[str, Any] = {}
    unknown, used_up = [], ""
    for name in SHARED_LIMITS:
        whole = getattr(trial, name)
        ceiling = None if whole is None else Decimal(str(whole))
        if ceiling is not None and before:
            used = [_used(attempt, name) for attempt in before]
            known = [amount for amount in used if amount is not None]
            ceiling -= sum(known, Decimal(0))
            if len(known) < len(used):
                unknown.append(name)
            if ceiling <= (Decimal(str(_LEAST_MINUTES)) if name == "minutes" else 0):
                used_up = used_up or f"the trial's {whole:g} {_UNITS[name]} are used up"
                ceiling = Decimal(0)
        mine = (own or {}).get(name)
        if mine is not None:
            ceiling = Decimal(str(mine)) if ceiling is None else min(ceiling, Decimal(str(mine)))
        if ceiling is not None:
            given[name] = int(ceiling) if name in WHOLE_LIMITS else float(ceiling)
    return Allowance(limits=replace(trial, **given), unknown=tuple(unknown), used_up=used_up)


def _used(attempt: Attempt, name: str) -> Decimal | None:
    """How much of a ceiling an attempt used, as far as anybody knows."""
    if name == "minutes":
        return None if attempt.seconds is None else Decimal(str(attempt.seconds)) / 60
    usage = attempt.usage
    if usage is None:
        return None
    if name == "usd":
        return None if usage.cost_usd is None else Decimal(usage.cost_usd)
    amount = usage.tokens if name == "tokens" else usage.turns or usage.model_calls
    return None if amount is None else Decimal(amount)
