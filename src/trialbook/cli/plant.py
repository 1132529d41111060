"""``trialbook plant``: try whether a planted regression is a fair one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.reading import open_reader
from trialbook.cli.terminal import Column, Part, Text, heading, render, safe, table
from trialbook.errors import ExitCode, UserError
from trialbook.formats.records import plain
from trialbook.model.planting import PlantResult, RuleResult, RuleStatus
from trialbook.registry import Registry
from trialbook.storage.reader import RunRef
from trialbook.workflow.planting import OnTrial, PlantCheck

_STYLE = {
    RuleStatus.KEPT: "green",
    RuleStatus.BROKEN: "bold red",
    RuleStatus.UNKNOWN: "yellow",
    RuleStatus.NOT_APPLICABLE: "dim",
}


@click.group("plant", epilog="Example: trialbook plant check export-feature/export")
def command() -> None:
    """Try whether a planted regression is a fair one."""


@command.command("check", epilog="Example: trialbook plant check export-feature/export --json")
@click.argument("what", metavar="SUITE|SUITE/TASK")
@click.option(
    "--on",
    metavar="TRIAL",
    help="Plant on what this trial left; by default on the task's reference, or its starting tree.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def check(context: Context, what: str, *, on: str | None, as_json: bool) -> int:
    """Plant each regression of the tasks, and say of every rule whether it is kept.

    It is laid on top of earlier work as it would be for an agent; then disclosed checks, private
    tests and the project's own tests are run, and each of the last ten commits is taken back for
    itself. Nothing is written. The exit status is 0 if all rules are kept, 1 if one is broken, and
    2 if one could not be tried.
    """
    root = context.root()
    checker = PlantCheck(
        root=root,
        registry=Registry(),
        system=context.system,
        on=None if on is None else _trial(context, on),
    )
    results = checker.results(what)
    if as_json:
        context.json({"plants": [{**plain(one), "fair": one.fair} for one in results]})
    else:
        context.result(render(_parts(results), colour=context.colour))
    fair = [one.fair for one in results]
    if False in fair:
        return ExitCode.NO
    return ExitCode.FIX if None in fair else ExitCode.DONE


def _trial(context: Context, name: str) -> OnTrial:
    reader = open_reader(context)
    found = reader.resolve(name)
    if isinstance(found, RunRef):
        raise UserError(
            f"{name} is a run", hint="name one of its trials, RUN/TASK/CONFIGURATION/r1"
        )
    run, path = found
    return OnTrial(reader=reader, run=run, trial=reader.trial(run, path))


def _parts(results: Sequence[PlantResult]) -> Iterable[Part]:
    columns = [Column(head="rule"), Column(head="is"), Column(head="because")]
    for number, one in enumerate(results):
        if number:
            yield ""
        yield heading(f"{one.task}, session {one.session}: regression {one.number} ({one.kind})")
        yield safe(f"planted on {one.state}")
        yield table(columns, [_row(rule) for rule in one.rules])
        yield safe(_SAID[one.fair], style="bold")


_SAID = {
    True: "fair: every rule is kept",
    False: "not fair: a rule is broken",
    None: "not known: a rule could not be tried",
}


def _row(one: RuleResult) -> list[str | Text]:
    told = safe(one.reason)
    if one.advice:
        told.append("\n").append_text(safe(one.advice, style="cyan"))
    status = one.status.value.replace("_", " ")
    return [one.rule.value, safe(status, style=_STYLE[one.status]), told]
