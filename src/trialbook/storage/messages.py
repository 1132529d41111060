"""Messages of ledger commits: a subject that a person can scan, and trailers for programs.

Names and reasons may come from an agent: whatever they hold, a message keeps its shape.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable

from trialbook.model.alarm import Alarm
from trialbook.model.amendment import Amendment
from trialbook.model.calibration import Calibration
from trialbook.model.generation import Generation
from trialbook.model.incident import ClosedIncident, OpenedIncident
from trialbook.model.outcome import Outcome
from trialbook.model.plan import DRAFT, Plan
from trialbook.model.regrade import Regrade
from trialbook.model.review import UNRESOLVED, Reconciliation, Review
from trialbook.model.rule import Rule
from trialbook.model.trial import Trial

_WIDTH = 72
_LONGEST = 1000
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def trial_message(trial: Trial) -> str:
    """``trial refunds/negative-amount current r2: rejected (2/3 checks)``, reason, trailers."""
    turn = trial.path.rsplit("/", 1)[-1]
    # A grader that was stopped, or broke, before it had any check has no counts to tell.
    counted = (grade for grade in trial.grades if grade.total)
    counts = ", ".join(f"{grade.passed}/{grade.total} {grade.grader}" for grade in counted)
    subject = f"trial {trial.suite}/{trial.task} {trial.configuration} {turn}: {trial.outcome}"
    trailers = {
        "Run": f"{trial.suite}/{trial.run}",
        "Slot": trial.slot.path,
        "Outcome": trial.outcome.value,
    }
    if trial.status == DRAFT:
        trailers["Status"] = DRAFT
    if trial.replaces is not None:
        trailers["Replaces"] = trial.replaces
    if trial.incident is not None:
        trailers["Incident"] = trial.incident
    return _message(subject + (f" ({counts})" if counts else ""), [trial.reason], trailers)


def plan_message(plan: Plan) -> str:
    """What is going to be run, and for which decision."""
    size = (
        f"{_count(len(plan.tasks), 'task')}, {_count(len(plan.configurations), 'configuration')}, "
        f"{_count(plan.repetitions, 'repetition')}"
    )
    return _message(
        f"plan {plan.path}{_mark(plan)}: {_count(len(plan.schedule), 'trial')} ({size})",
        [plan.decision],
        {"Run": plan.path, "Protocol": f"{plan.protocol} ({plan.status})"},
    )


def results_message(plan: Plan, trials: Iterable[Trial]) -> str:
    """How many of all scheduled slots each configuration got accepted, by their first trials."""
    return _message(
        f"results {plan.path}{_mark(plan)}: {accepted_counts(plan, trials)} accepted",
        ["Counted over all scheduled slots, each by its first trial."],
        {"Run": plan.path},
    )


def amendment_message(amendment: Amendment) -> str:
    """``amend negative-amount/current/r2: agent_error is provider_outage``, reason, trailers."""
    said = []
    if amendment.outcome is not None:
        said.append(f"{amendment.outcome.was} is {amendment.outcome.now}")
    if amendment.interventions:
        kinds = sorted({one.kind.value for one in amendment.interventions})
        said.append(f"{_count(len(amendment.interventions), 'intervention')} ({', '.join(kinds)})")
    if amendment.note is not None:
        said.append("note")
    trailers = {
        "Run": amendment.run,
        "Amends": f"{amendment.run}/{amendment.trial}",
        "Author": amendment.author,
    }
    if amendment.outcome is not None:
        trailers["Outcome"] = amendment.outcome.now.value
    subject = f"amend {amendment.trial}: {', '.join(said)}"
    return _message(subject, [amendment.reason, amendment.note or ""], trailers)


def opened_message(incident: OpenedIncident, runs: Iterable[str]) -> str:
    """``incident refunds: provider, opened``, what happened, trailers."""
    return _message(
        f"incident {incident.suite}: {incident.kind}, opened",
        [incident.reason],
        {"Incident": incident.incident, **_runs(runs), "Author": incident.author},
    )


def closed_message(incident: ClosedIncident, runs: Iterable[str]) -> str:
    """``incident refunds: closed, rerun``, why, trailers."""
    return _message(
        f"incident {incident.suite}: closed, {incident.decision}",
        [incident.reason],
        {
            "Incident": incident.incident,
            "Decision": incident.decision.value,
            **_runs(runs),
            "Author": incident.author,
        },
    )


def regrade_message(regrade: Regrade) -> str:
    """``regrade refunds/2026...: 12 trials, 2 outcomes differ``, why, trailers."""
    differ = sum(trial.was is not trial.outcome for trial in regrade.trials)
    flaky = sum(one.flaky for one in regrade.differences)
    said = [_count(len(regrade.trials), "trial"), f"{_count(differ, 'outcome')} changed"]
    if flaky:
        said.append(f"{_count(flaky, 'flaky grade')}")
    if regrade.left_out:
        said.append(f"{len(regrade.left_out)} left out")
    return _message(
        f"regrade {regrade.run}: {', '.join(said)}",
        [regrade.reason],
        {
            "Run": regrade.run,
            "Regrade": regrade.id,
            "Graders": ", ".join(f"{one.grader} {one.version}" for one in regrade.graders),
            "Author": regrade.author,
        },
    )


def review_message(review: Review) -> str:
    """``review refunds/2026...: packet 0123456789ab by ann``; nothing that names a trial."""
    return _message(
        f"review {review.run}: packet {review.packet} by {review.reviewer}",
        [],
        {
            "Run": review.run,
            "Packet": review.packet,
            "Reviewer": review.reviewer,
            "Rubric": review.rubric,
        },
    )


def reconciliation_message(record: Reconciliation) -> str:
    """``reconcile negative-amount/current/r2: 2 items, 1 unresolved``, trailers."""
    open_ = sum(one.final == UNRESOLVED for one in record.items)
    said = _count(len(record.items), "item") + (f", {open_} unresolved" if open_ else "")
    return _message(
        f"reconcile {record.trial}: {said}",
        [f"{one.item}: {one.final}. {one.text}" for one in record.items],
        {
            "Run": record.run,
            "Reconciliation": record.id,
            "Participants": ", ".join(record.participants),
        },
    )


def calibration_message(record: Calibration) -> str:
    """``calibrate strict with merge@1: advisory (17/20 agree, 2 false accepts)``, trailers."""
    errors = record.numbers.errors
    agree = errors.true_accepts + errors.true_rejects
    said = (
        f"{agree}/{len(record.labels)} agree, {_count(errors.false_accepts, 'false accept')}, "
        f"{_count(errors.false_rejects, 'false reject')}"
    )
    return _message(
        f"calibrate {record.identity.judge} with {record.rubric}: {record.numbers.level} ({said})",
        [],
        {
            "Calibration": record.id,
            "Judge": record.judge,
            "Rubric": record.rubric,
            "Author": record.author,
        },
    )


def rule_message(rule: Rule) -> str:
    """``finding 0123abcd is a rule: instructions``, what it is about, where, trailers."""
    return _message(
        f"finding {rule.group} is a rule: {rule.kind}",
        [rule.about.text, f"See {rule.link}."],
        {"Rule": rule.id, "Finding": rule.group, "Author": rule.author},
    )


def alarm_message(alarm: Alarm) -> str:
    """``gate refunds/2026... was a false alarm``, how that is known, trailers."""
    return _message(
        f"gate {alarm.run} was a {alarm.kind} alarm",
        [alarm.because],
        {"Alarm": alarm.id, "Run": alarm.run, "Author": alarm.author},
    )


def generation_message(plan: Plan, generation: Generation, trials: Iterable[Trial]) -> str:
    """``results refunds/2026... again: current 24/30 accepted``, why, trailers."""
    return _message(
        f"results {plan.path}{_mark(plan)} again: {accepted_counts(plan, trials)} accepted",
        [f"Made again because of: {generation.because}."],
        {"Run": generation.run, "Generation": generation.id, "Records": generation.records},
    )


def accepted_counts(plan: Plan, trials: Iterable[Trial]) -> str:
    """Accepted of all scheduled slots per configuration, each slot by its first trial."""
    first = {trial.slot: trial.outcome for trial in trials if trial.rerun == 0}
    lines = []
    for name in plan.configurations:
        slots = [slot.key for slot in plan.schedule if slot.configuration == name]
        accepted = sum(first.get(slot) is Outcome.ACCEPTED for slot in slots)
        lines.append(f"{name} {accepted}/{len(slots)}")
    return ", ".join(lines)


def _runs(runs: Iterable[str]) -> dict[str, str]:
    return {"Run": ", ".join(runs)}


def _mark(plan: Plan) -> str:
    return " (draft)" if plan.status == DRAFT else ""


def _message(subject: str, paragraphs: Iterable[str], trailers: dict[str, str]) -> str:
    body = [textwrap.fill(_one_line(text), _WIDTH, break_long_words=False) for text in paragraphs]
    lines = "\n".join(f"{key}: {_one_line(value)}" for key, value in trailers.items())
    return "\n\n".join([_one_line(subject), *filter(None, body), lines]) + "\n"


def _one_line(text: str) -> str:
    """The text without line breaks, runs of blanks, and characters that cannot be seen."""
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    shown = " ".join(text.split())
    return "".join("\ufffd" if unicodedata.category(c) in _HIDDEN else c for c in shown)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
