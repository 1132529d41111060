"""``trialbook calibrate``: compare a judge with people, and say how far it may be trusted."""

from __future__ import annotations

from typing import Any

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.terminal import Column, Part, heading, render, table
from trialbook.errors import UserError
from trialbook.formats.records import plain
from trialbook.formats.visible import visible_line
from trialbook.model.calibration import Draw, Errors
from trialbook.reporting.calibration_said import (
    USES,
    Difference,
    differences,
    errors_said,
    rate_said,
    rates_to_show,
)
from trialbook.reporting.wording import number_of
from trialbook.storage.reader import Reader
from trialbook.workflow.calibrating import (
    DEFAULT_SAMPLE,
    Calibrated,
    CalibrationRequest,
    ToReview,
    calibrate,
)


@click.command("calibrate", epilog="Example: trialbook calibrate strict --rubric merge@1")
@click.argument("judge")
@click.option("--rubric", required=True, metavar="REF", help="By which it judged: merge@1.")
@click.option(
    "--sample",
    type=click.IntRange(1, 10_000),
    default=DEFAULT_SAMPLE,
    show_default=True,
    help="How many changes people label.",
)
@click.option("--seed", metavar="TEXT", help="What the sample follows from; else the judge itself.")
@click.option(
    "--draw",
    type=click.Choice([one.value for one in Draw]),
    default=Draw.EVEN.value,
    show_default=True,
    help="As many of its accepts as of its rejects, or as they come.",
)
@click.option(
    "--note",
    "notes",
    type=(str, str),
    multiple=True,
    metavar="TRIAL TEXT",
    help="What you found when reading where they differ; may be given many times.",
)
@click.option("--author", metavar="NAME", help="Who compares; by default git's identity.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(  # noqa: PLR0913 - click hands every option over by name
    context: Context,
    *,
    judge: str,
    rubric: str,
    sample: int,
    seed: str | None,
    draw: str,
    notes: tuple[tuple[str, str], ...],
    author: str | None,
    as_json: bool,
) -> None:
    """Compare the verdicts of JUDGE with those of people, on changes that both have looked at.

    A seed draws the sample among the changes that the judge has judged and people are asked to
    review. Which packets still need a review is said. What people said counts when the reviews of
    a run are open: what two of them agreed on, or one alone where the plan asks for one. Each
    difference is shown with what both point at, to be read by a person, who says with --note what
    it was. Everything is put on record, and says how far the judge may be trusted from now on.
    """
    root = context.root()
    reader = Reader.open(root)
    request = CalibrationRequest(
        judge=judge,
        rubric=rubric,
        sample=sample,
        seed=seed,
        draw=Draw(draw),
        notes={_trial(reader, trial): text for trial, text in notes},
        author=author,
    )
    done = calibrate(root, context.system, request)
    for warning in done.warnings:
        context.warn(warning)
    found = differences(reader, done.compared.judged, done.compared.labels)
    if as_json:
        context.json(_as_json(done, found))
    else:
        _show(context, done, found)


def _trial(reader: Reader, text: str) -> str:
    found = reader.resolve(text)
    if not isinstance(found, tuple):
        raise UserError(
            f"{text} is a run, and a note is about a trial", hint=f"as in {found.path}/TASK/NAME/r1"
        )
    run, trial = found
    return f"{run.path}/{trial}"


def _as_json(done: Calibrated, found: list[Difference]) -> dict[str, Any]:
    numbers = done.compared.numbers
    return {
        "commit": done.commit,
        "calibration": None if done.record is None else done.record.id,
        "judge": plain(done.identity),
        "rubric": done.rubric.reference,
        "drawn": plain(done.compared.drawn),
        "judged": len(done.compared.judged),
        "asked": done.compared.asked,
        "labels": [plain(one) for one in done.compared.labels],
        "to_review": [plain(one) | {"run": one.run.path} for one in done.to_review],
        "differences": [plain(one) for one in found],
        "numbers": plain(numbers) | {"rates": [plain(one) for one in rates_to_show(numbers)]},
    }


def _show(context: Context, done: Calibrated, found: list[Difference]) -> None:
    compared = done.compared
    drawn = compared.drawn
    model = visible_line(done.identity.asked)
    name = visible_line(done.identity.judge)
    context.result(f"judge     {name} ({model}), {done.identity.short}")
    context.result(
        f"judged    {number_of(len(compared.judged), 'change')} by {done.rubric.reference}, "
        f"{compared.asked} of them for people to review"
    )
    how = "by turns one it accepted and one it did not" if drawn.how is Draw.EVEN else "as it comes"
    drawn_count = len(compared.labels) + len(drawn.waiting)
    context.result(
        f"sample    {drawn_count} of {drawn.wanted}, drawn {how}, seed {visible_line(drawn.seed)}"
    )
    context.result(f"labels    {len(compared.labels)}, {len(drawn.waiting)} waiting")
    for one in done.to_review:
        for line in _waiting(context, one):
            context.result(line)
    if done.record is None:
        context.result("trust     uncalibrated: there is no label to compare with yet")
        return
    _show_numbers(context, done)
    _show_differences(context, found)
    if done.commit is None:
        context.result(f"same      as the calibration {done.record.id}; nothing was added")
    else:
        context.result(f"record    {done.record.id}")
        context.result(f"commit    git show {done.commit}")
        judge = visible_line(done.identity.judge)
        context.result(f"next      {context.program} judge RUN --judge {judge}")
        context.say("then its verdicts on that run count as far as it is trusted now")


def _waiting(context: Context, one: ToReview) -> list[str]:
    """Where people go on; never which packet is of which change, or of the sample."""
    state = "sealed" if one.sealed else "open"
    said = [f"waiting   {one.run.path} ({state}): {number_of(one.changes, 'change')}"]
    for name, packets in one.packets.items():
        said.append(f"          {name}: {', '.join(packets)}")
    if not one.packets and one.sealed:
        said.append(f"          {context.program} review next --reviewer NAME --run {one.run.run}")
    elif not one.packets:
        said.append("          its reviewers do not agree on a verdict, so there is no label")
    return said


def _show_numbers(context: Context, done: Calibrated) -> None:
    numbers = done.compared.numbers
    columns = [Column(head="", whole=True), Column(head="judge accepts"), Column(head="rejects")]
    rows = _matrix(numbers.errors)
    parts: list[Part] = ["", heading("people (rows) and judge (columns)"), table(columns, rows)]
    context.result(render(parts, colour=context.colour))
    for name, said in errors_said(numbers.errors):
        context.result(f"{name:<9} {said}")
    if len(numbers.by_configuration) > 1:
        context.result("")
        for name, errors in numbers.by_configuration.items():
            rates = dict(errors_said(errors))
            context.result(f"{visible_line(name)}: TPR {rates['TPR']}; TNR {rates['TNR']}")
        context.result("a difference between two configurations is not corrected by these rates")
    repeated = numbers.repeated
    context.result(
        f"repeats   {repeated.identical} of {number_of(repeated.changes, 'change')} got the same "
        f"verdict each time, {number_of(repeated.runs, 'time')} each"
        if repeated.changes
        else "repeats   none: the judge was asked once of each change"
    )
    critical = numbers.critical_false_accepts
    context.result(
        f"critical  {number_of(len(critical), 'false accept')} of what people refused for "
        f"{', '.join(done.rubric.critical) or 'nothing critical'}"
    )
    context.result("")
    context.result(f"trust     {numbers.level.value}: {USES[numbers.level]}")
    for unmet in numbers.unmet:
        context.result(f"  for {unmet.level.value:<9} {unmet.name}: {unmet.message}")
    shown = rates_to_show(numbers)
    for rate in shown:
        name = visible_line(rate.configuration) or "all"
        context.result(f"rate      {name}: {rate_said(rate)}")
    if not shown:
        context.result("rate      not shown: an uncalibrated judge's rate cannot be corrected")


def _matrix(errors: Errors) -> list[list[str]]:
    return [
        ["people accept", str(errors.true_accepts), str(errors.false_rejects)],
        ["people reject", str(errors.false_accepts), str(errors.true_rejects)],
    ]


def _show_differences(context: Context, found: list[Difference]) -> None:
    for one in found:
        context.result("")
        mark = ", CRITICAL" if one.critical else ""
        context.result(
            f"differs   {visible_line(one.trial)}: people {one.people}, judge {one.judge}{mark}"
        )
        for line in one.people_said:
            context.result(f"  people  {visible_line(line)}")
        for line in one.judge_said:
            context.result(f"  judge   {visible_line(line)}")
        noted = one.note or f"none yet; read both, then: --note {one.trial} TEXT"
        context.result(f"  note    {visible_line(noted)}")
    if found:
        context.result("")
