"""How a session begins: with what the one before left, and with its regression where it has one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from trialbook.execution.integration import laid_in
from trialbook.execution.setting import Setting
from trialbook.model.series import SKIP, Regression, RegressionKind, SessionPlan
from trialbook.model.session import PlantedChange, RepositoryState


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """The repository and the brief that a session begins with.

    ``before`` is the repository as it was left. ``regression`` counts the one that is used, from 1;
    ``planted`` is what was laid in, or was to be. ``left_out`` says why the session cannot be done;
    empty if it can.
    """

    before: RepositoryState
    state: RepositoryState
    brief: str
    regression: int | None = None
    planted: PlantedChange | None = None
    left_out: str = ""


def beginning(
    setting: Setting,
    plan: SessionPlan,
    before: RepositoryState,
    fails: Callable[[Regression, str], bool],
) -> Beginning:
    """The first regression that can be had is used; without any, what was left is all there is.

    Args:
        setting: The trial.
        plan: The session.
        before: The repository as it was left.
        fails: Whether a test that reports a regression fails on a tree.

    Raises:
        EnvironmentProblem: a change of the task's cannot be read, or git fails.
    """
    carried = replace(before, lost="")
    planted: PlantedChange | None = None
    for number, one in enumerate(plan.regressions, 1):
        state: RepositoryState | None = carried
        planted = None
        if one.kind is RegressionKind.OWN:
            state = carried if fails(one, carried.tree) else None
        elif one.laid_in is not None:
            state, planted = _laid_in(setting, carried, one)
        if state is not None:
            return Beginning(
                before=before,
                state=state,
                brief=one.brief or plan.brief,
                regression=number,
                planted=planted,
            )
    left_out = ""
    if plan.regressions and plan.regressions[-1].unless_applies == SKIP:
        reason = planted.reason if planted is not None else "no test that reports it fails"
        left_out = f"its regression cannot be had: {reason}"
    return Beginning(
        before=before, state=carried, brief=plan.brief, planted=planted, left_out=left_out
    )


def _laid_in(
    setting: Setting, state: RepositoryState, regression: Regression
) -> tuple[RepositoryState | None, PlantedChange]:
    return laid_in(
        setting.store,
        state,
        regression,
        task_folder=setting.supplies.task_folder(setting.spec.task),
        baseline_tree=setting.made.tree,
        work=setting.work,
    )
