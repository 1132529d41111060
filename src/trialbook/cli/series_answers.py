"""``trialbook series``: what people are asked about series, their answers, and series together."""

from __future__ import annotations

from pathlib import Path

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.reading import open_reader
from trialbook.cli.series import project_parts, table_parts
from trialbook.cli.terminal import render
from trialbook.errors import UserError
from trialbook.formats.records import plain
from trialbook.model.series_questions import SERIES_RUBRICS
from trialbook.registry import Registry
from trialbook.reporting.results import load_results
from trialbook.reporting.series_table import series_table
from trialbook.storage.files import write_atomic
from trialbook.storage.reader import RunRef
from trialbook.workflow.review_drafts import FORM
from trialbook.workflow.series_reviewing import SeriesDesk

_EXAMPLE = "trialbook series questions RUN/export/steady/r1 --reviewer ann --rubric repair -o p"


@click.group("series", epilog=f"Example: {_EXAMPLE}")
def command() -> None:
    """Ask people about a series of sessions, one rubric at a time."""


@command.command("questions", epilog=f"Example: {_EXAMPLE}")
@click.argument("trial", metavar="TRIAL")
@click.option("--reviewer", required=True, metavar="NAME", help="Who you are; always the same.")
@click.option("--rubric", type=click.Choice(SERIES_RUBRICS), required=True, help="What is asked.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="A folder for the packet; made if it is not there.",
)
@pass_context
def questions(context: Context, *, trial: str, reviewer: str, rubric: str, output: Path) -> None:
    """Write the packet with one rubric about the series of TRIAL: the form, and what to judge.

    The briefs of all sessions and the whole change are in it, and nothing that says who made it.
    The sealed key is not. The trajectory comes last, when maintainability has been answered.
    """
    desk = _desk(context)
    found = desk.reader.resolve(trial)
    if isinstance(found, RunRef):
        raise UserError(
            f"{trial} is a run", hint="name one of its trials, RUN/TASK/CONFIGURATION/r1"
        )
    form = output / FORM
    if form.exists():
        raise UserError(f"{form} is there already", hint="name another folder")
    files = desk.files(desk.packet(*found, reviewer, rubric))
    output.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write_atomic(output / name, data)
    context.result(f"form     {form}")
    context.result(f"next     {context.program} series answer {form}")


@command.command("answer", epilog="Example: trialbook series answer p/review.yaml")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def answer(context: Context, *, file: Path, as_json: bool) -> None:
    """Hand in the answers in FILE: one commit on this branch that adds one file.

    They count for the series when as many people have answered the rubric as the plan asks for, or
    one where it asks nobody. Where people differ, the answer is open, and never counted as no.
    """
    done = _desk(context).answer(file, str(file))
    if as_json:
        context.json({"path": done.path, "commit": done.commit, "review": plain(done.review)})
        return
    context.result(f"answers  {done.path}")
    context.result(f"commit   git show {done.commit[:12]}")


@command.command("together", epilog="Example: trialbook series together RUN RUN")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def together(context: Context, *, runs: tuple[str, ...], as_json: bool) -> None:
    """Put the series of several runs side by side: by dimension, each project once.

    Configurations are the same where their names are. One project is a case report; with several
    each dimension is the mean of the projects' shares. Nothing is added up over dimensions.
    """
    reader = open_reader(context)
    found = [load_results(reader, reader.resolve_run(text)) for text in dict.fromkeys(runs)]
    names = dict.fromkeys(name for one in found for name in one.plan.configurations)
    views = [view for one in found for view in one.series.values()]
    made = series_table(tuple(names), views)
    if made is None:
        raise UserError(
            f"no series in {', '.join(runs)}", hint="name runs of tasks with several sessions"
        )
    if as_json:
        context.json(plain(made))
        return
    context.result(render([*table_parts(made), *project_parts(made)], colour=context.colour))


def _desk(context: Context) -> SeriesDesk:
    return SeriesDesk.open(context.root(), context.system, Registry())
