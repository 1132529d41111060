"""How numbers and states are said everywhere: report, terminal and site use the same words.

Exact values go in; rounding happens here and nowhere else, the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction

from trialbook.model.outcome import NOT_RUN, Outcome
from trialbook.model.plan import Plan, PlannedConfiguration
from trialbook.model.trial import EgressRecord, Isolation
from trialbook.stats.views import Counts, Tally

# One letter an outcome, so that a matrix survives colour blindness, print and a plain terminal.
LETTERS: Mapping[str, str] = {
    Outcome.ACCEPTED: "A",
    Outcome.REJECTED: "R",
    Outcome.NO_CHANGE: "N",
    Outcome.AGENT_ERROR: "E",
    Outcome.AGENT_TIMEOUT: "T",
    Outcome.BUDGET_EXHAUSTED: "B",
    Outcome.POLICY_VIOLATION: "P",
    Outcome.NEEDS_REVIEW: "?",
    Outcome.GRADER_FAILURE: "g",
    Outcome.PROVIDER_OUTAGE: "o",
    Outcome.ENVIRONMENT_FAILURE: "e",
    Outcome.CANCELLED: "c",
    NOT_RUN: "-",
}
NOT_RUN_MEANING = "Scheduled, and no trial on record."
_HUNDRED_PERCENT_IN_TENTHS = 1000


def words(code: str) -> str:
    """A code of the closed vocabularies as words: ``agent_timeout`` is *agent timeout*."""
    return code.replace("_", " ")


def meaning(outcome: str) -> str:
    """One sentence for an outcome, *not run* included."""
    return NOT_RUN_MEANING if outcome == NOT_RUN else Outcome(outcome).meaning


def tone(outcome: str) -> str:
    """What an outcome says about the configuration: accepted, failed, pending, errored or absent.

    *Failed* is about the agent's work, *errored* about us or the world.
    """
    if outcome == NOT_RUN:
        return "absent"
    kind = Outcome(outcome)
    if kind is Outcome.ACCEPTED:
        return "accepted"
    if kind is Outcome.NEEDS_REVIEW:
        return "pending"
    return "failed" if kind.valid else "errored"


def percent(share: Fraction) -> str:
    """A share with one decimal: ``80.0 %``. Ties go to the even digit."""
    tenths = round(share * _HUNDRED_PERCENT_IN_TENTHS)
    return f"{tenths // 10}.{tenths % 10} %"


def ratio(tally: Tally) -> str:
    """The counts alone: ``24/30``."""
    return f"{tally.accepted}/{tally.slots}"


def rate(tally: Tally) -> str:
    """A rate with its counts: ``24/30 (80.0 %)``; without slots there is no percentage."""
    share = tally.rate
    return ratio(tally) if share is None else f"{ratio(tally)} ({percent(share)})"


def bounds(counts: Counts) -> str:
    """Worst and best case: ``24/30 to 26/30 (80.0 % to 86.7 %)``; empty if nothing is missing."""
    found = counts.bounds
    if found is None or not counts.missing:
        return ""
    low, high = found
    if low.rate is None or high.rate is None:
        return ""
    return f"{ratio(low)} to {ratio(high)} ({percent(low.rate)} to {percent(high.rate)})"


def others(counts: Counts) -> str:
    """Why the slots that are not accepted are not: ``3 rejected, 1 agent timeout``."""
    rest = (
        f"{number} {words(outcome)}"
        for outcome, number in counts.outcomes.items()
        if outcome != Outcome.ACCEPTED
    )
    return ", ".join(rest)


def number_of(count: int, singular: str, plural: str = "") -> str:
    """A count with its noun: ``1 trial``, ``2 trials``."""
    return f"{count} {singular if count == 1 else plural or singular + 's'}"


def number_of_minutes(minutes: float) -> str:
    """A length of time as people gave it: ``1 minute``, ``2.5 minutes``."""
    return f"{minutes:g} minute{'' if minutes == 1 else 's'}"


def part_said(plan: Plan) -> str:
    """How much of its suite a plan has, if not all: ``1 of 16 tasks, 1 of 3 configurations``."""
    if not plan.partial:
        return ""
    parts = [
        f"{len(have)} of {number_of(of, noun)}"
        for have, of, noun in (
            (plan.tasks, plan.suite_tasks, "task"),
            (plan.configurations, plan.suite_configurations, "configuration"),
        )
        if of is not None
    ]
    return ", ".join(parts)


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: ``a, b and c``."""
    known = list(names)
    return " and ".join([", ".join(known[:-1]), known[-1]] if len(known) > 1 else known)


def money(usd: Decimal) -> str:
    """An amount with at least cents, and every digit that is known: ``$0.0042``."""
    exact = usd.normalize()
    digits = max(2, -int(exact.as_tuple().exponent)) if exact.is_finite() else 2
    return f"${exact:,.{digits}f}"


def duration(seconds: float) -> str:
    """A length of time: ``0.4 s``, ``12 s``, ``3 min 05 s``, ``2 h 03 min``."""
    if seconds < 10:  # noqa: PLR2004 - below ten seconds a decimal tells something
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:  # noqa: PLR2004 - minutes of an hour
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def size(count: int) -> str:
    """A size in bytes, kB or MB (powers of ten)."""
    if count < 1000:  # noqa: PLR2004 - powers of ten
        return f"{count} B"
    if count < 1_000_000:  # noqa: PLR2004
        return f"{count / 1000:.1f} kB"
    return f"{count / 1_000_000:.1f} MB"


def nature(configuration: PlannedConfiguration) -> str:
    """What a configuration is when it is no ordinary agent at work, in a sentence; else empty.

    Results of a recording, a script or a known-good control must never pass for an agent's.
    """
    parts: list[str] = []
    ran = _ran(configuration)
    if any(agent == "replay" for agent, _ in ran):
        parts.append("files recorded beforehand are replayed; no agent was at work")
    if any(agent == "command" and model is None for agent, model in ran):
        parts.append("a program is run that names no model")
    if configuration.gives_reference:
        parts.append("the task's reference answer is handed over, as a known-good control")
    return "; ".join(parts)


def nature_label(configuration: PlannedConfiguration) -> str:
    """The same in one or two words for a table: *replayed*, *scripted*, *given the reference*."""
    labels: list[str] = []
    ran = _ran(configuration)
    if any(agent == "replay" for agent, _ in ran):
        labels.append("replayed")
    if any(agent == "command" and model is None for agent, model in ran):
        labels.append("scripted")
    if configuration.gives_reference:
        labels.append("given the reference")
    return ", ".join(labels)


def _ran(configuration: PlannedConfiguration) -> list[tuple[str, str | None]]:
    """Agent and model of each attempt that a configuration may make."""
    further = configuration.escalation
    first = [(configuration.agent, configuration.model)]
    return first if further is None else [*first, (further.to.agent, further.to.model)]


def network_said(isolation: Isolation) -> str:
    """What an agent's network was declared to be, and whether that was held to."""
    if isolation.network_open:
        return "open: the host's own network, nothing held back"
    held = "enforced" if isolation.network_enforced else "NOT ENFORCED"
    return f"{isolation.network_declared}: {held}"


def egress_said(egress: EgressRecord) -> str:
    """What was seen of an agent's network, in a line."""
    counts = f"{egress.allowed} let through, {egress.refused} refused, {egress.failed} failed"
    hosts = f"; {', '.join(egress.hosts)}" if egress.hosts else ""
    refused = f"; refused: {', '.join(egress.hosts_refused)}" if egress.hosts_refused else ""
    total = number_of(egress.allowed + egress.refused + egress.failed, "request")
    moved = f"{size(egress.sent)} sent, {size(egress.received)} received"
    return f"{total}: {counts}{hosts}{refused}; {moved}"
