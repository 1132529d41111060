from __future__ import annotations

from dataclasses import replace

from tests.recorded import drift_run, results_of

from trialbook.model.regrade import Regrade
from trialbook.reporting.comparability import graded_apart
from trialbook.reporting.results import RunResults


def again(results: RunResults, digest: str) -> RunResults:
    regrade = Regrade(
        id="20261130T151526Z-3f9c2d",
        run=results.plan.path,
        created="2026-11-30T15:15:26.000Z",
        author="Ann",
        reason="x",
        trialbook="0.1.0",
        graders=(),
        tasks=dict.fromkeys(results.plan.tasks, digest),
    )
    return replace(results, regrades=(regrade,))


def test_runs_of_which_one_was_graded_again_with_other_files_do_not_compare() -> None:
    plan, bundles = drift_run()
    one = results_of(plan, bundles)
    other = results_of(replace(plan, run="20261201-080000-bbbb"), bundles)
    assert graded_apart([one, other]) == []
    (said,) = graded_apart([one, again(other, "f" * 64)])
    assert plan.run in said
    assert graded_apart([again(one, "f" * 64), again(other, "f" * 64)]) == []
    same = plan.tasks[next(iter(plan.tasks))].digest
    assert graded_apart([one, again(other, same)]) == []
