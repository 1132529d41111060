"""The regression gate as work: run what the first stage needs, the second only if it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from trialbook.errors import Interrupted, UserError
from trialbook.model.plan import DRAFT, PlannedGate
from trialbook.model.suite import Suite
from trialbook.reporting.arms import Arm, arm
from trialbook.reporting.gate import Gated, gate
from trialbook.reporting.historical import obstacles_of_age
from trialbook.reporting.results import RunResults, load_results
from trialbook.reporting.sides import declared, reasons_against, rule, sides
from trialbook.reporting.wording import listed
from trialbook.stats.gate import STAGE_REPETITIONS
from trialbook.storage.reader import Reader
from trialbook.workflow.evaluate import Bench, start_run
from trialbook.workflow.planning import Request, make_plan, narrowed
from trialbook.workflow.revisions import BASE, HEAD, Revisions

Say = Callable[[str], None]
"""Told what a person should hear while it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateWish:
    """What to judge: the configurations by name (None: as declared), and an older baseline."""

    baseline: str | None = None
    candidate: str | None = None
    baseline_from: str | None = None
    jobs: int | None = None
    revisions: Revisions | None = None

    def resolved(self) -> GateWish:
        """The same with the names of the two configurations that revisions make."""
        if self.revisions is None:
            return self
        return replace(self, baseline=BASE, candidate=HEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The gate's answer, or the reasons why these runs may not be judged."""

    suite: str
    gated: Gated | None
    reasons: tuple[str, ...]


def judge(reader: Reader, runs: Sequence[str], wish: GateWish) -> Judged:
    """Judge runs that are in the ledger.

    Raises:
        UserError: no such run, or no such configurations.
    """
    wish = wish.resolved()
    refs = dict.fromkeys(reader.resolve_run(run) for run in runs)
    results = [load_results(reader, ref) for ref in refs]
    suite = f"{results[0].plan.suite}@{results[0].plan.protocol}"
    if wish.baseline_from is None:
        one, other = sides(results, wish.baseline, wish.candidate)
        reasons = reasons_against(results, one, other)
    else:
        old = load_results(reader, reader.resolve_run(wish.baseline_from))
        one, other = _then_and_now(old, results, wish)
        reasons = reasons_against([old, *results])
        for run in results:
            reasons += obstacles_of_age(old.plan, run.plan, one.name, other.name)
    if reasons:
        return Judged(suite=suite, gated=None, reasons=tuple(dict.fromkeys(reasons)))
    return Judged(suite=suite, gated=gate(one, other, rule(results).margin), reasons=())


def _then_and_now(
    old: RunResults, results: Sequence[RunResults], wish: GateWish
) -> tuple[Arm, Arm]:
    """The baseline in the older run, and the candidate in the newer ones."""
    plans = declared(results)
    names = list(dict.fromkeys(name for one in results for name in one.plan.configurations))
    candidate = wish.candidate or (plans.candidate if plans else None)
    if candidate is None and len(names) > 1:
        raise UserError(
            "which configuration is the candidate? the plan names none",
            hint=f"add --candidate; there are {listed(names)}",
        )
    candidate = candidate or names[0]
    baseline = wish.baseline or (plans.baseline if plans else None) or candidate
    if baseline == candidate and old.plan.run in {one.plan.run for one in results}:
        raise UserError(
            f"{old.plan.run} would be compared with itself",
            hint="name an older run with --baseline-from, or another --baseline",
        )
    found = arm([old], baseline), arm(results, candidate)
    for side, name, where in zip(found, (baseline, candidate), ("older", "newer"), strict=True):
        if side is None:
            raise UserError(f"the {where} run has no configuration {name!r}")
    one, other = (side for side in found if side is not None)
    return one, other


def run_gate(
    bench: Bench, suite: Suite, wish: GateWish, open_reader: Callable[[], Reader], say: Say
) -> Judged:
    """Run the suite as far as an answer needs, and judge the runs that were made.

    Raises:
        UserError: the suite is a draft, or has no such configurations.
        Interrupted: a person stopped it; what ran is in the ledger.
    """
    names = () if wish.revisions else _configurations(suite, wish)
    planned = _planned(suite, wish.resolved(), open_reader)
    runs: list[str] = []
    while True:
        request = Request(
            repetitions=STAGE_REPETITIONS,
            configurations=names,
            jobs=wish.jobs,
            revisions=wish.revisions,
            gate=replace(planned, after=tuple(f"{suite.name}/{run}" for run in runs)),
        )
        plan = make_plan(
            suite,
            request,
            root=bench.root,
            registry=bench.registry,
            system=bench.system,
            say=say,
        )
        if plan.status == DRAFT:
            raise UserError(
                f"a draft cannot be judged: {plan.draft_because}",
                hint=f"lock the suite and commit the lock: trialbook suite lock {suite.name}",
            )
        ending = start_run(bench, narrowed(suite, request), plan)
        runs.append(plan.run)
        if ending.interrupted:
            raise Interrupted(f"stopped; go on with: trialbook resume {plan.run}")
        judged = judge(open_reader(), runs, wish)
        found = judged.gated
        if found is None or not found.more:
            return judged
        say(f"the first stage does not decide: {found.decision.reason if found.decision else ''}")


def _planned(suite: Suite, wish: GateWish, open_reader: Callable[[], Reader]) -> PlannedGate:
    """What the plans of the gate say of it."""
    compare = suite.compare
    candidate = wish.candidate or (compare.candidate if compare else "")
    older = None
    if wish.baseline_from is not None:
        older = open_reader().resolve_run(wish.baseline_from).path
    return PlannedGate(
        baseline=wish.baseline or (compare.baseline if compare else "") or candidate,
        candidate=candidate,
        baseline_from=older,
    )


def _configurations(suite: Suite, wish: GateWish) -> tuple[str, ...]:
    compare = suite.compare
    candidate = wish.candidate or (compare.candidate if compare else None)
    baseline = wish.baseline or (compare.baseline if compare else None)
    if candidate is None or (baseline is None and wish.baseline_from is None):
        raise UserError(
            f"which configurations? {suite.name} does not name two to compare",
            hint="add --baseline and --candidate, or `compare` to suite.yaml",
        )
    if wish.baseline_from is not None or baseline is None:
        return (candidate,)
    return (baseline, candidate)
