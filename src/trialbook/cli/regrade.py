"""``trialbook regrade``: grade stored artifacts again, beside the old grades."""

from __future__ import annotations

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.terminal import Column, render, table
from trialbook.formats.records import plain
from trialbook.formats.visible import visible_line
from trialbook.registry import Registry
from trialbook.reporting.wording import number_of, words
from trialbook.storage.reader import Reader
from trialbook.workflow.grade_again import GradingBench
from trialbook.workflow.planned_suite import suite_of_plan
from trialbook.workflow.regrade import Regraded, RegradeRequest, regrade_run


@click.command(
    "regrade",
    epilog='Example: trialbook regrade 20261130T151526Z-3f9c2d --reason "the check was too strict"',
)
@click.argument("run")
@click.option("--grader", "graders", multiple=True, metavar="NAME", help="Only this one.")
@click.option("--reason", metavar="TEXT", help="Why; needed where the suite's files have changed.")
@click.option("--author", metavar="NAME", help="Who has it done; by default git's identity.")
@click.option("--jobs", "-j", type=click.IntRange(1, 256), default=1, help="Trials at once.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(  # noqa: PLR0913 - click hands every option over by name
    context: Context,
    *,
    run: str,
    graders: tuple[str, ...],
    reason: str | None,
    author: str | None,
    jobs: int,
    as_json: bool,
) -> None:
    """Judge the artifacts of RUN again, of every configuration alike, without any agent.

    Each stored patch is applied to the snapshot that its trial started from, and the suite's
    graders look at the result as they are today. If a grade says something else than before, or
    another version of a grader says it, all of them are committed as a new generation beside the
    old one, which stays. A trial that cannot be judged as it was is listed, and keeps its grades.
    """
    root = context.root()
    registry = Registry()
    reader = Reader.open(root)
    ref = reader.resolve_run(run)
    suite = suite_of_plan(reader.plan(ref), root, registry, as_locked=False)
    bench = GradingBench(root=root, registry=registry, system=context.system, tell=context.say)
    request = RegradeRequest(graders=graders, reason=reason, author=author, jobs=jobs)
    done = regrade_run(bench, suite, ref, request)
    for warning in done.warnings:
        context.warn(warning)
    if as_json:
        generation = None if done.generation is None else done.generation.id
        context.json(
            {
                "commit": done.commit,
                "grades": done.grades,
                "same_bytes": done.same_bytes,
                "regrade": plain(done.regrade),
                "results": generation,
            }
        )
    else:
        _show(context, done)


def _show(context: Context, done: Regraded) -> None:
    regrade = done.regrade
    for one in regrade.left_out:
        context.result(f"left out  {one.trial}: {visible_line(one.because)}")
    if done.commit is None:
        bytes_said = "to the byte" if done.same_bytes == done.grades else "in every answer"
        context.result(
            f"same      all {number_of(done.grades, 'grade')} are as before, {bytes_said}; "
            "nothing was added"
        )
        return
    _differences(context, done)
    context.result(f"regrade   {regrade.run}: generation {regrade.id}")
    for trial in regrade.trials:
        if trial.was is not trial.outcome:
            was, now = words(trial.was), words(trial.outcome)
            context.result(f"outcome   {trial.trial}: {was}, counts as {now} from now on")
    context.result(f"commit    git show {done.commit}")
    if done.generation is not None:
        context.result(f"results   runs/{regrade.run}/results/{done.generation.id}")


def _differences(context: Context, done: Regraded) -> None:
    found = done.regrade.differences
    if not found:
        context.result(
            f"same      all {number_of(done.grades, 'grade')} say what they said before, by other "
            "versions of their graders"
        )
        return
    columns = [
        Column(head="trial", whole=True),
        Column(head="grader"),
        Column(head="was"),
        Column(head="now"),
        Column(head="checks"),
        Column(head="why"),
    ]
    rows = [
        [
            one.trial,
            one.grader,
            one.was,
            one.now,
            ", ".join(one.checks),
            "flaky" if one.flaky else "other grader or files",
        ]
        for one in found
    ]
    context.result(render([table(columns, rows), ""], colour=context.colour))
    flaky = sum(one.flaky for one in found)
    if flaky:
        context.say(
            f"warning: {number_of(flaky, 'grade')} flipped although grader and files are the "
            "same: that check is flaky"
        )
