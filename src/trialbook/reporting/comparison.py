"""Two configurations compared: the verdict, what it rests on, and what it would have needed.

The verdict is over valid executions; it is withdrawn where the missing ones could change it. All
scheduled slots are compared beside it. Everything follows from the ledger.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import variance

from trialbook.model.plan import PlannedTask
from trialbook.reporting.arms import Arm, TaskSlots, what_differs
from trialbook.reporting.estimates import Estimates, estimates
from trialbook.reporting.results import RunResults
from trialbook.reporting.wording import listed, number_of
from trialbook.stats.exact import Relabelling, holm, moved_for, sign_flip
from trialbook.stats.interval import Interval
from trialbook.stats.paired import PairedTask, differences, mean_difference, paired
from trialbook.stats.passk import TaskTrials
from trialbook.stats.power import tasks_needed
from trialbook.stats.verdict import Comparison, Rule, Verdict, compare
from trialbook.stats.views import comparable

MOST_INVALID = Fraction(10, 100)
"""With a larger share of slots without a valid trial, an arm is not ready to be compared."""

POINTS = (Fraction(5, 100), Fraction(10, 100), Fraction(15, 100))
"""The differences for which the tasks needed are told, besides the margin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryRow:
    """One category: its mean difference, tasks moved of tasks, and p after Holm over categories.

    ``p`` is None where too few tasks moved to test; ``flagged`` marks a drop that could be real all
    the same: a possible regression that cannot be tested. ``interval`` is that of this category by
    itself, not adjusted for the others, so no claim rests on it; None for fewer than two tasks.
    """

    category: str
    tasks: int
    up: tuple[str, ...]
    down: tuple[str, ...]
    difference: Fraction
    p: Fraction | float | None
    flagged: bool
    interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """How many tasks like these find a difference of this size in four of five runs."""

    difference: Fraction
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A comparison of two arms. ``valid`` and ``scheduled`` are None while it is not ready.

    ``verdict`` is the one that counts; ``because`` are the reasons why it is weaker than what the
    valid executions alone would give, or why there is none. ``within_suite`` is the two-sided p
    that behaviour changed on these very tasks. ``unstable`` tells the tasks whose repetitions
    disagree, with accepted of counted in each arm.
    """

    baseline: Arm
    candidate: Arm
    verdict: Verdict
    because: tuple[str, ...]
    rule: Rule
    valid: Comparison | None
    scheduled: Comparison | None
    within_suite: Fraction | float | None
    categories: tuple[CategoryRow, ...]
    unstable: tuple[PairedTask, ...]
    needed: tuple[Needed, ...]
    estimates: tuple[Estimates, Estimates]
    differs: tuple[str, ...]
    cautions: tuple[str, ...]


def compare_arms(
    results: Sequence[RunResults], baseline: Arm, candidate: Arm, rule: Rule
) -> Compared:
    """Compare two arms of some runs that may be compared (see `comparability.obstacles`).

    An open run is compared at a look that its plan declares, by the rounds up to it.
    """
    look = _look(results, baseline, candidate)
    if look is not None:
        baseline, candidate = baseline.up_to(look), candidate.up_to(look)
    differs = what_differs(baseline.planned, candidate.planned)
    plain = Compared(
        baseline=baseline,
        candidate=candidate,
        verdict=Verdict.NOT_READY,
        because=tuple(not_ready(baseline, candidate)),
        rule=rule,
        valid=None,
        scheduled=None,
        within_suite=None,
        categories=(),
        unstable=(),
        needed=(),
        estimates=(estimates(baseline), estimates(candidate)),
        differs=tuple(differs),
        cautions=(
            *([f"a look that was planned: after {number_of(look, 'round')}"] if look else []),
            *_cautions(results, baseline, candidate, differs),
        ),
    )
    return plain if plain.because else _computed(plain, results)


def _look(results: Sequence[RunResults], *arms: Arm) -> int | None:
    """The planned look that an open run has just reached, if it has."""
    if len(results) != 1 or results[0].plan.compare is None:
        return None
    rounds = min(arm.whole_rounds for arm in arms)
    return rounds if rounds in results[0].plan.compare.looks else None


def _computed(plain: Compared, results: Sequence[RunResults]) -> Compared:
    valid = compare(_pairs(plain, TaskSlots.valid, TaskSlots.valid), plain.rule)
    categories = _categories(valid.tasks, results, plain.rule)
    verdict, because = _weighed(plain, valid, categories)
    values = list(differences(valid.tasks).values())
    spread = variance([float(value) for value in values]) if len(values) > 1 else 0.0
    sizes = sorted({*POINTS, *([plain.rule.margin] if plain.rule.margin else [])})
    needed = [(size, tasks_needed(float(size), spread, plain.rule.level)) for size in sizes]
    return replace(
        plain,
        verdict=verdict,
        because=tuple(because),
        valid=valid,
        scheduled=compare(_pairs(plain, TaskSlots.scheduled, TaskSlots.scheduled), plain.rule),
        within_suite=_within_suite(valid.tasks),
        categories=categories,
        unstable=tuple(task for task in valid.tasks if _disagree(task)),
        needed=tuple(
            Needed(difference=size, tasks=tasks) for size, tasks in needed if tasks is not None
        ),
    )


def not_ready(*arms: Arm) -> list[str]:
    """Why nothing may be said of the difference yet, one sentence each."""
    found = []
    for arm in arms:
        counts = arm.counts
        unrun = sum(not chain.outcomes for task in arm.tasks for chain in task.chains)
        if unrun:
            slots = counts.all_scheduled.slots
            found.append(f"{arm.name}: {unrun} of {number_of(slots, 'slot')} did not run yet")
        if counts.pending:
            found.append(f"{arm.name}: {number_of(counts.pending, 'slot')} wait for a person")
        if unrun or counts.pending:
            continue
        if arm.invalid_share > MOST_INVALID:
            lost = counts.all_scheduled.slots - counts.valid_execution.slots
            found.append(
                f"{arm.name}: {lost} of {number_of(counts.all_scheduled.slots, 'slot')} have no "
                "valid trial, more than a tenth"
            )
        empty = [task.task for task in arm.tasks if not task.valid().counted]
        if empty:
            found.append(f"{arm.name}: no valid trial of {listed(empty)}")
    return found


def _pairs(
    compared: Compared,
    one: Callable[[TaskSlots], TaskTrials],
    other: Callable[[TaskSlots], TaskTrials],
) -> tuple[PairedTask, ...]:
    return paired(compared.baseline.trials(one), compared.candidate.trials(other))


def _weighed(
    compared: Compared, valid: Comparison, categories: Sequence[CategoryRow]
) -> tuple[Verdict, list[str]]:
    """The verdict after what is missing and what a category may hide."""
    verdict, because = valid.verdict, []
    claims_no_loss = verdict in (Verdict.EQUIVALENT, Verdict.NO_REGRESSION)
    lost = -(compared.rule.margin or Fraction(0))
    flagged = [row.category for row in categories if row.flagged and row.difference <= lost]
    if claims_no_loss and flagged:
        verdict = Verdict.INCONCLUSIVE
        because.append(f"a possible regression that cannot be tested in {listed(flagged)}")
    worst = _pairs(compared, _accepting, _refusing)
    best = _pairs(compared, _refusing, _accepting)
    others = {compare(tasks, compared.rule).verdict for tasks in (worst, best)}
    if verdict is not Verdict.INCONCLUSIVE and others != {valid.verdict}:
        verdict = Verdict.INCONCLUSIVE
        because.append("missing outcomes could change it")
    if not comparable(compared.baseline.counts, compared.candidate.counts):
        verdict = Verdict.INCONCLUSIVE
        because.append("the two lost too different numbers of slots for a comparison")
    return verdict, because


def _accepting(task: TaskSlots) -> TaskTrials:
    return task.filled(accepted=True)


def _refusing(task: TaskSlots) -> TaskTrials:
    return task.filled(accepted=False)


def _within_suite(tasks: Sequence[PairedTask]) -> Fraction | float | None:
    scores = [(_scores(task.baseline), _scores(task.candidate)) for task in tasks]
    return Relabelling(scores).two_sided() if scores else None


def _scores(trials: TaskTrials) -> list[Fraction]:
    return [Fraction(1)] * trials.accepted + [Fraction(0)] * (trials.counted - trials.accepted)


def _disagree(task: PairedTask) -> bool:
    return any(0 < side.accepted < side.counted for side in (task.baseline, task.candidate))


def _categories(
    tasks: Sequence[PairedTask], results: Sequence[RunResults], rule: Rule
) -> tuple[CategoryRow, ...]:
    """One row for each category, in order of their names; a single one tells nothing more."""
    planned = {name: task.category for one in results for name, task in one.plan.tasks.items()}
    groups: dict[str, list[PairedTask]] = {}
    for task in tasks:
        groups.setdefault(planned[task.task], []).append(task)
    if len(groups) == 1:
        return ()
    rows = [_category(name, groups[name], rule) for name in sorted(groups)]
    adjusted = holm([one for one in (row.p for row in rows) if one is not None])
    left = iter(adjusted)
    return tuple(row if row.p is None else replace(row, p=next(left)) for row in rows)


def _category(name: str, tasks: Sequence[PairedTask], rule: Rule) -> CategoryRow:
    values = list(differences(tasks).values())
    mean = sum(values, Fraction(0)) / len(values)
    around = mean_difference(values, rule.level)
    testable = sum(value != 0 for value in values) >= moved_for(rule.level)
    return CategoryRow(
        category=name,
        tasks=len(tasks),
        up=tuple(task.task for task in tasks if (task.difference or 0) > 0),
        down=tuple(task.task for task in tasks if (task.difference or 0) < 0),
        difference=mean,
        p=sign_flip(values) if testable else None,
        flagged=not testable and mean < 0,
        interval=None if around is None else around.interval,
    )


def _origin(task: PlannedTask) -> str:
    """A repository or package whatever the revision; a folder or archive is told by its tree."""
    found = re.match(r"(git .+)@[0-9a-f]{40,64}(?=,|$)|(package \S+) ", task.source)
    return (found.group(1) or found.group(2)) if found else task.tree


def _cautions(
    results: Sequence[RunResults], baseline: Arm, candidate: Arm, differs: Sequence[str]
) -> list[str]:
    """What limits the answer, one sentence each."""
    found = []
    if not differs:
        found.append("the two configurations do not differ in anything that their plans fixed")
    if len(differs) > 1:
        found.append(
            f"more than one thing differs ({listed(differs)}): an effect belongs to all of them "
            "together"
        )
    if set(baseline.runs) != set(candidate.runs):
        found.append(
            "the two did not run side by side: a change of the model or its service in between is "
            "not excluded"
        )
    planned = [task for one in results for task in one.plan.tasks.values()]
    if len({(task.source, task.tree) for task in planned}) == 1:
        found.append("every task starts from one snapshot: one repository is one sample")
    elif len({_origin(task) for task in planned}) == 1:
        found.append("every task starts from the same source: one repository is one sample")
    known = sorted({t.contamination for one in results for t in one.plan.tasks.values()})
    if known not in (["private"], ["constructed"]):
        found.append(f"contamination as declared: {listed(known)}")
    return found
