"""``trialbook export``: what an agent did in a trial, in a format that other programs read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.reading import open_reader
from trialbook.errors import Problem, UserError
from trialbook.formats.atif import atif_faults
from trialbook.formats.atif_export import to_atif
from trialbook.formats.records import from_json
from trialbook.model.runfiles import TRAJECTORY
from trialbook.model.trajectory import Trajectory
from trialbook.reporting.wording import number_of
from trialbook.storage.files import write_atomic
from trialbook.storage.reader import Reader, RunRef

FORMATS = ("atif",)

_ATTEMPT = re.compile(r"sessions/(\d{1,6})/attempt-(\d{1,6})/" + re.escape(TRAJECTORY))


@click.command(
    "export",
    epilog="Example: trialbook export --format atif 20261130/fix-refunds/current/r1 -o atif.json",
)
@click.argument("trial")
@click.option(
    "--format", "kind", type=click.Choice(FORMATS), required=True, help="The format to write."
)
@click.option("--attempt", metavar="SESSION/ATTEMPT", help="Which one, where there are several.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file."
)
@pass_context
def command(
    context: Context, *, trial: str, kind: str, attempt: str | None, output: Path | None
) -> None:
    """Write what the agent did in TRIAL (RUN/TASK/CONFIGURATION/r1) in another format.

    atif is the Agent Trajectory Interchange Format, version 1.8. Reading it back with `trialbook
    import` gives the same trajectory.
    """
    del kind
    reader = open_reader(context)
    run, path = _trial(reader, trial)
    session, number, name = _chosen(reader, run, path, attempt)
    where = f"{path}/{name}"
    data = reader.file(run, where) or b""
    trajectory = from_json(Trajectory, data, f"runs/{run.path}/{where}")
    attempts = reader.trial(run, path).attempts
    used = [one.usage for one in attempts if (one.session, one.attempt) == (session, number)]
    called = f"{run.path}/{path}/sessions/{session}/attempt-{number}"
    made = to_atif(trajectory, called, used[0] if used else None)
    if faults := atif_faults(made):
        problems = [Problem(path=one.where, message=one.message) for one in faults]
        raise UserError(f"{where} cannot be written as ATIF", problems=problems)
    text = json.dumps(made, indent=2, ensure_ascii=False, allow_nan=False)
    if output is None:
        context.result(text)
        return
    write_atomic(output, f"{text}\n".encode())
    context.say(f"wrote {output}: {number_of(len(made['steps']), 'step')}")


def _trial(reader: Reader, text: str) -> tuple[RunRef, str]:
    found = reader.resolve(text)
    if isinstance(found, RunRef):
        raise UserError(
            f"{text} is a run, and a trial is asked for",
            hint=f"its trials are {found.run}/TASK/CONFIGURATION/r1: see `trialbook show {text}`",
        )
    return found


def _chosen(reader: Reader, run: RunRef, path: str, attempt: str | None) -> tuple[int, int, str]:
    """Session, attempt and file of the trajectory that is meant."""
    matches = [_ATTEMPT.fullmatch(name) for name in reader.files(run, path)]
    known = {f"{int(m[1])}/{int(m[2])}": m for m in matches if m is not None}
    if not known:
        raise UserError(
            f"{run.path}/{path} has no trajectory",
            hint="agents leave one whose adapter reads what their client did",
        )
    if attempt is None and len(known) > 1:
        raise UserError(
            f"{run.path}/{path} has several attempts: {', '.join(known)}",
            hint=f"choose one: --attempt {next(reversed(known))}",
        )
    wanted = next(iter(known)) if attempt is None else attempt
    if wanted not in known:
        raise UserError(f"there is no attempt {wanted!r}", hint=f"there are: {', '.join(known)}")
    match = known[wanted]
    return int(match[1]), int(match[2]), match[0]
