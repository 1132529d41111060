"""The suite that a run's plan was made from, as its files are now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trialbook.errors import UserError
from trialbook.model.plan import LOCKED, Plan
from trialbook.model.suite import Suite
from trialbook.registry import Registry
from trialbook.storage.suites import load_suite
from trialbook.workflow.locking import LockState, lock_state
from trialbook.workflow.planning import Request, narrowed
from trialbook.workflow.revisions import as_planned


def suite_of_plan(plan: Plan, root: Path, registry: Registry, *, as_locked: bool = True) -> Suite:
    """The suite with the plan's tasks, configurations and repetitions, from today's files.

    Args:
        plan: The plan.
        root: The ledger's root.
        registry: Where graders are.
        as_locked: Whether graders and rules have to be those that were locked for the plan; not
            so when artifacts are graded again on purpose by others.

    Raises:
        UserError: the suite has mistakes, lacks a task or configuration of the plan, or its
            graders or rules are not those that were locked for the plan.
    """
    suite = load_suite(root, plan.suite, registry)
    if as_locked and plan.status == LOCKED and suite.protocol == plan.protocol:
        _check_program(lock_state(root, suite, registry), suite)
    names = {name: one.template or name for name, one in plan.configurations.items()}
    request = Request(
        tasks=tuple(plan.tasks),
        configurations=tuple(dict.fromkeys(names.values())),
        repetitions=plan.repetitions,
        kind=plan.kind,
    )
    suite = narrowed(suite, request)
    known = {one.name: one for one in suite.configurations}
    return replace(
        suite,
        configurations=tuple(
            as_planned(known[names[name]], name, planned)
            for name, planned in plan.configurations.items()
        ),
    )


def _check_program(state: LockState, suite: Suite) -> None:
    """What is locked besides files: graders' versions, and rules that trialbook fills in."""
    # Files are compared with the plan itself when the run goes on.
    wrong = [one for one in state.differing if not one.where.startswith(f"{suite.folder}/")]
    if wrong:
        told = "\n".join(f"  {one}" for one in wrong)
        raise UserError(
            f"not as protocol {state.protocol} of the suite {suite.name} was locked:\n{told}",
            hint="install what the lock names to go on, or start a new run with `trialbook eval`",
        )
