"""``trialbook verify``: whether the ledger is what it was, and whether its numbers follow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import click
from rich.console import Console
from rich.live import Live

from trialbook.cli.context import Context, called, pass_context
from trialbook.cli.terminal import Column, Part, Text, block, heading, render, safe, table
from trialbook.errors import ExitCode
from trialbook.formats.records import plain
from trialbook.reporting.wording import number_of
from trialbook.verify.codes import Code
from trialbook.verify.explain import PROVES_AND_NOT
from trialbook.verify.findings import Fault, Verdict
from trialbook.workflow.verify_ledger import Progress, VerifyRequest, verify_ledger

_SHORT = 12


@click.command(epilog="Example: trialbook verify --witness 3f9c2d7e... --signers people:signers")
@click.option("--run", metavar="RUN", help="Look at this run only.")
@click.option("--witness", metavar="OID", help="A commit that history must still lead to.")
@click.option("--signers", metavar="REF:PATH", help="A list of signers on a protected ref.")
@click.option("--explain", is_flag=True, help="Say what this proves, what not, and what to do.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def command(
    context: Context,
    *,
    run: str | None,
    witness: str | None,
    signers: str | None,
    explain: bool,
    as_json: bool,
) -> int:
    """Verify the ledger: history, objects, records, and that every number follows from them.

    Everything that is wrong is listed, each with a code, a path and a commit; the exit status is
    then 1. Nothing is written, and no git executable is needed.
    """
    request = VerifyRequest(run=run, witness=witness, signers=signers)
    with _progress(context) as progress:
        verdict = verify_ledger(context.root(), context.system, request, progress)
    if as_json:
        context.json(_json(verdict, explain=explain))
    else:
        context.result(render(_parts(verdict, explain=explain), colour=context.colour))
    return ExitCode.DONE if verdict.holds else ExitCode.NO


@contextmanager
def _progress(context: Context) -> Iterator[Progress]:
    """One line that says how far it is, on a terminal only."""
    if not context.on_terminal:
        yield _silent
        return
    console = Console(stderr=True, no_color=bool(context.system.environ.get("NO_COLOR")))
    # No thread that refreshes: verification may fork.
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def say(stage: str, done: int, total: int) -> None:
            text = f"{stage}: {done:,}" + (f" of {total:,}" if total else "")
            live.update(Text(text), refresh=True)

        yield say


def _silent(stage: str, done: int, total: int) -> None:
    del stage, done, total


def _json(verdict: Verdict, *, explain: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "holds": verdict.holds,
        "head": verdict.head or None,
        "witness": verdict.witness,
        "signers": verdict.signers,
        "commits": verdict.commits,
        "objects": verdict.objects,
        "runs": verdict.runs,
        "trials": verdict.trials,
        "faults": [
            {
                "code": fault.code.value,
                "sentence": fault.code.sentence,
                "detail": fault.detail,
                "commit": fault.commit or None,
                "path": fault.path or None,
            }
            for fault in verdict.faults
        ],
        "not_checked": plain(verdict.unchecked),
        "notes": list(verdict.notes),
    }
    if explain:
        found["proves"] = [proved for proved, _ in PROVES_AND_NOT]
        found["does_not_prove"] = [open_ for _, open_ in PROVES_AND_NOT]
        found["explanations"] = {code.value: code.explanation for code in _codes(verdict)}
    return found


def _codes(verdict: Verdict) -> list[Code]:
    return list(dict.fromkeys(fault.code for fault in verdict.faults))


def _parts(verdict: Verdict, *, explain: bool) -> Iterator[Part]:
    for code, faults in groupby(verdict.faults, key=lambda fault: fault.code):
        yield Text(code.value, style="bold red").append(f"  {code.sentence}", style="default")
        for fault in faults:
            yield _line(fault)
        if explain:
            yield block(code.explanation)
        yield ""
    for entry in verdict.unchecked:
        times = f" ({number_of(entry.times, 'time')})" if entry.times > 1 else ""
        line = safe(f"not checked: {entry.what}{times}: {entry.reason}", style="yellow")
        yield line.append_text(safe(f"; {entry.hint}"))
    for note in verdict.notes:
        yield safe(f"note: {note}")
    if explain:
        yield ""
        yield from _table()
    if verdict.unchecked or verdict.notes or explain:
        yield ""
    yield _summary(verdict)
    if verdict.faults and not explain:
        yield safe(f"next     {called()} verify --explain")


def _line(fault: Fault) -> Part:
    where = f"{fault.path}: " if fault.path else ""
    commit = f" (commit {fault.commit[:_SHORT]})" if fault.commit else ""
    return block(f"{where}{fault.detail}{commit}")


def _table() -> Iterator[Part]:
    yield heading("What this shows, and what nothing here can show")
    columns = [Column(head="when nothing is wrong, this is shown"), Column(head="this is not")]
    yield table(columns, PROVES_AND_NOT)


def _summary(verdict: Verdict) -> Text:
    if not verdict.head:
        return safe("there is nothing to verify: no commit yet")
    size = ", ".join(
        [
            number_of(verdict.runs, "run"),
            number_of(verdict.trials, "trial"),
            number_of(verdict.commits, "commit"),
            number_of(verdict.objects, "object"),
        ]
    )
    shown = safe(f"{verdict.head[:_SHORT]}: {size}: ")
    if verdict.holds:
        return shown.append("nothing is wrong", style="bold green")
    faults = f"{number_of(len(verdict.faults), 'fault')} of "
    return shown.append(faults + number_of(len(_codes(verdict)), "kind"), style="bold red")
