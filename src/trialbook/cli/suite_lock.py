"""``trialbook suite lock`` and ``suite bump``: freeze a protocol version, open the next one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.live import Live

from trialbook.cli.context import Context, pass_context
from trialbook.cli.terminal import Column, Part, Text, heading, lines, render, safe, table
from trialbook.errors import ExitCode
from trialbook.formats.records import plain
from trialbook.model.validation import MatrixRow, Row, RowStatus
from trialbook.registry import Registry
from trialbook.workflow.interrupt import stop_on_signals
from trialbook.workflow.locking import Locking, bump_suite, lock_suite
from trialbook.workflow.validation import Progress, Room

_HEADS = {
    Row.BASE: "base",
    Row.EMPTY: "empty",
    Row.REFERENCE: "reference",
    Row.NEAR_MISS: "near misses",
    Row.VARIANT: "variants",
    Row.TRAP: "trap",
    Row.LEAK: "leak",
    Row.PLANT: "plant",
}
_TONES = {
    RowStatus.PASSED: "green",
    RowStatus.FAILED: "bold red",
    RowStatus.BROKEN: "bold magenta",
    RowStatus.WAIVED: "yellow",
    RowStatus.NOT_GIVEN: "dim",
}
_WORDS = {
    RowStatus.PASSED: "ok",
    RowStatus.FAILED: "FAILED",
    RowStatus.BROKEN: "BROKEN",
    RowStatus.WAIVED: "waived",
    RowStatus.NOT_GIVEN: "none given",
}


@click.command("lock", epilog="Example: trialbook suite lock instruction-drift --jobs 2")
@click.argument("suite")
@click.option("--jobs", "-j", type=click.IntRange(1, 256), help="Trees to grade at once.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def lock(context: Context, *, suite: str, jobs: int | None, as_json: bool) -> int:
    """Freeze SUITE under its protocol number, if its graders can be trusted and no answer leaks.

    First the graders are tried on answers of known worth: the untouched snapshot, the reference, a
    change that does nothing, near misses, variants, and what a trap is made of. Then each reference
    is looked for where agents can read. Then the digests of everything that measures go into
    suites/SUITE/locks/NUMBER.json, with these results. The file is yours to commit. A row that
    fails keeps the suite from being locked, unless `waivers` in suite.yaml lets it, with a reason.

    Exit status: 0 if the suite is locked (now or before), 1 if a row stands in the way, 2 if an
    agent could read an answer, or the suite has mistakes or is not as it was locked.
    """
    cancel = threading.Event()
    with _progress(context) as tell, stop_on_signals(cancel):
        room = Room(
            root=context.root(),
            registry=Registry(),
            system=context.system,
            jobs=jobs or min(os.cpu_count() or 1, 4),
            tell=tell,
            cancel=cancel,
        )
        locking = lock_suite(suite, room)
    if as_json:
        context.json(_as_json(locking))
    else:
        context.result(render(_parts(locking), colour=context.colour))
        _talk(context, locking)
    if locking.state.stored or not locking.blocking:
        return ExitCode.DONE
    leaks = any(row.row is Row.LEAK for row in locking.blocking)
    return ExitCode.FIX if leaks else ExitCode.NO


@click.command("bump", epilog="Example: trialbook suite bump instruction-drift")
@click.argument("suite")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def bump(context: Context, *, suite: str, as_json: bool) -> int:
    """Open the next protocol number in SUITE's suite.yaml, and say what differs from the last lock.

    Results compare only inside one number, so nothing is opened where nothing differs. Comments and
    order in suite.yaml stay as they are.
    """
    done = bump_suite(context.root(), suite, Registry())
    if as_json:
        context.json(
            {
                "suite": suite,
                "protocol": done.protocol,
                "before": done.before,
                "differing": [plain(one) for one in done.differing],
            }
        )
        return ExitCode.DONE
    context.result(f"suite {suite}: protocol {done.protocol}, opened after {done.before}")
    context.result(f"not as locked under {done.before}:")
    for one in done.differing:
        context.result(f"  {one}")
    context.say("")
    context.say(f"next   {context.program} eval {suite}        (a draft)")
    context.say(f"       {context.program} suite lock {suite}")
    return ExitCode.DONE


@contextmanager
def _progress(context: Context) -> Iterator[Progress]:
    """One line for each tree that is graded; on a terminal, one line in all."""
    if not context.on_terminal:
        yield lambda done, total, last: context.say(f"[{done}/{total}] {last}")
        return
    console = Console(stderr=True, no_color=bool(context.system.environ.get("NO_COLOR")))
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield lambda done, total, last: live.update(safe(f"{done}/{total}  {last}"))


def _as_json(locking: Locking) -> dict[str, Any]:
    state = locking.state
    return {
        "suite": state.suite,
        "protocol": state.protocol,
        "locked": state.stored is not None,
        "made": locking.made,
        "path": state.stored.path if state.stored else None,
        "sha256": state.stored.sha256 if state.stored else None,
        "digest": state.stored.lock.digest if state.stored else None,
        "rows": [plain(row) for row in locking.rows],
        "blocking": [row.name for row in locking.blocking],
        "unneeded_waivers": [plain(waiver) for waiver in locking.unneeded],
        "uncommitted": [plain(one) for one in state.uncommitted],
    }


def _parts(locking: Locking) -> Iterable[Part]:
    tasks = list(dict.fromkeys(row.task for row in locking.rows))
    used = [kind for kind in _HEADS if any(row.row is kind for row in locking.rows)]
    columns = [Column(head="task"), *(Column(head=_HEADS[kind], whole=True) for kind in used)]
    yield table(columns, [[task, *(_cell(locking, task, kind) for kind in used)] for task in tasks])
    for title, chosen in (
        ("in the way", locking.blocking),
        ("waived", [row for row in locking.rows if row.status is RowStatus.WAIVED]),
    ):
        if chosen:
            yield ""
            yield heading(title)
            yield from (_told(row) for row in chosen)


def _cell(locking: Locking, task: str, kind: Row) -> Text:
    rows = [row for row in locking.rows if (row.task, row.row) == (task, kind)]
    if not rows:
        return Text("")
    worst = next(s for s in _ORDER if any(row.status is s for row in rows))
    said = _WORDS[worst]
    if worst is not RowStatus.NOT_GIVEN:
        good = sum(row.status is RowStatus.PASSED for row in rows)
        counted = kind in (Row.NEAR_MISS, Row.VARIANT)
        said += f" {good}/{len(rows)}" if counted else f" {_times(rows)}"
    return Text(said.rstrip(), style=_TONES[worst])


_ORDER = (
    RowStatus.BROKEN,
    RowStatus.FAILED,
    RowStatus.WAIVED,
    RowStatus.PASSED,
    RowStatus.NOT_GIVEN,
)


def _times(rows: Sequence[MatrixRow]) -> str:
    repeats = rows[0].repeats
    return f"x{repeats}" if repeats > 1 else ""


def _told(row: MatrixRow) -> Text:
    shown = safe(f"{row.name}: ", style=_TONES[row.status])
    shown.append_text(safe(row.reason))
    if row.waiver:
        shown.append_text(safe(f" (waived: {row.waiver})"))
    return shown


def _talk(context: Context, locking: Locking) -> None:
    state = locking.state
    name = f"suite {state.suite}, protocol {state.protocol}"
    for waiver in locking.unneeded:
        context.say(f"note: the waiver for {waiver.task} {waiver.row} is not needed; remove it")
    if state.stored is None:
        context.result(f"\n{name}: not locked, {len(locking.blocking)} rows stand in the way")
        context.say("mend the graders or the task, or waive a row with a reason in suite.yaml")
        return
    said = "locked" if locking.made else f"locked since {state.stored.lock.created}, unchanged"
    context.result(f"\n{name}: {said}")
    rows = [("lock", state.stored.path), ("digest", state.stored.lock.digest)]
    rows += [("to do" if not n else "", step) for n, step in enumerate(state.advice)]
    context.result(render(lines(rows), colour=context.colour))
    if state.advice:
        context.say("until it is committed, runs are drafts")
