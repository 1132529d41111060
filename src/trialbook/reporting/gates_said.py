"""Gates over time in words, for the terminal and the site."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from trialbook.formats.records import plain
from trialbook.reporting.gates import AlarmRate, GateEntry, GateSide
from trialbook.reporting.summary import Spend
from trialbook.reporting.wording import duration, money, number_of, percent, rate, words
from trialbook.stats.gate import Answer
from trialbook.stats.interval import Interval
from trialbook.stats.views import Tally

_COMMIT = 12
_MINUTE = 60


def side_said(side: GateSide) -> str:
    """``base (main, 3f9c2d7e1a2b)``; the name alone where nothing is from a revision."""
    if not side.revision:
        return side.name
    commit = side.commit[:_COMMIT] or "the work tree"
    return f"{side.name} ({side.revision}, {commit})"


def alarm_said(entry: GateEntry) -> str:
    """What is known of a failure: ``false alarm``, ``real``, ``not looked into``; else empty."""
    if not entry.failed:
        return ""
    if entry.false_alarm is None:
        return "not looked into"
    if not entry.alarms:
        return "false alarm: nothing differs"
    said = "false alarm" if entry.false_alarm else "real"
    if entry.gate.verdict == Answer.FAIL:
        return said
    return f"{said}: it failed then, and would not by the grades of now"


def minutes_said(entry: GateEntry) -> str:
    """How long it took, or that it is not known."""
    minutes = entry.gate.minutes
    return "unknown" if minutes is None else duration(minutes * _MINUTE)


def spend_said(spend: tuple[Spend, ...]) -> str:
    """What its trials cost, each basis for itself."""
    said = [
        f"{money(one.usd)} ({words(one.basis)})"
        if one.usd is not None
        else ("unknown" if len(spend) == 1 else f"unknown ({number_of(one.trials, 'trial')})")
        for one in spend
    ]
    return ", ".join(said) or "nothing ran"


def rates_said(found: AlarmRate) -> Iterator[str]:
    """How often the gates of one suite, or of all, failed though nothing was worse."""
    where = found.suite or "all suites"
    if not found.decided:
        yield f"{where}: no gate came to an answer"
        return
    yield (
        f"{where}: {share_said(found.false, found.decided)} of gates that came to an answer were "
        f"false alarms, {interval_said(found.interval)}"
    )
    if found.unknown:
        yield (
            f"{number_of(found.unknown, 'failure')} nobody has looked into: with "
            f"{'it' if found.unknown == 1 else 'them'} it may be up to "
            f"{share_said(found.false + found.unknown, found.decided)}"
        )
    if found.equal:
        yield (
            f"between two equal sides {share_said(found.equal_failed, found.equal)} failed, "
            f"{interval_said(found.equal_interval)}"
        )


def share_said(count: int, total: int) -> str:
    """``1/12 (8.3 %)``."""
    return rate(Tally(accepted=count, slots=total))


def interval_said(interval: Interval | None) -> str:
    """``0.2 % to 38.5 % (confidence 0.95, Clopper-Pearson)``."""
    if interval is None:
        return "no interval"
    how = f"(confidence {interval.confidence:.3g}, {interval.method})"
    return f"{bounds_said(interval)} {how}"


def bounds_said(interval: Interval | None) -> str:
    """``0.2 % to 38.5 %``."""
    if interval is None:
        return "none"
    low, high = (percent(Fraction(bound)) for bound in (interval.low, interval.high))
    return f"{low} to {high}"


def gates_json(entries: list[GateEntry], rates: list[AlarmRate]) -> dict[str, Any]:
    """Everything that is known of the gates."""
    return {
        "gates": [
            {
                "run": entry.gate.run,
                **plain(entry.gate),
                "false_alarm": entry.false_alarm,
                "alarms": plain(entry.alarms),
            }
            for entry in entries
        ],
        "rates": plain(rates),
    }
