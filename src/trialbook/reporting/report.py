"""``report.md``: what one run came to, for a reader of the repository.

Computed from the ledger alone, without clock or locale; made again, it is the same byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trialbook.model.outcome import Outcome
from trialbook.model.plan import SlotKey
from trialbook.reporting.attempts import attempts_section
from trialbook.reporting.breakdown import breakdown
from trialbook.reporting.checks import check_counts
from trialbook.reporting.costs import costs
from trialbook.reporting.costs_said import COSTS_HEAD, cost_row, review_line
from trialbook.reporting.expected import as_expected, said
from trialbook.reporting.markdown import code, link, prose, table
from trialbook.reporting.notices import notices
from trialbook.reporting.report_corrections import correction_sections
from trialbook.reporting.report_decision import (
    answer_line,
    compared,
    comparison_section,
    reliability,
)
from trialbook.reporting.report_opinions import opinion_section
from trialbook.reporting.report_sightings import sighting_section
from trialbook.reporting.results import RunResults, load_results
from trialbook.reporting.series_table import series_section, series_table
from trialbook.reporting.summary import (
    ConfigurationSummary,
    Summary,
    amount_said,
    checks_said,
)
from trialbook.reporting.wording import (
    LETTERS,
    bounds,
    listed,
    number_of,
    others,
    rate,
    ratio,
    words,
)
from trialbook.storage.reader import Reader, RunRef


def report_md(reader: Reader, run: RunRef) -> bytes:
    """The bytes of ``report.md`` for a run in the ledger.

    Raises:
        RecordError: a record that cannot be read.
    """
    return render_report(load_results(reader, run))


def render_report(results: RunResults) -> bytes:
    """The same for results that are at hand."""
    summary = results.summary
    plan = results.plan
    decided = compared(results)
    sections = [
        f"# {code(f'{plan.suite}@{plan.protocol}')}: run {code(plan.run)}\n",
        f"> {prose(plan.decision)}\n",
        *answer_line(results, decided),
        *_notices(results),
        "## Accepted\n",
        *_accepted(summary),
        *opinion_section(results),
        *series_section(series_table(tuple(plan.configurations), tuple(results.series.values()))),
        *reliability(results),
        *comparison_section(results, decided),
        *_checks(summary),
        *_failed_checks(results),
        "## Tasks and configurations\n",
        *_matrix(summary),
        *_breakdown(results),
        *attempts_section(results),
        *_expected(results),
        *_not_accepted(summary),
        *sighting_section(summary),
        *correction_sections(results),
        "## Spend\n",
        *_spend(results),
        "## How it was run\n",
        *_facts(results),
    ]
    return ("\n".join(sections)).encode()


def _notices(results: RunResults) -> Iterator[str]:
    lines = [f"- **{prose(n.title)}.** {prose(n.text)}\n" for n in notices(results)]
    if lines:
        yield "".join(lines)


def _accepted(summary: Summary) -> Iterator[str]:
    head = ["configuration", "what it is", "all scheduled", "why the rest were not"]
    head += ["valid executions", "if missing slots were known"]
    yield table(head, (_accepted_row(row) for row in summary.configurations), numbers=(2, 4))
    yield (
        f"Each number is accepted slots of counted slots, over "
        f"{number_of(len(summary.tasks), 'task')} with "
        f"{number_of(summary.repetitions, 'repetition')} each. *All scheduled* counts every slot "
        "by its first trial, slots that never ran included. *Valid executions* counts slots by "
        "their last trial and leaves out those that ended in a failure of ours or of a service, "
        "or that wait for a person.\n"
    )


def _accepted_row(row: ConfigurationSummary) -> list[str]:
    counts = row.counts
    return [
        code(row.name),
        row.label or "agent",
        rate(counts.all_scheduled),
        others(counts) or "all accepted",
        rate(counts.valid_execution),
        bounds(counts) or "none missing",
    ]


def _checks(summary: Summary) -> Iterator[str]:
    graders = sorted({c.grader for row in summary.configurations for c in row.checks})
    for grader in graders:
        yield f"## Graded by {code(grader)}\n"
        head = ["configuration", *(f"r{n}" for n in range(1, summary.repetitions + 1))]
        rows = [
            [code(row.name), *(checks_said(c) for c in row.checks if c.grader == grader)]
            for row in summary.configurations
            if any(c.grader == grader for c in row.checks)
        ]
        yield table(head, rows, numbers=range(1, summary.repetitions + 1))
    if graders:
        yield "Checks passed of checks asked, over all tasks, in each repetition.\n"


def _failed_checks(results: RunResults) -> Iterator[str]:
    counts = check_counts(results)
    failed = [check for check in counts if not check.always_passed]
    if not failed:
        return
    yield "## Checks answered *no*\n"
    configurations = list(results.plan.configurations)
    yield table(
        ["task", "check", *(code(name) for name in configurations)],
        (
            [code(c.task), code(c.id), *(ratio(c.passed[name]) for name in configurations)]
            for c in failed
        ),
        numbers=range(2, len(configurations) + 2),
    )
    rest = len(counts) - len(failed)
    if rest:
        yield f"{number_of(rest, 'other check')} passed whenever asked.\n"


def _matrix(summary: Summary) -> Iterator[str]:
    names = [row.name for row in summary.configurations]
    yield table(
        ["task", *(code(name) for name in names)],
        ([code(task), *(_cell(summary, task, name) for name in names)] for task in summary.tasks),
    )
    used = [outcome for outcome in LETTERS if outcome in summary.total.outcomes]
    legend = listed(f"{LETTERS[outcome]} {words(outcome)}" for outcome in used)
    yield f"One letter a repetition: {legend}. `+` marks a slot that was run again.\n"
    if any(cell.changed for cell in summary.cells.values()):
        yield "`*` marks an outcome that is not the recorded one; see *Corrections*.\n"


def _cell(summary: Summary, task: str, configuration: str) -> str:
    letters = []
    for repetition in range(1, summary.repetitions + 1):
        cell = summary.cells.get(SlotKey(task, configuration, repetition))
        if cell is not None:
            marks = ("+" if len(cell.trials) > 1 else "") + ("*" if cell.changed else "")
            letters.append(LETTERS[cell.outcome] + marks)
    return f"`{' '.join(letters)}`" if letters else ""


def _breakdown(results: RunResults) -> Iterator[str]:
    parts = breakdown(results)
    if not parts:
        return
    names = list(results.plan.configurations)
    yield "## By kind of task\n"
    yield table(
        ["kind", "tasks", *(code(name) for name in names)],
        (
            [
                f"{part.kind} {code(part.name) if part.name else 'none'}",
                str(part.tasks),
                *(rate(part.counts[name].valid_execution) for name in names),
            ]
            for part in parts
        ),
        numbers=range(1, len(names) + 2),
    )
    yield "Of valid executions. No kind is compared here: few tasks show little.\n"


def _expected(results: RunResults) -> Iterator[str]:
    lines = list(said(as_expected(results.plan, results.trials)))
    if lines:
        yield "## As the suite expects\n"
        yield "".join(f"- {prose(line)}\n" for line in lines)


def _not_accepted(summary: Summary) -> Iterator[str]:
    trials = [
        trial
        for cell in summary.cells.values()
        for trial in cell.trials
        if trial.outcome is not Outcome.ACCEPTED
    ]
    if not trials:
        return
    yield "## Trials that were not accepted\n"
    trials.sort(key=lambda trial: (trial.slot, trial.rerun))
    yield "".join(
        f"- {link(trial.path, trial.path)}: {words(trial.outcome)}: {code(trial.reason)}\n"
        for trial in trials
    )


def _spend(results: RunResults) -> Iterator[str]:
    yield table(
        ["configuration", "basis", "amount", "trials"],
        (
            [code(row.name), prose(words(entry.basis)), amount_said(entry), str(entry.trials)]
            for row in results.summary.configurations
            for entry in row.spend
        ),
        numbers=(2, 3),
    )
    yield (
        "All trials count, replaced ones too. Amounts with different bases are not added up, but "
        "for the attempts of one trial: then both are named.\n"
    )
    yield table(COSTS_HEAD, ([code(row[0]), *row[1:]] for row in map(cost_row, costs(results))))
    yield (
        "Medians with quartiles and the largest, over all trials. `>` marks a value that a limit "
        "cut short. Time is that of the agent's work.\n"
    )
    if line := review_line(results):
        yield f"{line}\n"


def _facts(results: RunResults) -> Iterator[str]:
    plan = results.plan
    facts: list[tuple[str, str]] = [
        ("planned", prose(plan.created)),
        ("status", prose(plan.status)),
        ("accepted when", code(plan.accept)),
        ("run again", rerun_said(plan.rerun)),
        ("order", f"{plan.schedule_method}, seed {code(plan.seed)}"),
        ("at once", number_of(plan.jobs, "trial")),
        ("program", prose(f"trialbook {plan.runner.trialbook}, Python {plan.runner.python}")),
        ("machine", prose(plan.runner.platform)),
        ("suite's digest", code(plan.suite_digest)),
    ]
    if plan.held_out_opened:
        opened = f"run {number_of(plan.held_out_opened, 'time')}, this one included"
        facts.append(("held-out tasks", opened))
    yield table(["fact", "value"], (list(fact) for fact in facts))
    yield (
        f"The whole plan is in {link('plan.json', 'plan.json')}, every trial as a row in "
        f"{link('results.csv', 'results.csv')}.\n"
    )
    yield table(
        ["task", "starts from", "tree"],
        ([code(n), prose(t.source), code(t.tree)] for n, t in plan.tasks.items()),
    )
    yield table(
        ["configuration", "agent", "model", "sandbox", "digest"],
        (
            [
                code(name),
                code(c.agent),
                code(c.model) if c.model else "none",
                code(c.sandbox),
                code(c.digest),
            ]
            for name, c in plan.configurations.items()
        ),
    )


def rerun_said(policy: dict[str, int | None]) -> str:
    """The rerun policy in words: ``environment failure once, cancelled any number of times``."""
    parts: Iterable[str] = (
        f"{words(outcome)} {_times(times)}" for outcome, times in policy.items() if times != 0
    )
    return ", ".join(parts) or "never"


def _times(times: int | None) -> str:
    if times is None:
        return "any number of times"
    return "once" if times == 1 else f"{times} times"
