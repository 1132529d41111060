"""Pages of comparisons: two configurations of one run, or of several runs together.

They say what ``trialbook compare`` prints, in its words, and show where that comes from.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from trialbook.api import Page
from trialbook.model.plan import Plan, SlotKey
from trialbook.reporting.arms import Arm, arm
from trialbook.reporting.checks import check_counts
from trialbook.reporting.comparability import obstacles
from trialbook.reporting.comparison import Compared, compare_arms
from trialbook.reporting.comparison_said import (
    CATEGORIES_HEAD,
    ESTIMATES_HEAD,
    answer,
    category_table,
    estimates_row,
    evidence,
    needed,
    views,
)
from trialbook.reporting.results import RunResults
from trialbook.reporting.sides import declared, reasons_against, rule
from trialbook.reporting.wording import number_of, percent, ratio, words
from trialbook.site.addresses import (
    across_page,
    comparison_page,
    configuration_page,
    run_page,
    suite_page,
    task_page,
)
from trialbook.site.comparison_plots import difference_plot, from_to, task_slopes
from trialbook.site.costs_page import run_money
from trialbook.site.figures import cell_figure, when
from trialbook.site.ledger_view import LedgerView
from trialbook.site.run_plots import cost_plot_of, pass_plot_of, spent_of, tradeoff_of
from trialbook.stats.paired import PairedTask
from trialbook.stats.verdict import Rule, Verdict
from trialbook.storage.reader import RunRef

Pair = tuple[str, str]
"""The names of a baseline and a candidate."""

_PAIRS = 28
_TASKS_SHOWN, _MOVED_SHOWN = 60, 100
_CHECKS_SHOWN = 100
_RUNS_ACROSS, _SLOTS_ACROSS = 12, 600
"""What is compared over several runs on a page; more of it is left to the command."""


def comparison_pairs(plan: Plan) -> list[Pair]:
    """The pairs of a plan's configurations: the declared one first, as it was declared."""
    pairs = list(combinations(plan.configurations, 2))
    if plan.compare is not None:
        first = (plan.compare.baseline, plan.compare.candidate)
        names = plan.configurations
        pairs = [pair for pair in pairs if set(pair) != set(first)]
        if first[0] in names and first[1] in names:
            pairs.insert(0, first)
    return pairs[:_PAIRS]


def comparison_links(run: RunRef, plan: Plan) -> list[list[str]]:
    """The comparisons of a run, each with its label and its page."""
    return [
        [f"{candidate} against {baseline}", comparison_page(run, baseline, candidate)]
        for baseline, candidate in comparison_pairs(plan)
    ]


def comparison_pages(view: LedgerView, run: RunRef) -> Iterator[Page]:
    """A page for each pair of a run's configurations.

    What the page of costs tells of the run is worked out on the way, since the run is at hand here.
    """
    run_money(view, run)
    pairs = comparison_pairs(view.plan(run))
    if not pairs:
        return
    results = view.results(run)
    links = comparison_links(run, results.plan)
    for pair in pairs:
        yield _page(comparison_page(run, *pair), [(run, results)], pair, links)


def across(view: LedgerView, suite: str) -> list[RunRef]:
    """The runs of a suite that are compared together: of the newest lock, complete and no drafts.

    None where there are fewer than two of them, or more trials than a page is worth.
    """
    able = [
        brief.ref
        for brief in view.briefs(suite)[-_RUNS_ACROSS:]
        if brief.closed and not brief.draft and not brief.partial
    ]
    if not able:
        return []
    newest = view.plan(able[-1])
    found = [run for run in able if not obstacles([view.plan(run), newest])]
    slots = sum(len(view.plan(run).schedule) for run in found)
    return found if len(found) > 1 and slots <= _SLOTS_ACROSS else []


def across_links(view: LedgerView, suite: str) -> list[list[str]]:
    """The comparisons over several runs of a suite, each with its label and its page."""
    return [
        [f"{candidate} against {baseline}", across_page(suite, baseline, candidate)]
        for baseline, candidate in _pairs_across(view, across(view, suite))
    ]


def across_pages(view: LedgerView, suite: str) -> Iterator[Page]:
    """A page for each pair of configurations over the runs of a suite that compare."""
    runs = across(view, suite)
    pairs = _pairs_across(view, runs)
    if not pairs:
        return
    links = across_links(view, suite)
    together = [(run, view.results(run)) for run in runs]
    for pair in pairs:
        yield _page(across_page(suite, *pair), together, pair, links)


def _pairs_across(view: LedgerView, runs: Sequence[RunRef]) -> list[Pair]:
    found: dict[frozenset[str], Pair] = {}
    plans = [view.plan(run) for run in reversed(runs)]
    names = list(dict.fromkeys(name for plan in plans for name in plan.configurations))
    for pair in [*(pair for plan in plans for pair in comparison_pairs(plan)[:1])]:
        found.setdefault(frozenset(pair), pair)
    for pair in combinations(names, 2):
        found.setdefault(frozenset(pair), pair)
    return list(found.values())[:_PAIRS]


# --- one page ------------------------------------------------------------------------------------

Together = Sequence[tuple[RunRef, RunResults]]
"""The runs that are compared together, in the order of time."""


def _page(path: str, together: Together, pair: Pair, links: Sequence[Sequence[str]]) -> Page:
    results = [one for _, one in together]
    plan = results[-1].plan
    one, other = (arm(results, name) for name in pair)
    context: dict[str, Any] = {
        "suite": {"name": plan.suite, "page": suite_page(plan.suite)},
        "runs": [
            {"run": run.run, "page": run_page(run), "created": when(known.plan.created)}
            for run, known in together
        ],
        "baseline": {"name": pair[0], "page": configuration_page(plan.suite, pair[0])},
        "candidate": {"name": pair[1], "page": configuration_page(plan.suite, pair[1])},
        "protocol": plan.protocol,
        "decision": plan.decision,
        "planned": _planned(results, pair),
        "any_planned": declared(results) is not None,
        "others": [link for link in links if link[1] != path],
        "commands": [_command(results, pair)],
        "reasons": ["no run has both of them"],
        "found": None,
    }
    if one is not None and other is not None:
        context["reasons"] = reasons_against(results, one, other)
        context["counts"] = [
            [side.name, ratio(side.counts.all_scheduled), ratio(side.counts.valid_execution)]
            for side in (one, other)
        ]
        if not context["reasons"]:
            context["found"] = _found(together, one, other)
    title = f"{pair[1]} against {pair[0]} · {plan.suite}@{plan.protocol}"
    return Page(path=path, template="comparison.html", title=title, context=context)


def _planned(results: Sequence[RunResults], pair: Pair) -> bool:
    plans = declared(results)
    return plans is not None and (plans.baseline, plans.candidate) == pair


def _command(results: Sequence[RunResults], pair: Pair) -> str:
    runs = " ".join(shlex.quote(one.plan.run) for one in results)
    sides = f" --baseline {shlex.quote(pair[0])} --candidate {shlex.quote(pair[1])}"
    return f"trialbook compare {runs}{'' if _planned(results, pair) else sides}"


def _found(together: Together, one: Arm, other: Arm) -> dict[str, Any]:
    """What the comparison says, in the order in which a page tells it."""
    results = [known for _, known in together]
    by_rule = rule(results)
    compared = compare_arms(results, one, other, by_rule)
    ready = compared.verdict is not Verdict.NOT_READY
    up, down = (compared.valid.up, compared.valid.down) if compared.valid is not None else ((), ())
    money = _money(results, compared) if ready else ([], None)
    return {
        "answer": answer(compared),
        "verdict": words(compared.verdict.value),
        "tone": _TONES[compared.verdict],
        "ready": ready,
        "because": list(compared.because),
        "rule": _rule_said(by_rule, results),
        "views": views(compared),
        "estimates_head": list(ESTIMATES_HEAD),
        "estimates": [estimates_row(found) for found in compared.estimates] if ready else [],
        "evidence": list(evidence(compared)),
        "difference": difference_plot(compared),
        "slopes": task_slopes(compared),
        "up": [_task(together, task, compared) for task in up[:_MOVED_SHOWN]],
        "down": [_task(together, task, compared) for task in down[:_MOVED_SHOWN]],
        "moved_hidden": max(0, len(up) - _MOVED_SHOWN) + max(0, len(down) - _MOVED_SHOWN),
        "unstable": [_task(together, task, compared) for task in compared.unstable][:_TASKS_SHOWN],
        "unstable_hidden": max(0, len(compared.unstable) - _TASKS_SHOWN),
        "categories_head": list(CATEGORIES_HEAD),
        "categories": category_table(compared.categories),
        "passes": pass_plot_of([compared.baseline, compared.candidate]) if ready else None,
        "tradeoff": money[0],
        "costs": money[1],
        "checks": _checks(results, compared) if ready else None,
        "needed": needed(compared),
        "differs": list(compared.differs),
        "cautions": list(compared.cautions),
    }


_TONES = {
    Verdict.BETTER: "good",
    Verdict.WORSE: "bad",
    Verdict.EQUIVALENT: "good",
    Verdict.NO_REGRESSION: "good",
    Verdict.INCONCLUSIVE: "open",
    Verdict.NOT_READY: "warn",
}


def _rule_said(by_rule: Rule, results: Sequence[RunResults]) -> list[str]:
    """The rule that gave the verdict, a sentence each."""
    level = f"{by_rule.level:.3g}"
    proof = (
        "Better or worse: the interval of the mean difference leaves out 0, and the exact "
        f"sign-flip test over tasks gives p of {level} or less."
    )
    said = [proof]
    plans = declared(results)
    if by_rule.margin is None:
        said.append("No margin was declared, so nothing can be called equivalent or not worse.")
    else:
        because = f", because {plans.because}" if plans is not None and plans.because else ""
        said.append(
            f"Margin: {float(by_rule.margin * 100):g} points{because}. Equivalent, or no "
            "regression beyond it, is said only if the bounds lie inside it, or above its lower "
            f"end, and at most {percent(by_rule.max_collapse_share)} of such tasks may collapse."
        )
    if by_rule.looks > 1:
        said.append(f"{by_rule.looks} looks were planned, each at its part of the level.")
    return said


def _task(together: Together, task: PairedTask, compared: Compared) -> dict[str, Any]:
    """A task with its counts, and its slots in both arms with the trials that they lead to."""
    suite = together[-1][0].suite
    names = (compared.baseline.name, compared.candidate.name)
    return {
        "task": task.task,
        "page": task_page(suite, task.task),
        "said": from_to(task),
        "arms": [
            [
                cell_figure(run, results.summary.cells[key])
                for run, results in together
                for number in range(1, results.summary.repetitions + 1)
                if (key := SlotKey(task.task, name, number)) in results.summary.cells
            ]
            for name in names
        ],
    }


def _money(results: Sequence[RunResults], compared: Compared) -> tuple[list[str], Any]:
    """What acceptance and cost say together, and their plot; of one run only."""
    if len(results) != 1:
        return [], None
    names = (compared.baseline.name, compared.candidate.name)
    spent = [one for one in spent_of(results[0]) if one.cost.configuration in names]
    said = tradeoff_of(compared, spent)
    return said, cost_plot_of(spent, said)


def _checks(results: Sequence[RunResults], compared: Compared) -> dict[str, Any] | None:
    """The checks that the two did not pass equally often; of one run only."""
    if len(results) != 1:
        return None
    names = (compared.baseline.name, compared.candidate.name)
    counts = check_counts(results[0])
    apart = []
    for check in counts:
        one, other = (check.passed[name] for name in names)
        if one.slots and other.slots and one.rate != other.rate:
            apart.append((abs((one.rate or 0) - (other.rate or 0)), check))
    apart.sort(key=lambda found: (-found[0], found[1].task, found[1].grader, found[1].id))
    rows = [
        {
            "task": check.task,
            "id": check.id,
            "question": check.question,
            "passed": [
                {"said": ratio(tally), "full": tally.accepted == tally.slots}
                for tally in (check.passed[name] for name in names)
            ],
        }
        for _, check in apart[:_CHECKS_SHOWN]
    ]
    same = len(counts) - len(apart)
    return {
        "configurations": list(names),
        "rows": rows,
        "hidden": max(0, len(apart) - _CHECKS_SHOWN),
        "same": number_of(same, "check"),
        "any": bool(counts),
    }
