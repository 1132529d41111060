"""``trialbook doctor``: what this machine can do, what it cannot, and what to type about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.terminal import Column, Part, Text, facts, heading, lines, render, safe, table
from trialbook.errors import ExitCode, UserError
from trialbook.formats.records import plain
from trialbook.model.diagnosis import LIMITS, Diagnosis, Installed, SandboxHealth, Sight
from trialbook.model.suite import NO_SANDBOX
from trialbook.registry import Registry
from trialbook.workflow.diagnosis import diagnose

_GOOD, _BAD, _QUIET = "bold green", "bold red", "dim"
_HEADS = {
    "minutes": "wall clock",
    "memory_mb": "memory",
    "processes": "processes",
    "file_mb": "file size",
    "workspace_mb": "workspace",
    "output_mb": "output",
}
_KERNEL = ("/proc", "/sys", "/dev")
_MANY = 24


@click.command(epilog="Example: trialbook doctor --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema trialbook/doctor/1).")
@pass_context
def command(context: Context, *, as_json: bool) -> int:
    """Say what this machine can do: sandboxes, limits, agents, git, disk, what a trial sees.

    Every sandbox is tried with a command that tries to get out of it, and another that looks around
    as a trial's would. For what does not work, the command to type is told. Works outside of a
    ledger too.

    Exits with 0 if an evaluation can run isolated here, and with 1 if not: no sandbox but `none`
    works, or git is missing.
    """
    registry = Registry()
    try:
        root = context.root()
    except UserError:
        root = None
    found = diagnose(root, registry, context.system, context.say)
    if as_json:
        context.json(plain(found))
    else:
        context.result(render(_parts(found), colour=context.colour))
    return ExitCode.DONE if found.ready else ExitCode.NO


def _parts(found: Diagnosis) -> Iterator[Part]:
    yield _verdict(found)
    yield Text()
    yield heading("sandboxes")
    yield _sandboxes(found.sandboxes)
    fixes = [(one.name, one.fix) for one in found.sandboxes if not one.ok and one.fix]
    if fixes:
        yield heading("to make them work")
        yield from lines(fixes)
    yield Text()
    yield heading("limits")
    yield _limits(found.sandboxes)
    yield Text()
    yield heading("this machine")
    yield facts(_machine(found))
    for one in found.sandboxes:
        if one.sight is not None and one.name == found.sandbox:
            yield Text()
            yield heading(f"what a trial sees in {one.name} (--json tells it of the others, too)")
            yield facts(_seen(one.sight))


def _verdict(found: Diagnosis) -> Text:
    if found.ready:
        return Text("evaluations can run isolated here", _GOOD).append(
            f", by default in {found.sandbox}", style=""
        )
    if found.sandbox != NO_SANDBOX:
        return Text("no evaluation can run here", _BAD).append(
            ": git is what is missing; see below", style=""
        )
    return Text("no evaluation can run isolated here", _BAD).append(
        ": see what to type below", style=""
    )


def _sandboxes(healths: Sequence[SandboxHealth]) -> Part:
    heads = ("sandbox", "works", "isolates files", "holds network", "images", "how, or why not")
    columns = [Column(head=head, whole=head != heads[-1]) for head in heads]
    rows = [
        (
            one.name,
            _yes(one.ok),
            _yes(one.isolated),
            _yes(one.network),
            _yes(one.images, quiet=True),
            safe(one.reason),
        )
        for one in healths
    ]
    return table(columns, rows)


def _limits(healths: Sequence[SandboxHealth]) -> Part:
    columns = [Column(head="sandbox"), *(Column(head=_HEADS[limit]) for limit in LIMITS)]
    rows: list[list[str | Text]] = [
        [one.name, *(_yes(one.limits[limit]) for limit in LIMITS)] for one in healths if one.ok
    ]
    return table(columns, rows, spread=True)


def _yes(value: bool, *, quiet: bool = False) -> Text:  # noqa: FBT001 - a truth value to its word
    return Text("yes", _GOOD) if value else Text("no", _QUIET if quiet else _BAD)


def _machine(found: Diagnosis) -> Iterator[tuple[str, str | Text]]:
    yield "trialbook", f"{found.trialbook} on {found.platform}"
    yield "ledger", found.ledger or "none here (`trialbook init FOLDER` makes one)"
    for one in found.programs:
        yield one.name, _program(one)
    who = found.identity
    yield "commits as", f"{who.name} <{who.email}>" if who.name else _missing(who.fix)
    signing = {"off": "no", "works": "yes", "fails": "FAILS"}[who.signing]
    more = f"; {who.fix}" if who.signing == "fails" and who.fix else ""
    yield "signed", f"{signing} ({who.detail}){more}"
    for space in found.spaces:
        held = "" if space.bytes is None else f"{_size(space.bytes)} in it, "
        yield space.what, f"{space.path}: {held}{_size(space.free)} free"
    yield "adapters", ", ".join(f"{one.name} {one.version or 'BROKEN'}" for one in found.agents)
    here = [f"{one.name} {one.version}" for one in found.clients if one.place]
    absent = [one.name for one in found.clients if not one.place]
    yield "clients", ", ".join(here) or "none on the PATH"
    if absent:
        yield "not found", safe(", ".join(absent), style=_QUIET)


def _program(one: Installed) -> str | Text:
    if one.version is None:
        return _missing(one.fix)
    old = f", too old: {one.fix}" if one.fix else ""
    return f"{one.version} ({one.place}){old}"


def _missing(fix: str) -> Text:
    shown = Text("missing", _BAD)
    return shown.append(f": {fix}", style="") if fix else shown


def _seen(sight: Sight) -> Iterator[tuple[str, str]]:
    yield "user", sight.user
    yield "processes", f"{sight.processes}"
    yield "network", ", ".join(sight.interfaces) or "no interface"
    yield "variables", ", ".join(sight.environment)
    yield "at the top", " ".join(sight.listing)
    own = [one for one in sight.mounts if not one.path.startswith(_KERNEL)]
    shown = dict.fromkeys(f"{one.path} ({'rw' if one.writable else 'ro'})" for one in own)
    more = f" and {len(shown) - _MANY} more" if len(shown) > _MANY else ""
    yield "mounts", "  ".join(list(shown)[:_MANY]) + more


def _size(count: int | None) -> str:
    if count is None:
        return "unknown"
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
