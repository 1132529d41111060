"""Messages of ledger commits: a subject that a person can scan, and trailers for programs.

Names and reasons may come from an agent: whatever they hold, a message keeps its shape.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable

from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.trial import Trial

_WIDTH = 72
_LONGEST = 1000
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def trial_message(trial: Trial) -> str:
    """``trial refunds/negative-amount current r2: rejected (2/3 checks)``, reason, trailers."""
    turn = trial.path.rsplit("/", 1)[-1]
    counts = ", ".join(f"{grade.passed}/{grade.total} {grade.grader}" for grade in trial.grades)
    subject = f"trial {trial.suite}/{trial.task} {trial.configuration} {turn}: {trial.outcome}"
    trailers = {
        "Run": f"{trial.suite}/{trial.run}",
        "Slot": trial.slot.path,
        "Outcome": trial.outcome.value,
    }
    if trial.replaces is not None:
        trailers["Replaces"] = trial.replaces
    return _message(subject + (f" ({counts})" if counts else ""), [trial.reason], trailers)


def plan_message(plan: Plan) -> str:
    """What is going to be run, and for which decision."""
    size = (
        f"{_count(len(plan.tasks), 'task')}, {_count(len(plan.configurations), 'configuration')}, "
        f"{_count(plan.repetitions, 'repetition')}"
    )
    return _message(
        f"plan {plan.path}: {_count(len(plan.schedule), 'trial')} ({size})",
        [plan.decision],
        {"Run": plan.path, "Protocol": f"{plan.protocol} ({plan.status})"},
    )


def results_message(plan: Plan, trials: Iterable[Trial]) -> str:
    """How many of all scheduled slots each configuration got accepted, by their first trials."""
    first = {trial.slot: trial.outcome for trial in trials if trial.rerun == 0}
    lines = []
    for name in plan.configurations:
        slots = [slot.key for slot in plan.schedule if slot.configuration == name]
        accepted = sum(first.get(slot) is Outcome.ACCEPTED for slot in slots)
        lines.append(f"{name} {accepted}/{len(slots)}")
    return _message(
        f"results {plan.path}: {', '.join(lines)} accepted",
        ["Counted over all scheduled slots, each by its first trial."],
        {"Run": plan.path},
    )


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
