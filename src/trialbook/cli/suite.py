"""``trialbook suite``: check, lock and bump a suite, or start a new one."""

from __future__ import annotations

import dataclasses

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.suite_lock import bump, lock
from trialbook.errors import ExitCode, UserError
from trialbook.formats.records import plain
from trialbook.registry import Registry
from trialbook.storage.scaffold import new_suite
from trialbook.storage.suites import load_suite
from trialbook.workflow.locking import LockState, lock_state
from trialbook.workflow.starts import check_whole_suite


@click.group("suite", epilog="Example: trialbook suite check instruction-drift")
def command() -> None:
    """Check, lock or bump a suite, or start a new one."""


@command.command("check", epilog="Example: trialbook suite check instruction-drift")
@click.argument("suite")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def check(context: Context, *, suite: str, as_json: bool) -> int:
    """Report every mistake in the files of SUITE at once.

    Each is one line, `path:line:column: what is wrong; what to do`, with paths from the ledger's
    folder down. Snapshots that are on this machine are looked through too: folders, archives and
    commits of local repositories. Then it says whether the suite is locked, and what is not as
    locked. The exit status is 0 if there is nothing to fix, and 2 otherwise.
    """
    root = context.root()
    registry = Registry()
    problems = check_whole_suite(root, suite, registry, context.system.cache_folder())
    if problems and not as_json:
        raise UserError(problems=problems)
    if problems:
        found = [dataclasses.asdict(problem) for problem in problems]
        context.json({"suite": suite, "ok": False, "problems": found})
        return ExitCode.FIX
    loaded = load_suite(root, suite, registry)
    state = lock_state(root, loaded, registry)
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
                "lock": _lock_json(state),
            }
        )
    else:
        counts = f"{_count(tasks, 'task')}, {_count(configurations, 'configuration')}"
        context.result(f"suite {suite}: {counts}, protocol {loaded.protocol}: no problems")
        _say_lock(context, state)
    return ExitCode.FIX if state.differing else ExitCode.DONE


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
    context.say(f"       {context.program} suite check {name}")
    context.say(f"       {context.program} eval {name}")
    context.say(f"       {context.program} task new {name} TASK")
    return ExitCode.DONE


def _count(things: list[str], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _say_lock(context: Context, state: LockState) -> None:
    """One line on the lock, and what is not as locked below it."""
    stored = state.stored
    if stored is None:
        context.result(
            f"lock: none, so runs are drafts; {context.program} suite lock {state.suite}"
        )
    elif state.differing:
        context.result(f"lock: {stored.path}, and not as locked:")
        for one in state.differing:
            context.result(f"  {one}")
        context.result(f"put them back, or: {context.program} suite bump {state.suite}")
    elif state.uncommitted:
        first = state.uncommitted[0]
        context.result(f"lock: {stored.path}, everything as locked, but not in git ({first});")
        context.result("runs are drafts until you commit it:")
        for step in state.advice:
            context.result(f"  {step}")
    else:
        context.result(f"lock: {stored.path}, everything as locked")


def _lock_json(state: LockState) -> dict[str, object]:
    stored = state.stored
    return {
        "path": stored.path if stored else None,
        "sha256": stored.sha256 if stored else None,
        "draft_because": state.draft_because,
        "differing": [plain(one) for one in state.differing],
        "uncommitted": [plain(one) for one in state.uncommitted],
    }


command.add_command(lock)
command.add_command(bump)
