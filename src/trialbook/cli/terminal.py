"""The one door to rich: tables and marks for a terminal, and nothing that an agent wrote acts.

Everything is rendered to text first, so that colour is a choice of the caller and pipes get plain
text of the same content.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from trialbook.cli.grid import Column, Grid
from trialbook.formats.visible import pieces, visible_line
from trialbook.model.plan import SlotKey
from trialbook.reporting.summary import ConfigurationSummary, Summary, amount_said, checks_said
from trialbook.reporting.wording import (
    LETTERS,
    number_of,
    others,
    rate,
    ratio,
    tone,
    words,
)
from trialbook.stats.views import Counts

__all__ = [
    "Column",
    "Part",
    "Text",
    "answer_text",
    "block",
    "facts",
    "heading",
    "lines",
    "matrix_parts",
    "outcome_text",
    "ratio",
    "render",
    "safe",
    "spend_said",
    "summary_parts",
    "summary_text",
    "table",
]

Part = RenderableType
"""Something that `render` draws: text, a table."""

# Where results go to no terminal, lines may be long.
_WIDTH = 160
_TONES: Mapping[str, str] = {
    "accepted": "bold green",
    "failed": "bold red",
    "pending": "bold yellow",
    "errored": "magenta",
    "absent": "dim",
}
_ACTING = Style(reverse=True)


def safe(text: str, style: str = "") -> Text:
    """Any text on one line, acting characters as visible escapes that stand out."""
    shown = Text()
    for piece, acting in pieces(text.replace("\n", " ").replace("\t", " ")):
        shown.append(piece, _ACTING if acting else style)
    return shown


def block(text: str) -> Part:
    """Any text line by line, indented, acting characters as visible escapes that stand out."""
    shown = Text(overflow="fold")
    for piece, acting in pieces(text.rstrip("\n")):
        shown.append(piece, _ACTING if acting else None)
    return Padding(shown, (0, 0, 0, 2))


def lines(rows: Iterable[tuple[str, str]]) -> Iterator[Text]:
    """Names and values to copy, one pair a line, never broken into two."""
    known = list(rows)
    longest = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        shown = Text(no_wrap=True).append(f"{name:<{longest}}  ", style="dim")
        yield shown.append_text(safe(value))


def outcome_text(outcome: str) -> Text:
    """An outcome in words, in the colour of what it says."""
    return Text().append(words(outcome), style=_TONES[tone(outcome)])


def answer_text(passed: bool | None) -> Text:  # noqa: FBT001 - a check's own answer
    """A check's answer: yes, no, or unknown."""
    word, kind = {True: ("yes", "accepted"), False: ("no", "failed"), None: ("unknown", "errored")}[
        passed
    ]
    return Text(word, style=_TONES[kind])


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[str | Text]], *, spread: bool = False
) -> Grid:
    """A table that fits the place where it is shown. Text cells are made safe.

    One that is too wide becomes a block of lines for each row or, with ``spread``, several tables.
    """
    heads = [safe(column.head) for column in columns]
    cells = [[safe(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    return Grid(columns, heads, cells, spread=spread)


def facts(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """Names and values, one pair a line."""
    shown = Table(box=None, show_header=False, pad_edge=False)
    shown.add_column(style="dim", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in rows:
        shown.add_row(name, safe(value) if isinstance(value, str) else value)
    return shown


def heading(text: str) -> Text:
    """A line that begins a part."""
    return safe(text, style="bold")


def render(parts: Iterable[Part], *, colour: bool, width: int | None = None) -> str:
    """The parts as text, with escape sequences only where ``colour`` asks for them.

    ``width`` is in columns; by default the terminal's.
    """
    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=colour,
        color_system="standard" if colour else None,
        width=width or _terminal_width(),
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for part in parts:
        whole = isinstance(part, Text) and part.no_wrap is True
        console.print(part, soft_wrap=whole)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n")).rstrip("\n")


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH


def summary_text(summary: Summary, *, colour: bool, width: int | None = None) -> str:
    """A run's counts per configuration: both views, checks per repetition, spend."""
    return render(summary_parts(summary), colour=colour, width=width)


def summary_parts(summary: Summary) -> list[Part]:
    """The same in parts."""
    parts: list[Part] = [_accepted_table(summary)]
    checks = _checks_table(summary)
    if checks is not None:
        parts += ["", checks]
    return parts


def _accepted_table(summary: Summary) -> Grid:
    missing = any(row.counts.missing for row in summary.configurations)
    columns = [
        Column(head="configuration"),
        Column(head="accepted", number=True, whole=True),
        Column(head="the rest"),
        Column(head="valid executions", number=True, whole=True),
        *([Column(head="worst to best", whole=True)] if missing else []),
        Column(head="spend", number=True),
    ]
    return table(columns, (_accepted_row(row, missing) for row in summary.configurations))


def _accepted_row(row: ConfigurationSummary, missing: bool) -> list[str | Text]:  # noqa: FBT001
    counts = row.counts
    whole = counts.all_scheduled.accepted == counts.all_scheduled.slots
    name = safe(row.name, style="bold")
    if row.label:
        name.append(f" ({row.label})", style="dim")
    return [
        name,
        Text(rate(counts.all_scheduled), style=_TONES["accepted"] if whole else ""),
        others(counts) or "none",
        rate(counts.valid_execution),
        *([_bounds(counts)] if missing else []),
        spend_said(row),
    ]


def _bounds(counts: Counts) -> str:
    found = counts.bounds
    if found is None or not counts.missing:
        return "none missing"
    return f"{ratio(found[0])} to {ratio(found[1])}"


def spend_said(row: ConfigurationSummary) -> str:
    """What a configuration cost, by basis; unknown is never 0."""
    if not row.spend:
        return "nothing ran"
    return ", ".join(
        f"{amount_said(entry)} ({visible_line(words(entry.basis))})"
        if entry.usd is not None
        else "unknown"
        if len(row.spend) == 1
        else f"unknown for {number_of(entry.trials, 'trial')}"
        for entry in row.spend
    )


def _checks_table(summary: Summary) -> Grid | None:
    graders = sorted({count.grader for row in summary.configurations for count in row.checks})
    if not graders:
        return None
    turns = [f"r{number}" for number in range(1, summary.repetitions + 1)]
    columns = [
        Column(head="checks passed, all tasks"),
        Column(head="grader"),
        *(Column(head=turn, number=True, whole=True) for turn in turns),
    ]
    rows: list[list[str | Text]] = []
    for row in summary.configurations:
        for grader in graders:
            counts = [count for count in row.checks if count.grader == grader]
            if counts:
                said = [
                    Text(checks_said(c), style="green" if c.graded and c.passed == c.total else "")
                    for c in counts
                ]
                rows.append([safe(row.name, style="bold"), grader, *said])
    return table(columns, rows)


def matrix_parts(summary: Summary) -> list[Part]:
    """Tasks by configurations, one letter a repetition, and what the letters mean."""
    columns = [Column(head="task"), *(Column(head=row.name) for row in summary.configurations)]
    rows: list[list[str | Text]] = [
        [task, *(_cell(summary, task, row.name) for row in summary.configurations)]
        for task in summary.tasks
    ]
    legend = Text()
    for outcome in LETTERS:
        if outcome in summary.total.outcomes:
            legend.append(LETTERS[outcome], style=_TONES[tone(outcome)])
            legend.append(f" {words(outcome)}   ", style="dim")
    if any(len(cell.trials) > 1 for cell in summary.cells.values()):
        legend.append("+ run again   ", style="dim")
    if any(cell.changed for cell in summary.cells.values()):
        legend.append("* not as recorded", style="dim")
    return [table(columns, rows, spread=True), legend]


def _cell(summary: Summary, task: str, configuration: str) -> Text:
    shown = Text()
    for repetition in range(1, summary.repetitions + 1):
        cell = summary.cells.get(SlotKey(task, configuration, repetition))
        if cell is None:
            continue
        shown.append(LETTERS[cell.outcome], style=_TONES[tone(cell.outcome)])
        marks = ("+" if len(cell.trials) > 1 else "") + ("*" if cell.changed else "")
        shown.append(f"{marks} ")
    return shown
