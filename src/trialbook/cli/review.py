"""``trialbook review``: judge changes without knowing who made them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.editing import ask_again, edited, file_state, interactive
from trialbook.cli.terminal import Column, Text, render, safe, table
from trialbook.errors import ExitCode, UserError
from trialbook.formats.records import plain
from trialbook.model.review import UNKNOWN, Guess
from trialbook.registry import Registry
from trialbook.reporting.wording import number_of, number_of_minutes
from trialbook.storage.reader import RunRef
from trialbook.storage.reviews import RunReviews
from trialbook.workflow.editor import editor_of
from trialbook.workflow.reviewing import Checked, Desk, Opened, Submitted

_MOST_SURE = 100
_GUESS = click.option(
    "--guess",
    metavar="CONFIGURATION",
    help=f"Which configuration you think made the change, or {UNKNOWN}; else you are asked.",
)
_SURE = click.option(
    "--sure",
    type=click.IntRange(0, _MOST_SURE),
    metavar="PERCENT",
    help="How sure you are of that guess.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
_RUN = click.option("--run", metavar="RUN", help="Which run; by default all that ask for reviews.")


@click.group("review", epilog="Example: trialbook review next --reviewer ann")
def command() -> None:
    """Review what came out, one blinded packet at a time, each reviewer alone."""


@command.command("next", epilog="Example: trialbook review next --reviewer ann")
@click.option("--reviewer", required=True, metavar="NAME", help="Who you are; always the same.")
@_RUN
@_GUESS
@_SURE
@click.option("--no-edit", is_flag=True, help="Only write the packet, and say where.")
@pass_context
def next_(
    context: Context,
    *,
    reviewer: str,
    run: str | None,
    guess: str | None,
    sure: int | None,
    no_edit: bool,
) -> None:
    """Open the packet that waits for you in $VISUAL or $EDITOR, and hand it in.

    A packet shows the brief, the change and the rubric, and not who made it. Save and close the
    editor to hand the review in: it is checked, and becomes one commit with one file. Close it
    without saving to go on later: a draft stays as it is until it is handed in.
    """
    desk = _desk(context)
    where = None if run is None else desk.reader.resolve_run(run)
    opened = desk.next(reviewer, where)
    if opened is None:
        context.result(f"nothing waits for {reviewer}")
        return
    _tell(context, opened)
    if no_edit or editor_of(context.system.environ) is None:
        context.result(f"form     {opened.draft.form}")
        context.result(f"next     {context.program} review submit {opened.draft.form}")
        return
    checked = _edited(context, desk, opened)
    if checked is None:
        context.result("not handed in: nothing was saved")
        context.result(f"draft    {opened.draft.form}")
        context.say("the same command opens it again; `trialbook review submit` hands it in as is")
        raise click.exceptions.Exit(ExitCode.NO)
    done = desk.hand_in(opened, _guess(checked, guess, sure))
    _show(context, done, as_json=False)
    if done.left:
        context.result(f"next     {context.program} review next --reviewer {reviewer}")


@command.command("check", epilog="Example: trialbook review check review.yaml")
@click.argument("file", type=click.Path(path_type=Path))
@_JSON
@pass_context
def check(context: Context, file: Path, *, as_json: bool) -> None:
    """Say what is wrong with the review in FILE, line by line; nothing is written."""
    checked = _desk(context).check(file, str(file), draft=True)
    if as_json:
        context.json({"file": str(file), "problems": [plain(one) for one in checked.problems]})
    elif not checked.problems:
        context.result(f"{file}: nothing is wrong with it")
    if checked.problems:
        if as_json:
            raise click.exceptions.Exit(ExitCode.FIX)
        raise UserError(problems=checked.problems)


@command.command("submit", epilog="Example: trialbook review submit review.yaml --guess unknown")
@click.argument("file", type=click.Path(path_type=Path))
@_GUESS
@_SURE
@_JSON
@pass_context
def submit(
    context: Context, file: Path, *, guess: str | None, sure: int | None, as_json: bool
) -> None:
    """Hand in the review in FILE: one commit on this branch that adds one file.

    For people who work without an editor at the terminal, and through pull requests: the branches
    of two reviewers merge without a conflict.
    """
    desk = _desk(context)
    checked = desk.check(file, str(file), draft=True)
    if checked.problems:
        raise UserError(problems=checked.problems, hint=f"what you wrote is in {file}")
    opened = desk.draft_of(file)
    if opened is not None:
        opened.draft.need_minutes()
    asked = _guess(checked, guess, sure)
    if opened is not None:
        done = desk.hand_in(opened, asked)
    else:
        done = desk.submit(file, str(file), asked)
    _show(context, done, as_json=as_json)


@command.command("status", epilog="Example: trialbook review status")
@_RUN
@_JSON
@pass_context
def status(context: Context, *, run: str | None, as_json: bool) -> None:
    """Say who has handed in how much, and whether the reviews are open; never what they say."""
    desk = _desk(context)
    runs = desk.runs() if run is None else [desk.reader.resolve_run(run)]
    found = [(one, desk.reviews(one)) for one in runs]
    if as_json:
        context.json([_status_json(one, reviews) for one, reviews in found])
        return
    if not found:
        context.say("no run asks for reviews")
        return
    columns = [
        Column(head="run", whole=True),
        Column(head="rubric", whole=True),
        Column(head="reviewer", whole=True),
        Column(head="handed in"),
        Column(head="state"),
    ]
    rows = [row for one, reviews in found for row in _status_rows(one, reviews)]
    context.result(render([table(columns, rows)], colour=context.colour))


# --- parts ---------------------------------------------------------------------------------------


def _desk(context: Context) -> Desk:
    return Desk.open(context.root(), context.system, Registry())


def _tell(context: Context, opened: Opened) -> None:
    context.result(f"packet   {opened.packet.id} of {opened.run.path}")
    context.result(f"read     {opened.draft.page}")
    if not opened.fresh:
        context.say("this is your draft of before, as you left it")
    context.say(f"{number_of(opened.left, 'packet')} left, this one included")


def _edited(context: Context, desk: Desk, opened: Opened) -> Checked | None:
    """The form after the person has closed the editor, without mistakes; None if not saved.

    Raises:
        UserError: it has mistakes, and the person does not want to go on now.
    """
    draft = opened.draft
    while True:
        before = file_state(draft.form)
        edited(draft, context.system)
        if file_state(draft.form) == before:
            return None
        checked = desk.check(draft.form, str(draft.form), draft=True)
        if not checked.problems:
            return checked
        ask_again(checked.problems, draft.form)


def _guess(checked: Checked, given: str | None, sure: int | None) -> Guess | None:
    """Who the reviewer thinks it was: asked last, so that the question sways no answer."""
    known = (*checked.configurations, UNKNOWN)
    if given is not None:
        if given not in known:
            raise UserError(
                f"the run has no configuration {given!r}", hint=f"one of {', '.join(known)}"
            )
        return Guess(configuration=given, sure=sure)
    if not interactive():
        return None
    said = click.prompt(
        "Which configuration do you think made this change?",
        type=click.Choice(known),
        default=UNKNOWN,
        err=True,
    )
    if said == UNKNOWN:
        return Guess(configuration=UNKNOWN)
    percent = click.IntRange(0, _MOST_SURE)
    sure = click.prompt("How sure are you, in percent?", type=percent, default=50, err=True)
    return Guess(configuration=said, sure=sure)


def _show(context: Context, done: Submitted, *, as_json: bool) -> None:
    for warning in done.warnings:
        context.warn(warning)
    review = done.review
    if as_json:
        context.json(
            {
                "commit": done.commit,
                "path": done.path,
                "packet": review.packet,
                "minutes": review.minutes,
                "left": done.left,
                "sealed": done.sealed,
            }
        )
        return
    context.result(f"review   {done.path}, {number_of_minutes(review.minutes)}")
    context.result(f"commit   git show {done.commit}")
    if done.left:
        context.result(f"left     {number_of(done.left, 'packet')}")
    elif done.sealed:
        context.result("left     nothing; the reviews stay sealed until the others are in")
    else:
        context.result("left     nothing; all reviewers are in")
        context.result(f"next     {context.program} reconcile {review.run}")


def _status_rows(run: RunRef, reviews: RunReviews) -> list[list[str | Text]]:
    wanted = reviews.judgement.reviewers
    state = f"sealed, {len(reviews.complete)} of {wanted} in" if reviews.sealed else "open"
    rows: list[list[str | Text]] = []
    for name in reviews.reviewers or ("",):
        first = not rows
        counted = f"{len(reviews.handed_in(name))}/{len(reviews.packets.of(name))}" if name else ""
        rows.append(
            [
                safe(run.path if first else "", style="bold"),
                reviews.judgement.rubric if first else "",
                name or "nobody yet",
                counted,
                state if first else "",
            ]
        )
    return rows


def _status_json(run: RunRef, reviews: RunReviews) -> dict[str, Any]:
    return {
        "run": run.path,
        "rubric": reviews.judgement.rubric,
        "wanted": reviews.judgement.reviewers,
        "sealed": reviews.sealed,
        "complete": list(reviews.complete),
        "reviewers": [
            {
                "reviewer": name,
                "handed_in": len(reviews.handed_in(name)),
                "packets": len(reviews.packets.of(name)),
            }
            for name in reviews.reviewers
        ],
    }
