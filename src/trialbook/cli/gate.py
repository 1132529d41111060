"""``trialbook gate``: has a change made a configuration worse on these tasks? For a CI job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.progress import observer
from trialbook.cli.reading import open_reader
from trialbook.cli.terminal import Column, Part, heading, render, safe, table
from trialbook.errors import ExitCode, UserError
from trialbook.formats.visible import visible_line
from trialbook.model.instructions import WORK_TREE
from trialbook.registry import Registry
from trialbook.reporting.gate import Gated
from trialbook.reporting.gate_said import (
    CHECKS_HEAD,
    NOT_VALID,
    TASKS_HEAD,
    advice,
    answer,
    check_rows,
    evidence,
    gated_json,
    junit,
    markdown,
    task_rows,
)
from trialbook.reporting.gated_runs import Judged
from trialbook.reporting.historical import CAUTION
from trialbook.stats.gate import Answer
from trialbook.storage.files import write_atomic
from trialbook.storage.suites import load_suite
from trialbook.workflow.evaluate import Bench
from trialbook.workflow.gating import GateWish, judge, run_gate
from trialbook.workflow.revisions import Revisions

_EXIT = {
    Answer.PASS: ExitCode.DONE,
    Answer.FAIL: ExitCode.NO,
    Answer.INCONCLUSIVE: ExitCode.INCONCLUSIVE,
    None: ExitCode.NOT_VALID,
}
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("gate", epilog="Example: trialbook gate instruction-drift --markdown comment.md")
@click.argument("targets", metavar="SUITE|RUN...", nargs=-1, required=True)
@click.option("--baseline", metavar="NAME", help="The configuration as it was.")
@click.option("--candidate", metavar="NAME", help="The configuration with the change.")
@click.option("--baseline-from", metavar="RUN", help="Take the baseline's trials from this run.")
@click.option(
    "--revisions",
    metavar="BASE..HEAD",
    help="Compare the instruction files of two revisions; `main...` is main and the work tree.",
)
@click.option("--jobs", "-j", type=click.IntRange(1, 256), help="Trials at once.")
@click.option("--markdown", "markdown_file", type=_FILE, help="Write a pull-request comment.")
@click.option("--junit", "junit_file", type=_FILE, help="Write a JUnit file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def command(  # noqa: PLR0913 - click hands every option over by name
    context: Context,
    *,
    targets: tuple[str, ...],
    baseline: str | None,
    candidate: str | None,
    baseline_from: str | None,
    revisions: str | None,
    jobs: int | None,
    markdown_file: Path | None,
    junit_file: Path | None,
    as_json: bool,
) -> int:
    """Run SUITE as far as an answer needs, or judge RUNs that are there.

    First three trials of each task in the baseline and in the candidate, side by side. If they do
    not decide, three more. The answer is about these very tasks: pass (exit status 0), fail (1),
    inconclusive (3), or not valid (4), when too much is missing.

    With --baseline-from only the candidate is run. The older run must be at most 14 days old and
    measured by the same suite, program, model, client and limits.

    With --revisions, one configuration that takes its instruction files from a git revision is run
    with those of BASE and with those of HEAD: what a pull request changes. --candidate names it, if
    the suite has several.
    """
    wish = GateWish(
        baseline=baseline,
        candidate=candidate,
        baseline_from=baseline_from,
        jobs=jobs,
        revisions=_revisions(revisions, candidate),
    )
    if len(targets) == 1 and (context.root() / "suites" / targets[0]).is_dir():
        judged = _run(context, targets[0], wish)
    else:
        judged = judge(open_reader(context), targets, wish)
    if judged.gated is None:
        return _refuse(context, judged, as_json=as_json)
    found, caution = judged.gated, CAUTION if baseline_from else ""
    if markdown_file is not None:
        text = markdown(found, judged.suite) + (f"\n**{caution}**\n" if caution else "")
        write_atomic(markdown_file.absolute(), text.encode())
    if junit_file is not None:
        write_atomic(junit_file.absolute(), junit(found, judged.suite))
    if as_json:
        context.json({**gated_json(found), "caution": caution})
    else:
        context.result(render(_parts(found, caution), colour=context.colour))
    return _EXIT[found.answer]


def _revisions(text: str | None, template: str | None) -> Revisions | None:
    if text is None:
        return None
    base, dots, head = text.partition("..")
    if not base or not dots:
        raise UserError(
            f"{visible_line(text)!r} is no pair of revisions",
            hint="write BASE..HEAD, such as main..my-branch; a dot for HEAD is the work tree",
        )
    return Revisions(base=base, head=head or WORK_TREE, template=template)


def _run(context: Context, name: str, wish: GateWish) -> Judged:
    root = context.root()
    registry = Registry()
    suite = load_suite(root, name, registry)
    with observer(context) as watching:
        bench = Bench(root=root, registry=registry, system=context.system, observer=watching)
        return run_gate(bench, suite, wish, lambda: open_reader(context), context.say)


def _refuse(context: Context, judged: Judged, *, as_json: bool) -> int:
    if as_json:
        context.json({"answer": NOT_VALID, "reasons": list(judged.reasons)})
    else:
        context.result(f"{NOT_VALID.upper()}: these runs may not be judged:")
        for reason in judged.reasons:
            context.result(f"  {visible_line(reason)}")
    return ExitCode.NOT_VALID


def _parts(found: Gated, caution: str) -> Iterator[Part]:
    yield heading(answer(found))
    for line in (*evidence(found), advice(found), caution):
        if line:
            yield safe(line)
    for head, rows in ((TASKS_HEAD, task_rows(found)), (CHECKS_HEAD, check_rows(found))):
        if rows:
            yield ""
            yield table([Column(head=name) for name in head], rows)
