"""``trialbook suite``: check a suite, or start a new one."""

from __future__ import annotations

import dataclasses

import click

from trialbook.cli.context import Context, pass_context
from trialbook.errors import ExitCode, UserError
from trialbook.registry import Registry
from trialbook.storage.scaffold import new_suite
from trialbook.storage.suites import check_suite, load_suite


@click.group("suite", epilog="Example: trialbook suite check instruction-drift")
def command() -> None:
    """Check a suite, or start a new one."""


@command.command("check", epilog="Example: trialbook suite check instruction-drift")
@click.argument("suite")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def check(context: Context, *, suite: str, as_json: bool) -> int:
    """Report every mistake in the files of SUITE at once.

    Each is one line, `path:line:column: what is wrong; what to do`, with paths from the ledger's
    folder down. The exit status is 0 if there is none, and 2 otherwise.
    """
    root = context.root()
    registry = Registry()
    problems = check_suite(root, suite, registry)
    if problems and not as_json:
        raise UserError(problems=problems)
    if problems:
        found = [dataclasses.asdict(problem) for problem in problems]
        context.json({"suite": suite, "ok": False, "problems": found})
        return ExitCode.FIX
    loaded = load_suite(root, suite, registry)
    tasks = [task.name for task in loaded.tasks]
    configurations = [item.name for item in loaded.configurations]
    if as_json:
        context.json(
            {
                "suite": suite,
                "ok": True,
                "problems": [],
                "protocol": loaded.protocol,
                "tasks": tasks,
                "configurations": configurations,
            }
        )
    else:
        counts = f"{_count(tasks, 'task')}, {_count(configurations, 'configuration')}"
        context.result(f"suite {suite}: {counts}, protocol {loaded.protocol}: no problems")
    return ExitCode.DONE


@command.command("new", epilog="Example: trialbook suite new refunds")
@click.argument("name")
@pass_context
def new(context: Context, *, name: str) -> int:
    """Start a suite called NAME: one example task and two configurations that run offline.

    The files pass `suite check` as they are and say in comments what each key is for. Nothing that
    is there already is changed.
    """
    made = new_suite(context.root(), name, Registry())
    for path in made:
        context.result(str(path))
    context.say("")
    context.say(f"next   look at suites/{name}/suite.yaml")
    context.say(f"       trialbook suite check {name}")
    context.say(f"       trialbook eval {name}")
    context.say(f"       trialbook task new {name} TASK")
    return ExitCode.DONE


def _count(things: list[str], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"
