"""How the time to compare two configurations grows with the number of trials.

``python -m benchmarks.comparing [--write]``: runs made in memory, of ten tasks with more and more
repetitions, and of more and more tasks with five. What reading the ledger takes is in
`benchmarks.ledger`.
"""

from __future__ import annotations

import argparse
import random
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from benchmarks.synthetic import plan_of
from benchmarks.timing import machine, megabytes, ms, say, seconds, table, write_between
from trialbook.model.outcome import Outcome
from trialbook.model.plan import LOCKED, Plan, PlannedSlot, schedule
from trialbook.model.trial import Trial
from trialbook.reporting.arms import arm
from trialbook.reporting.comparison import compare_arms
from trialbook.reporting.results import RunResults
from trialbook.stats.verdict import Rule

PAGE = Path(__file__).resolve().parents[1] / "site/pages/explanation/statistics.md"
SEED = 20261130
SIZES = (1_000, 10_000, 100_000)
_ARMS = ("one", "two")
_FEW_TASKS = 10
_REPETITIONS = 5


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="Write the table into the docs.")
    wanted = parser.parse_args()
    head = ["trials", "as", "time", "peak memory"]
    text = table(head, _rows()) + f"\n\n{machine()}"
    if wanted.write:
        write_between(PAGE, "comparing", text)
    else:
        print(text)


def _rows() -> Iterator[list[str]]:
    for trials in SIZES:
        few = trials // len(_ARMS) // _FEW_TASKS
        for tasks, repetitions in (
            (_FEW_TASKS, few),
            (trials // len(_ARMS) // _REPETITIONS, _REPETITIONS),
        ):
            say(f"{trials:,} trials as {tasks:,} tasks")
            run = _run(tasks, repetitions)
            took = seconds(lambda run=run: _compare(run))  # type: ignore[misc]
            fresh = _run(tasks, repetitions)
            tracemalloc.start()
            _compare(fresh)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            yield [f"{trials:,}", f"{tasks:,} tasks x {repetitions:,}", ms(took), megabytes(peak)]


def _compare(run: RunResults) -> None:
    """All that `trialbook compare` computes, from trials that were read."""
    one, other = (arm([run], name) for name in _ARMS)
    assert one is not None
    assert other is not None
    compare_arms([run], one, other, Rule(margin=Fraction(1, 10)))


def _run(tasks: int, repetitions: int) -> RunResults:
    chance = random.Random(SEED)
    plan = _plan(tasks, repetitions)
    rates = {name: chance.betavariate(8, 2) for name in plan.tasks}
    return RunResults(
        plan=plan,
        trials=tuple(
            _trial(plan, slot, chance.random() < rates[slot.task]) for slot in plan.schedule
        ),
    )


def _plan(tasks: int, repetitions: int) -> Plan:
    plain = plan_of(0)
    task = next(iter(plain.tasks.values()))
    planned = next(iter(plain.configurations.values()))
    names = [f"task-{number:06}" for number in range(tasks)]
    slots = schedule(plain.seed, "refunds@3", names, list(_ARMS), repetitions)
    return replace(
        plain,
        status=LOCKED,
        repetitions=repetitions,
        tasks=dict.fromkeys(names, task),
        configurations={"one": planned, "two": replace(planned, model="another")},
        schedule=tuple(
            PlannedSlot(task=s.task, configuration=s.configuration, repetition=s.repetition)
            for s in slots
        ),
    )


def _trial(plan: Plan, slot: PlannedSlot, accepted: bool) -> Trial:  # noqa: FBT001 - its outcome
    return Trial(
        run=plan.run,
        suite=plan.suite,
        protocol=plan.protocol,
        status=plan.status,
        task=slot.task,
        configuration=slot.configuration,
        repetition=slot.repetition,
        outcome=Outcome.ACCEPTED if accepted else Outcome.REJECTED,
        reason="",
        plan_commit="",
        plan_sha256="",
        started=plan.created,
        finished=plan.created,
    )


if __name__ == "__main__":
    main()
