"""``trialbook rubric``: list, show and check rubrics, or begin a new version."""

from __future__ import annotations

import dataclasses

import click

from trialbook.cli.context import Context, pass_context
from trialbook.errors import ExitCode, UserError
from trialbook.formats.records import plain
from trialbook.formats.visible import visible, visible_line
from trialbook.model.rubric import Question, Rubric
from trialbook.registry import Registry
from trialbook.storage.judges import check_judges, judge_names
from trialbook.storage.rubrics import (
    load_rubric,
    readable_rubrics,
    rubric_files,
    rubric_names,
)
from trialbook.workflow.rubrics import (
    check_rubrics_whole,
    latest_reference,
    new_rubric,
    uses_of_rubrics,
)


@click.group("rubric", epilog="Example: trialbook rubric show merge")
def command() -> None:
    """List, show and check rubrics, or begin a new version of one."""


@command.command("list", epilog="Example: trialbook rubric list")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def listed(context: Context, *, as_json: bool) -> int:
    """List every version of every rubric of this ledger, and whether it was used.

    A version that was used is frozen: what has to change goes into the next one.
    """
    root = context.root()
    used = {use.reference for use in uses_of_rubrics(root)}
    rubrics, problems = readable_rubrics(root)
    if as_json:
        context.json([_summary(rubric, used) for rubric in rubrics])
    for rubric in () if as_json else rubrics:
        many = len(rubric.questions)
        facts = [f"{many} question{'' if many == 1 else 's'}"]
        facts += ["verdict " + ", ".join(rubric.verdicts)] if rubric.verdicts else []
        facts += ["frozen"] if rubric.reference in used else []
        context.result(f"{rubric.reference:<20}  {visible_line(rubric.title)} ({'; '.join(facts)})")
    if not rubrics and not problems:
        context.say(f"no rubrics yet; {context.program} rubric new merge")
    if problems:
        raise UserError(problems=problems)
    return ExitCode.DONE


@command.command("show", epilog="Example: trialbook rubric show merge@1")
@click.argument("rubric")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def show(context: Context, *, rubric: str, as_json: bool) -> int:
    """Show the questions and the prose of RUBRIC.

    That is a version such as merge@1, or the name, which means its last version.
    """
    root = context.root()
    found = load_rubric(root, latest_reference(root, rubric))
    if as_json:
        context.json({"reference": found.reference, **plain(found)})
        return ExitCode.DONE
    context.result(f"{found.reference}  {visible_line(found.title)}")
    if found.verdicts:
        context.result(f"verdict: {', '.join(found.verdicts)}, from best to worst")
    for number, question in enumerate(found.questions, start=1):
        context.result("")
        _say_question(context, number, question)
    context.result("")
    context.result(visible(found.prose.removesuffix("\n")))
    return ExitCode.DONE


@command.command("check", epilog="Example: trialbook rubric check merge")
@click.argument("rubric", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def check(context: Context, *, rubric: str | None, as_json: bool) -> int:
    """Report every mistake in RUBRIC, or in all rubrics and judges, at once.

    Besides mistakes of form these are questions that ask for taste ("Is it elegant?"), for what
    went on in somebody's head, for two things at once, or that do not say what makes the answer
    no; and versions that were changed after a plan, a judge or a reviewer used them. Each is one
    line, `path:line:column: what is wrong; what to do`. The exit status is 0 if there is nothing
    to fix, and 2 otherwise.
    """
    root = context.root()
    problems = check_rubrics_whole(root, rubric)
    judges = judge_names(root) if rubric is None else []
    if judges:
        problems = sorted([*problems, *check_judges(root, Registry())])
    wanted = None if rubric is None else rubric.partition("@")[0]
    names = [name for name in rubric_names(root) if wanted in (None, name)]
    if as_json:
        found = [dataclasses.asdict(problem) for problem in problems]
        context.json({"rubrics": names, "judges": judges, "ok": not problems, "problems": found})
        return ExitCode.FIX if problems else ExitCode.DONE
    if problems:
        raise UserError(problems=problems)
    for name in names:
        versions = [file for file in rubric_files(root) if file.name == name]
        many = "1 version" if len(versions) == 1 else f"{len(versions)} versions"
        context.result(f"rubric {name}: {many}: no problems")
    for name in judges:
        context.result(f"judge {name}: no problems")
    if not names:
        context.say(f"no rubrics yet; {context.program} rubric new merge")
    return ExitCode.DONE


@command.command("new", epilog="Example: trialbook rubric new payments --from merge")
@click.argument("name")
@click.option("--from", "source", default="", help="The rubric to copy: merge, or merge@1.")
@pass_context
def new(context: Context, *, name: str, source: str) -> int:
    """Begin a rubric called NAME, or the next version of it if it is there.

    Without --from the next version is copied from the last one. A rubric that is not there yet
    comes as trialbook ships it (merge, maintainability, continuity, repair, trajectory), or begins
    with one question whose comments say what each key is for.
    """
    made = new_rubric(context.root(), name, source)
    context.result(made.path)
    if made.source:
        context.say(f"copied from {made.source}")
    context.say(f"next   change it, then: {context.program} rubric check {name}")
    return ExitCode.DONE


def _summary(rubric: Rubric, used: set[str]) -> dict[str, object]:
    return {
        "reference": rubric.reference,
        "title": rubric.title,
        "verdicts": list(rubric.verdicts),
        "questions": len(rubric.questions),
        "sha256": rubric.sha256,
        "frozen": rubric.reference in used,
    }


def _say_question(context: Context, number: int, question: Question) -> None:
    head = visible_line(question.text)
    context.result(f"{number}. {head}  [{question.id}, {question.severity}]")
    context.result(f"   no when   {visible_line(question.no_when)}")
    context.result(f"   evidence  {question.evidence}")
    if question.applies_to:
        context.result(f"   applies   {visible_line(question.applies_to)}")
