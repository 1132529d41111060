"""Which slots of a run may be run again: by the plan's policy, or by an incident's decision.

An outcome of a valid execution is never run again, whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trialbook.errors import Problem, UserError
from trialbook.model.incident import Decision, Incident, affected_slots
from trialbook.model.plan import Plan, SlotKey
from trialbook.model.runfiles import rerun_of
from trialbook.model.trial import Trial, TrialSpec
from trialbook.storage.corrections import standings
from trialbook.storage.reader import Reader, RunRef
from trialbook.workflow.incidents import find_incident
from trialbook.workflow.specs import PlanInUse, may_rerun


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunRequest:
    """What to run again: ``slots`` as ``TASK/CONFIGURATION/rN``, or an incident's; else all due."""

    slots: tuple[str, ...] = ()
    incident: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """Picks the trials of a rerun: a `Choose` for `resume_run`."""

    run: RunRef
    request: RerunRequest

    def __call__(self, use: PlanInUse, reader: Reader) -> list[TrialSpec]:
        """The specs of the slots to run again, in the schedule's order.

        Raises:
            UserError: a slot that was named may not be run again, or none is left.
        """
        chains = _chains(use.plan, (one.trial for one in standings(reader, self.run)))
        incident = self._incident(reader)
        wanted = self._wanted(use.plan, incident)
        reasons = {slot: _objection(use.plan, chains[slot], incident) for slot in wanted or chains}
        refused = {slot: why for slot, why in reasons.items() if why}
        if self.request.slots and refused:
            raise UserError(
                problems=[
                    Problem(path=slot.path, message=why) for slot, why in sorted(refused.items())
                ]
            )
        chosen = [slot for slot in reasons if slot not in refused]
        if not chosen:
            raise UserError(
                f"no slot of {self.run.path} may be run again: " + _summed_up(refused),
                hint="an outcome that was classified wrongly can be amended, with evidence",
            )
        name = incident.id if incident else None
        return [use.spec(slot, chains[slot][-1], name) for slot in chosen]

    def _incident(self, reader: Reader) -> Incident | None:
        if self.request.incident is None:
            return None
        if self.request.slots:
            raise UserError(
                "the slots of an incident are run again all or none",
                hint="leave out --slot, or --incident",
            )
        name, found = find_incident(reader, self.request.incident)
        if self.run not in found:
            raise UserError(
                f"incident {name} is not one of {self.run.path}",
                hint=f"it is one of {', '.join(run.path for run in found)}",
            )
        incident = found[self.run]
        if incident.decision is not Decision.RERUN:
            state = "is open" if incident.decision is None else f"says {incident.decision.value}"
            raise UserError(
                f"incident {name} {state}, so nothing may be run again for it",
                hint="close it: `trialbook incident close " + name + " --decision rerun`",
            )
        return incident

    def _wanted(self, plan: Plan, incident: Incident | None) -> list[SlotKey]:
        if incident is not None:
            return affected_slots(plan, incident)
        scheduled = {slot.key.path: slot.key for slot in plan.schedule}
        unknown = [text for text in self.request.slots if text.strip("/") not in scheduled]
        if unknown:
            raise UserError(
                f"the plan has no slot {', '.join(unknown)}",
                hint="a slot is TASK/CONFIGURATION/rN; `trialbook show` lists them"
                + (", without .rerun" if any(_is_rerun(text) for text in unknown) else ""),
            )
        asked = {text.strip("/") for text in self.request.slots}
        return [slot for path, slot in scheduled.items() if path in asked]


def _chains(plan: Plan, trials: Iterable[Trial]) -> dict[SlotKey, list[Trial]]:
    found: dict[SlotKey, list[Trial]] = {slot.key: [] for slot in plan.schedule}
    for trial in sorted(trials, key=lambda trial: trial.rerun):
        if trial.slot in found:
            found[trial.slot].append(trial)
    return found


def _objection(plan: Plan, chain: Sequence[Trial], incident: Incident | None) -> str:
    """Why a slot may not be run again, or nothing."""
    if not chain:
        return "it never ran; `trialbook resume` does that"
    outcome = chain[-1].outcome
    if not outcome.rerunnable:
        return f"its last trial is {outcome.value}, which is never run again"
    if may_rerun(plan, chain):
        return ""
    if incident is None:
        times = plan.rerun.get(outcome.value, 0)
        said = f"allows {times} for it" if times else "has none for it"
        return f"its last trial is {outcome.value}, and the plan's rerun policy {said}"
    if any(trial.incident == incident.id for trial in chain):
        return f"it was run again for incident {incident.id} already, and is {outcome.value}"
    return ""


def _summed_up(refused: dict[SlotKey, str]) -> str:
    counts: dict[str, int] = {}
    for why in refused.values():
        counts[why] = counts.get(why, 0) + 1
    return (
        "; ".join(f"{number} because {why}" for why, number in counts.items()) or "there are none"
    )


def _is_rerun(text: str) -> bool:
    turn = rerun_of(text.strip("/").rpartition("/")[2])
    return bool(turn and turn[1])
