"""``trialbook import``: what an agent did, from a format that other programs write."""

from __future__ import annotations

from pathlib import Path

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.export import FORMATS
from trialbook.errors import Problem, UserError
from trialbook.formats.atif_import import from_atif
from trialbook.formats.json_text import read_json
from trialbook.formats.records import to_json
from trialbook.reporting.wording import number_of
from trialbook.storage.files import read_regular, write_atomic

_MOST_BYTES = 200_000_000


@click.command("import", epilog="Example: trialbook import --format atif other.json")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--format", "kind", type=click.Choice(FORMATS), required=True, help="The format of FILE."
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file."
)
@pass_context
def command(context: Context, *, file: Path, kind: str, output: Path | None) -> None:
    """Print FILE as a trajectory of trialbook; nothing that is recorded is touched.

    atif is the Agent Trajectory Interchange Format, versions 1.0 to 1.8. Every breach of its rules
    is told with its place in the file.
    """
    del kind
    shown = str(file)
    data = read_regular(file.resolve(), _MOST_BYTES + 1)
    if data is None:
        raise UserError(f"{shown} is no file that can be read")
    if len(data) > _MOST_BYTES:
        raise UserError(f"{shown} has more than {_MOST_BYTES // 1_000_000} MB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{shown} is not UTF-8: byte {error.start}") from error
    read = read_json(text, shown)
    if isinstance(read, Problem):
        raise UserError(problems=[read])
    if read.twice:
        raise UserError(f"{shown} has keys twice in one object: {', '.join(read.twice[:10])}")
    found = from_atif(read.data, shown)
    made = to_json(found.trajectory)
    if found.left_out:
        listed = ", ".join(f"{name} ({count})" for name, count in found.left_out.items())
        context.say(f"left out, since a trajectory has no place for it: {listed}")
    if output is None:
        context.result(made.decode().removesuffix("\n"))
        return
    write_atomic(output, made)
    context.say(f"wrote {output}: {number_of(len(found.trajectory.events), 'event')}")
