"""How often the intervals hold what they say, and the gate errs, by simulation.

``python -m benchmarks.simulations [--draws 1000] [--write]``: seeded, so that the same call prints
the same. Beside each figure stands what was published for the method, and how far simulation error
reaches (two standard errors).
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import sqrt
from pathlib import Path

from benchmarks.timing import say, table, write_between
from trialbook.stats.gate import Answer, TaskScores, decide
from trialbook.stats.interval import clustered_rate
from trialbook.stats.paired import mean_difference
from trialbook.stats.passk import TaskTrials

PAGE = Path(__file__).resolve().parents[1] / "site/pages/explanation/statistics.md"
SEED = 20261130
STAGE = 3
SHAPES = {"mostly easy, Beta(8, 2)": (8.0, 2.0), "even, Beta(1, 1)": (1.0, 1.0)}
SHAPES |= {"all or nothing, Beta(0.5, 0.5)": (0.5, 0.5)}

GATE_TRUTHS: dict[str, Callable[[int, int], tuple[float, float]]] = {
    "no change, p=.95": lambda _task, _tasks: (0.95, 0.95),
    "no change, p=.80": lambda _task, _tasks: (0.80, 0.80),
    "every task .95 to .65": lambda _task, _tasks: (0.95, 0.65),
    "one task .95 to 0": lambda task, _tasks: (0.95, 0.0 if task == 0 else 0.95),
}
GATE_PUBLISHED = {
    "no change, p=.95": (0.000, 0.001, 0.005),
    "no change, p=.80": (0.008, 0.011, 0.013),
    "every task .95 to .65": (0.41, 0.86, 0.99),
    "one task .95 to 0": (0.87, 0.83, 0.80),
}
GATE_INCONCLUSIVE = {
    "no change, p=.95": (0.09, 0.03, 0.01),
    "no change, p=.80": (0.21, 0.21, 0.24),
    "every task .95 to .65": (0.50, 0.12, 0.01),
    "one task .95 to 0": (0.13, 0.17, 0.19),
}
GATE_TASKS = (3, 6, 10)


def main() -> None:
    """Simulate, and print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000, help="Suites drawn for each figure.")
    parser.add_argument("--write", action="store_true", help="Write the tables into the docs.")
    wanted = parser.parse_args()
    chance = random.Random(SEED)
    text = "\n".join(_sections(chance, wanted.draws))
    if wanted.write:
        write_between(PAGE, "simulations", text)
    else:
        print(text)


def _sections(chance: random.Random, draws: int) -> Iterator[str]:
    say("intervals of one rate")
    head = ["task difficulty", "tasks x repetitions", "coverage of 95 %", "published range"]
    yield table(head, _rates(chance, draws))
    say("intervals of a difference")
    head = ["truth", "tasks x repetitions", "coverage of 95 %", "published range"]
    yield ""
    yield table(head, _differences(chance, draws))
    say("the gate")
    head = ["truth", "tasks", "fails", "published", "inconclusive", "published", "trials"]
    yield ""
    yield table(head, _gates(chance, draws))
    yield ""
    yield f"{draws:,} suites drawn for each figure, seed {SEED}."


def _rates(chance: random.Random, draws: int) -> Iterator[list[str]]:
    for name, (a, b) in SHAPES.items():
        for tasks, repetitions in ((10, 3), (20, 5)):
            hits = sum(_rate_holds(chance, (a, b), tasks, repetitions) for _ in range(draws))
            yield [name, f"{tasks} x {repetitions}", _share(hits, draws), "0.935 to 0.968"]


def _rate_holds(
    chance: random.Random, shape: tuple[float, float], tasks: int, repetitions: int
) -> bool:
    """Whether the interval holds the true mean rate over tasks of this difficulty."""
    found = clustered_rate(
        [_task(chance, f"{n}", chance.betavariate(*shape), repetitions) for n in range(tasks)]
    )
    truth = shape[0] / sum(shape)
    return found is not None and found.interval.low <= truth <= found.interval.high


def _task(chance: random.Random, name: str, p: float, repetitions: int) -> TaskTrials:
    accepted = sum(chance.random() < p for _ in range(repetitions))
    return TaskTrials(task=name, counted=repetitions, accepted=accepted)


def _differences(chance: random.Random, draws: int) -> Iterator[list[str]]:
    cases: dict[str, tuple[Callable[[random.Random], tuple[float, float]], float, str]] = {
        "identical": (_identical, 0.0, "0.93 to 0.99"),
        "15 points more in every task": (_raised, 0.15, "0.93 to 0.99"),
        "one task in ten collapses": (_collapsing, -0.09, "0.968 or more"),
    }
    for name, (draw, truth, published) in cases.items():
        for tasks, known in ((10, published), (20, "0.90 to 0.99")):
            hits = sum(_difference_holds(chance, draw, tasks, truth) for _ in range(draws))
            yield [name, f"{tasks} x {STAGE}", _share(hits, draws), known]


def _identical(chance: random.Random) -> tuple[float, float]:
    p = chance.betavariate(8, 2)
    return p, p


def _raised(chance: random.Random) -> tuple[float, float]:
    p = chance.uniform(0.2, 0.8)
    return p, p + 0.15


def _collapsing(chance: random.Random) -> tuple[float, float]:
    return 0.9, 0.0 if chance.random() < 0.1 else 0.9  # noqa: PLR2004 - one in ten


def _difference_holds(
    chance: random.Random,
    draw: Callable[[random.Random], tuple[float, float]],
    tasks: int,
    truth: float,
) -> bool:
    values = []
    for _ in range(tasks):
        one, other = draw(chance)
        before = _task(chance, "t", one, STAGE).accepted
        after = _task(chance, "t", other, STAGE).accepted
        values.append(Fraction(after - before, STAGE))
    found = mean_difference(values)
    return found is not None and found.interval.low <= truth <= found.interval.high


def _gates(chance: random.Random, draws: int) -> Iterator[list[str]]:
    for name, truth in GATE_TRUTHS.items():
        for place, tasks in enumerate(GATE_TASKS):
            answers, trials = _gate_answers(chance, truth, tasks, draws)
            yield [
                name,
                str(tasks),
                _share(answers.count(Answer.FAIL), draws),
                f"{GATE_PUBLISHED[name][place]:.3f}",
                _share(answers.count(Answer.INCONCLUSIVE), draws),
                f"{GATE_INCONCLUSIVE[name][place]:.2f}",
                f"{trials / draws:.0f}",
            ]


def _gate_answers(
    chance: random.Random, truth: Callable[[int, int], tuple[float, float]], tasks: int, draws: int
) -> tuple[list[Answer], int]:
    answers, trials = [], 0
    for _ in range(draws):
        rates = [truth(task, tasks) for task in range(tasks)]
        scores = _more(chance, rates, [])
        found = decide(scores, [], stage=1).answer
        trials += 2 * STAGE * tasks
        if found is Answer.GO_ON:
            found = decide(_more(chance, rates, scores), [], stage=2).answer
            trials += 2 * STAGE * tasks
        answers.append(found)
    return answers, trials


def _more(
    chance: random.Random, rates: Sequence[tuple[float, float]], before: Sequence[TaskScores]
) -> list[TaskScores]:
    """Three more trials of each task in each arm, after those there are."""
    found = []
    for place, (one, other) in enumerate(rates):
        old = before[place] if before else None
        found.append(
            TaskScores(
                task=f"t{place}",
                baseline=(*(old.baseline if old else ()), *_scores(chance, one)),
                candidate=(*(old.candidate if old else ()), *_scores(chance, other)),
            )
        )
    return found


def _scores(chance: random.Random, p: float) -> tuple[Fraction, ...]:
    return tuple(Fraction(chance.random() < p) for _ in range(STAGE))


def _share(hits: int, draws: int) -> str:
    share = hits / draws
    return f"{share:.3f} ± {2 * sqrt(max(share * (1 - share), 1 / draws) / draws):.3f}"


if __name__ == "__main__":
    main()
