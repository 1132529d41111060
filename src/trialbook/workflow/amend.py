"""Adds a person's correction to one trial; the trial's own record stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import UserError
from trialbook.formats.records import to_json
from trialbook.model.amendment import (
    Amendment,
    Intervention,
    InterventionKind,
    OutcomeCorrection,
    correction_problem,
)
from trialbook.model.digest import sha256
from trialbook.model.generation import Generation
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.runfiles import TRIAL, amendment_path
from trialbook.model.standing import Standing
from trialbook.storage.corrections import standing
from trialbook.storage.ledger import Ledger
from trialbook.storage.messages import amendment_message
from trialbook.storage.reader import Reader, RunRef
from trialbook.system import System, timestamp
from trialbook.workflow.authorship import all_worded, author_of, worded
from trialbook.workflow.results import one_corrects, refresh_results

UNATTENDED = "deny"
"""The approval setting that says that no person takes part: what would ask one is denied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmendRequest:
    """What a person wants to have on record about a trial."""

    trial: str
    reason: str
    author: str | None = None
    interventions: tuple[Intervention, ...] = ()
    outcome: Outcome | None = None
    evidence: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Amended:
    """What was added: the amendment and its commit, and later results if the run was closed."""

    amendment: Amendment
    commit: str
    before: Outcome
    generation: Generation | None
    warnings: tuple[str, ...]


def amend(root: Path, system: System, request: AmendRequest) -> Amended:
    """Commit an amendment of a trial.

    A rescue where the configuration's approval is ``deny`` makes the trial a policy violation: it
    was to be done without people.

    Raises:
        UserError: no such trial, nothing to say, or a correction that is not allowed.
        EnvironmentProblem: the ledger cannot be written.
    """
    ledger = Ledger.open(root, system)
    run, path = _trial_of(Reader.open(root, ledger.ref), request.trial)
    with one_corrects(ledger, run):
        reader = Reader.open(root, ledger.ref)
        now = standing(reader, run, path)
        record = reader.file(run, f"{path}/{TRIAL}") or b""
        amendment = Amendment(
            id=system.unique_name(),
            run=run.path,
            trial=path,
            trial_sha256=sha256(record),
            created=timestamp(system.now()),
            author=author_of(ledger, request.author),
            reason=worded("reason", request.reason),
            interventions=request.interventions,
            outcome=_correction(request, now, reader.plan(run)),
            note=None if request.note is None else worded("note", request.note),
        )
        if not (amendment.interventions or amendment.outcome or amendment.note):
            raise UserError(
                "the amendment would say nothing",
                hint="give --outcome, --intervention or --note",
            )
        commit = ledger.commit(
            {f"runs/{run.path}/{amendment_path(path, amendment.id)}": to_json(amendment)},
            amendment_message(amendment),
        )
        why = f"amendment {amendment.id} of {path}"
        generation = refresh_results(root, ledger, run, why, system)
    return Amended(
        amendment=amendment,
        commit=commit,
        before=now.trial.outcome,
        generation=generation,
        warnings=tuple(ledger.warnings),
    )


def _trial_of(reader: Reader, text: str) -> tuple[RunRef, str]:
    found = reader.resolve(text)
    if isinstance(found, RunRef):
        raise UserError(
            f"{text} is a run, and a trial is asked for",
            hint=f"name one: {found.run}/TASK/CONFIGURATION/r1",
        )
    return found


def _correction(request: AmendRequest, now: Standing, plan: Plan) -> OutcomeCorrection | None:
    outcome = request.outcome
    evidence = all_worded("evidence", request.evidence)
    if outcome is None and _assisted(request, now, plan):
        outcome = Outcome.POLICY_VIOLATION
        evidence = (*evidence, f"assisted: a rescue where approval is {UNATTENDED!r}")
    if outcome is None:
        if evidence:
            raise UserError("evidence is for an outcome", hint="give --outcome, or use --note")
        return None
    correction = OutcomeCorrection(was=now.trial.outcome, now=outcome, evidence=evidence)
    problem = correction_problem(correction)
    if problem is not None:
        hint = "give it with --evidence" if outcome.rerunnable else "grade again with `regrade`"
        raise UserError(f"{now.record.path}: {problem}", hint=hint)
    return correction


def _assisted(request: AmendRequest, now: Standing, plan: Plan) -> bool:
    rescued = any(one.kind is InterventionKind.RESCUE for one in request.interventions)
    planned = plan.configurations.get(now.record.configuration)
    unattended = planned is not None and planned.approval == UNATTENDED
    return rescued and unattended and now.trial.outcome is not Outcome.POLICY_VIOLATION
