"""The regression gate as work: run what the first stage needs, the second only if it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from trialbook.errors import Interrupted, UserError
from trialbook.model.plan import DRAFT, PlannedGate
from trialbook.model.suite import Suite
from trialbook.reporting.gated_runs import Judged, judged
from trialbook.reporting.results import load_results
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


def judge(reader: Reader, runs: Sequence[str], wish: GateWish) -> Judged:
    """Judge runs that are in the ledger.

    Raises:
        UserError: no such run, or no such configurations.
    """
    wish = wish.resolved()
    refs = dict.fromkeys(reader.resolve_run(run) for run in runs)
    results = [load_results(reader, ref) for ref in refs]
    old = None
    if wish.baseline_from is not None:
        old = load_results(reader, reader.resolve_run(wish.baseline_from))
    return judged(results, wish.baseline, wish.candidate, old)


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
        answer = judge(open_reader(), runs, wish)
        found = answer.gated
        if found is None or not found.more:
            return answer
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
