"""A run's slots: each has its chain of trials, made as the plan's policy allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan, SlotKey
from trialbook.model.trial import Trial
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings


class SlotCheck:
    """Checks the chains of one run.

    ``standing`` gives the outcomes that a trial may be replaced for: the recorded one, and those
    that amendments and later grades made of it.
    """

    def __init__(
        self,
        plan: Plan,
        path: str,
        standing: Mapping[str, set[Outcome]],
        findings: Findings,
    ) -> None:
        self._plan = plan
        self._path = path
        self._standing = standing
        self._findings = findings

    def check(self, trials: Sequence[Trial]) -> list[SlotKey]:
        """Check every chain; gives the slots of the plan that have no trial."""
        chains: dict[SlotKey, list[Trial]] = {}
        for trial in sorted(trials, key=lambda trial: (trial.slot, trial.rerun)):
            chains.setdefault(trial.slot, []).append(trial)
        planned = {slot.key for slot in self._plan.schedule}
        for slot, chain in chains.items():
            if slot not in planned:
                for trial in chain:
                    self._fault(Code.SLOT_UNPLANNED, f"the plan has no slot {slot.path}", trial)
            self._chain(chain)
        return [slot.key for slot in self._plan.schedule if slot.key not in chains]

    def _chain(self, chain: Sequence[Trial]) -> None:
        for place, trial in enumerate(chain):
            if trial.rerun != place:
                expected = trial.slot.trial_path(place)
                self._fault(Code.RERUN_GAP, f"{expected} is not there", trial)
                return
        first = chain[0]
        if first.replaces is not None or first.rerun_reason is not None:
            self._fault(Code.RERUN_LINK, f"it replaces {first.replaces}, and is the first", first)
        counts: dict[Outcome, int] = {}
        for replaced, trial in pairwise(chain):
            self._link(replaced, trial, counts)

    def _link(self, replaced: Trial, trial: Trial, counts: dict[Outcome, int]) -> None:
        if trial.replaces != replaced.path:
            detail = f"it replaces {trial.replaces}, before it is {replaced.path}"
            self._fault(Code.RERUN_LINK, detail, trial)
        outcomes = self._standing.get(replaced.path) or {replaced.outcome}
        reason = next((one for one in outcomes if one.value == trial.rerun_reason), None)
        if reason is None:
            names = " or ".join(sorted(one.value for one in outcomes))
            detail = f"its reason is {trial.rerun_reason}, and {replaced.path} ended as {names}"
            self._fault(Code.RERUN_REASON, detail, trial)
            reason = replaced.outcome
        if not reason.rerunnable:
            detail = f"{replaced.path} ended as {reason.value}, which no policy may replace"
            self._fault(Code.RERUN_NEVER, detail, trial)
            return
        counts[reason] = counts.get(reason, 0) + 1
        if trial.incident is not None:
            return
        allowed = self._plan.rerun.get(reason.value, 0)
        if allowed is not None and counts[reason] > allowed:
            detail = (
                f"{reason.value} is replaced {counts[reason]} times in {trial.slot.path}, "
                f"the plan allows {allowed}"
            )
            self._fault(Code.RERUN_BEYOND_POLICY, detail, trial)

    def _fault(self, code: Code, detail: str, trial: Trial) -> None:
        self._findings.fault(code, detail, path=f"{self._path}/{trial.path}")


def out_of_order(plan: Plan, trials: Sequence[Trial]) -> int:
    """How many first trials started after one that the plan has later."""
    position = {slot.key: place for place, slot in enumerate(plan.schedule)}
    started = sorted(
        (trial.started, position[trial.slot])
        for trial in trials
        if trial.rerun == 0 and trial.slot in position
    )
    furthest, late = -1, 0
    for _, place in started:
        late += place < furthest
        furthest = max(furthest, place)
    return late
