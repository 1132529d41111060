"""``trialbook reconcile``: settle what reviewers differ on, when all of them are in."""

from __future__ import annotations

from pathlib import Path

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.editing import ask_again, edited, file_state
from trialbook.errors import ExitCode, UserError
from trialbook.formats.records import plain
from trialbook.model.review import UNRESOLVED
from trialbook.registry import Registry
from trialbook.reporting.wording import number_of
from trialbook.workflow.editor import editor_of
from trialbook.workflow.reconciling import OpenedDifference, Reconciled, Table
from trialbook.workflow.reviewing import Desk


@click.command("reconcile", epilog="Example: trialbook reconcile 20261130T151526Z-3f9c2d")
@click.argument("run")
@click.option("--no-edit", is_flag=True, help="Only write the forms, and say where.")
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Put a form on record that was filled in elsewhere; with --packet.",
)
@click.option("--packet", metavar="NAME", help="Which form FILE is, by the name it was given.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(
    context: Context,
    *,
    run: str,
    no_edit: bool,
    file: Path | None,
    packet: str | None,
    as_json: bool,
) -> None:
    """Settle what the reviewers of RUN differ on, one packet after the other.

    Only when all of them are in: until then, nobody sees what others answered. Each packet opens
    in $VISUAL or $EDITOR with the answers side by side. The reviews stay as they are; what is
    settled goes on record beside the trial, with who moved and why. Still not told is which
    configuration made the change. At the end, the results of a closed run are made again.
    """
    desk = Desk.open(context.root(), context.system, Registry())
    table = Table(desk, desk.reader.resolve_run(run))
    waiting = table.waiting()
    if file is not None:
        done = [_filed(table, waiting, file, packet)]
    elif no_edit or editor_of(context.system.environ) is None:
        done = []
        for opened in waiting:
            table.lay_out(opened)
            context.result(f"form     {opened.name} {opened.draft.form}")
    else:
        done = _walk(context, table, waiting)
    left = len(table.waiting())
    generation = None if left else table.close()
    for warning in desk.ledger.warnings:
        context.warn(warning)
    if as_json:
        context.json(
            {
                "reconciled": [plain(one.record) for one in done],
                "left": left,
                "results": None if generation is None else generation.id,
            }
        )
        return
    _show(context, done, left)
    if generation is not None:
        context.result(f"results  runs/{generation.run}/results/{generation.id}")


def _walk(context: Context, table: Table, waiting: list[OpenedDifference]) -> list[Reconciled]:
    done: list[Reconciled] = []
    for number, opened in enumerate(waiting, start=1):
        table.lay_out(opened)
        context.say(f"{number} of {len(waiting)}: {opened.draft.page}")
        while True:
            before = file_state(opened.draft.form)
            edited(opened.draft, context.system)
            if file_state(opened.draft.form) == before:
                context.say(f"nothing was saved; the draft is {opened.draft.form}")
                if not done:
                    raise click.exceptions.Exit(ExitCode.NO)
                return done
            problems = table.check(opened, opened.draft.form)
            if not problems:
                break
            ask_again(problems, opened.draft.form)
        done.append(table.settle(opened, opened.draft.form))
    return done


def _filed(
    table: Table, waiting: list[OpenedDifference], file: Path, packet: str | None
) -> Reconciled:
    names = [one.name for one in waiting]
    found = next((one for one in waiting if one.name == packet), None)
    if found is None:
        raise UserError(
            f"{packet!r} waits for nothing" if packet else "which packet is it?",
            hint=f"name one with --packet: {', '.join(names) or 'none waits'}",
        )
    problems = table.check(found, file)
    if not problems:
        found.draft.need_minutes(file)
    return table.settle(found, file)


def _show(context: Context, done: list[Reconciled], left: int) -> None:
    for one in done:
        items = ", ".join(f"{item.item}: {item.final}" for item in one.record.items)
        context.result(f"settled  {items}")
        context.result(f"commit   git show {one.commit}")
    open_ = sum(item.final == UNRESOLVED for one in done for item in one.record.items)
    if open_:
        context.result(f"open     {number_of(open_, 'item')} unresolved, and counted as such")
    if left:
        context.result(f"left     {number_of(left, 'packet')} on which reviewers differ")
    elif not done:
        context.result("nothing is left on which the reviewers differ")
