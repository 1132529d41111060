"""``trialbook judge``: let a judge read the diffs of a run, or try it on diffs with traps."""

from __future__ import annotations

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.terminal import Column, render, table
from trialbook.errors import ExitCode, UserError
from trialbook.formats.records import plain
from trialbook.formats.visible import visible_line
from trialbook.model.grade import Grade
from trialbook.model.trust import JudgeUse, allows
from trialbook.model.usage import added
from trialbook.registry import Registry
from trialbook.reporting.wording import number_of, words
from trialbook.storage.reader import Reader
from trialbook.workflow.grade_again import GradingBench
from trialbook.workflow.judge_traps import Tried, try_judge
from trialbook.workflow.judging import JudgedRun, JudgeRequest, judge_run


@click.command(
    "judge", epilog="Example: trialbook judge 20261130T151526Z-3f9c2d --judge strict --jobs 4"
)
@click.argument("run", required=False)
@click.option(
    "--judge", "judge", required=True, metavar="NAME", help="A file of rubrics/judges, by name."
)
@click.option("--rubric", metavar="REF", help="As in merge@1; by default the one of the plan.")
@click.option("--traps", is_flag=True, help="Instead of a run, judge the diffs with traps.")
@click.option("--again", is_flag=True, help="Ask anew, also where this judge gave a verdict.")
@click.option("--author", metavar="NAME", help="Who has it done; by default git's identity.")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), default=1, help="Diffs at once.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(  # noqa: PLR0913 - click hands every option over by name
    context: Context,
    *,
    run: str | None,
    judge: str,
    rubric: str | None,
    traps: bool,
    again: bool,
    author: str | None,
    jobs: int,
    as_json: bool,
) -> int:
    """Have a judge answer a rubric about every diff of RUN, of all configurations alike.

    The judge sees the brief, the diff and the rubric, and nothing else. Its grades are committed
    as a generation beside the others. They decide nothing until the judge is calibrated; an
    interrupted judging goes on when the same command is given again.

    With --traps it judges diffs that are bad and say that they are good. Exit status 1 then says
    that one of them moved it.
    """
    if (run is None) is not traps:
        raise UserError("name what is to be judged: either a RUN or --traps")
    root = context.root()
    bench = GradingBench(root=root, registry=Registry(), system=context.system, tell=context.say)
    if run is None:
        tried = try_judge(bench, judge, rubric, jobs)
        _show_tried(context, tried, as_json=as_json)
        return ExitCode.DONE if tried.held else ExitCode.NO
    ref = Reader.open(root).resolve_run(run)
    request = JudgeRequest(judge=judge, rubric=rubric, jobs=jobs, author=author, again=again)
    done = judge_run(bench, ref, request)
    for warning in done.warnings:
        context.warn(warning)
    if as_json:
        context.json(_as_json(done))
    else:
        _show(context, done)
    return ExitCode.DONE


def _as_json(done: JudgedRun) -> dict[str, object]:
    return {
        "commit": done.commit,
        "judge": plain(done.ready.identity),
        "trust": plain(done.trusted),
        "taken_over": done.taken_over,
        "regrade": plain(done.regrade),
        "grades": {path: plain(grade) for path, grade in done.grades.items()},
        "results": None if done.generation is None else done.generation.id,
    }


def _show(context: Context, done: JudgedRun) -> None:
    regrade, ready = done.regrade, done.ready
    columns = [
        Column(head="trial", whole=True),
        Column(head="verdict"),
        Column(head="votes"),
        Column(head="questions"),
        Column(head="why"),
    ]
    if done.grades:
        rows = [_row(path, grade) for path, grade in done.grades.items()]
        context.result(render([table(columns, rows), ""], colour=context.colour))
    for one in regrade.left_out:
        context.result(f"left out  {one.trial}: {visible_line(one.because)}")
    if done.taken_over:
        said = number_of(done.taken_over, "verdict")
        context.result(f"as before {said} of the same judge taken over; --again asks anew")
    model = ready.identity.asked
    context.result(f"judge     {ready.judge.name} ({model}), {ready.identity.short}")
    context.result(f"trust     {done.trusted.level.value}: {done.trusted.because}")
    if not allows(done.trusted.level, JudgeUse.ACCEPTANCE):
        kind = "advice" if allows(done.trusted.level, JudgeUse.CORRECTED_RATE) else "opinions"
        context.result(f"          its verdicts are {kind}, and decide nothing")
    for line in _disclosed(done):
        context.result(line)
    for trial in regrade.trials if done.commit is not None else ():
        if trial.was is not trial.outcome:
            was, now = words(trial.was), words(trial.outcome)
            context.result(f"outcome   {trial.trial}: {was}, counts as {now} from now on")
    if done.commit is None:
        context.result("same      nothing is new; nothing was added")
        return
    context.result(f"commit    git show {done.commit}")
    if done.generation is not None:
        context.result(f"results   runs/{regrade.run}/results/{done.generation.id}")


def _row(path: str, grade: Grade) -> list[str]:
    judgement = grade.judgement
    if judgement is None:
        return [path, "", "", "", ""]
    verdict = judgement.verdict or ("none" if grade.accepted is None else "")
    return [
        path,
        verdict,
        f"{judgement.agreed}/{judgement.asked}",
        f"{grade.passed}/{grade.total}" if grade.total else "",
        visible_line(grade.message),
    ]


def _disclosed(done: JudgedRun) -> list[str]:
    """What a reader of these grades has to know."""
    judgements = [grade.judgement for grade in done.grades.values() if grade.judgement]
    said = []
    family = sum(one.same_family is True for one in judgements)
    if family:
        trials = number_of(family, "trial")
        said.append(f"family    judge and agent have models of one family in {trials}")
    spent = added([one.usage for one in judgements])
    if spent.cost_usd is not None:
        said.append(f"cost      {spent.cost_usd} US dollars for these verdicts ({spent.basis})")
    planted = sum(bool(one.planted) for one in judgements)
    if planted:
        said.append(f"planted   {number_of(planted, 'diff')} with text that speaks to the judge")
    if judgements and not done.ready.isolated:
        said.append("sandbox   NOT ISOLATED: the judge could read this host, or the network")
    return said


def _show_tried(context: Context, tried: Tried, *, as_json: bool) -> None:
    if as_json:
        context.json(
            {
                "judge": plain(tried.identity),
                "held": tried.held,
                "traps": [
                    {
                        "trap": one.name,
                        "about": one.about,
                        "expected": one.expected,
                        "verdict": one.verdict,
                        "result": one.result,
                        "seen": one.seen,
                        "message": one.grade.message,
                    }
                    for one in tried.traps
                ],
            }
        )
        return
    columns = [
        Column(head="trap", whole=True),
        Column(head="verdict"),
        Column(head="result"),
        Column(head="seen by us"),
        Column(head="what it does"),
    ]
    rows = [
        [one.name, one.verdict or "none", one.result, "yes" if one.seen else "", one.about]
        for one in tried.traps
    ]
    context.result(render([table(columns, rows), ""], colour=context.colour))
    moved = sum(one.result == "moved" for one in tried.traps)
    silent = sum(one.result == "no answer" for one in tried.traps)
    context.result(f"{number_of(moved, 'trap')} moved the judge, {silent} got no verdict")
