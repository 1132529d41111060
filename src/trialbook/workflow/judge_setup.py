"""A judge made ready on this host: its client found, its sandbox tried, its identity worked out."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trialbook.errors import UserError
from trialbook.execution.asking import Asker, Place, configuration_of
from trialbook.execution.launch import Launcher
from trialbook.grading.judge_answer import RULES
from trialbook.grading.judge_prompt import Asked, asked_of, prompt_sha256
from trialbook.model.judge import Judge
from trialbook.model.judgement import JudgeIdentity, identity_digest
from trialbook.model.rubric import Rubric
from trialbook.model.suite import NO_SANDBOX
from trialbook.process import run
from trialbook.storage.judges import JUDGES_FOLDER, load_judge
from trialbook.storage.reader import Reader
from trialbook.storage.rubric_uses import frozen_problem, rubric_uses
from trialbook.storage.rubrics import load_rubric
from trialbook.workflow.clients import find_clients
from trialbook.workflow.grade_again import GradingBench
from trialbook.workflow.prices import newest_prices
from trialbook.workflow.sandboxes import need_sandboxes, strongest

_OF_THIS_HOST = frozenset({"program"})
"""Parameters that say where something is here, and nothing about what it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyJudge:
    """A judge that can be asked: who it is, what it asks by a rubric, and how.

    ``isolated`` says whether its sandbox keeps files and network of this host from it.
    """

    judge: Judge
    asked: Asked
    identity: JudgeIdentity
    distribution: str
    asker: Asker
    isolated: bool


def used_rubric(root: Path, reference: str, reader: Reader | None) -> Rubric:
    """A rubric that is what it was wherever it was used.

    Raises:
        UserError: there is none, it has mistakes, or it was changed since it was used.
    """
    rubric = load_rubric(root, reference)
    problem = frozen_problem(rubric.reference, rubric.sha256, rubric_uses(root, reader))
    if problem is not None:
        raise UserError(problems=[problem])
    return rubric


def ready_judge(
    bench: GradingBench, name: str, rubric: Rubric, work: Path, cancel: threading.Event
) -> ReadyJudge:
    """Make a judge ready to answer a rubric.

    Args:
        bench: The ledger, the plugins, the outside world; is told which client and sandbox it is.
        name: The judge.
        rubric: The rubric.
        work: A folder for fresh rooms.
        cancel: Ends what is running.

    Raises:
        UserError: its file has mistakes, its client or a secret is missing, nothing isolates here
            and the file does not say `none`, or the rubric asks nothing that a diff can answer.
        EnvironmentProblem: its sandbox does not work here.
    """
    registry, system = bench.registry, bench.system
    judge = load_judge(bench.root, name, registry)
    asked = asked_of(rubric)
    if not asked.questions:
        raise UserError(
            f"{rubric.reference} asks nothing that a diff can answer",
            hint="judges answer questions whose evidence is a diff or a file",
        )
    missing = [one for one in judge.secrets if not system.environ.get(one)]
    if missing:
        raise UserError(
            f"the judge {name} needs {', '.join(missing)}, which is not set",
            hint=f"type: export {missing[0]}=... and try again",
        )
    version = _client(bench, judge)
    asker = Asker(
        launcher=Launcher(registry=registry, cancel=cancel),
        system=system,
        judge=judge,
        sandbox=_sandbox(bench, judge),
        place=Place(
            root=bench.root,
            cache=system.cache_folder(),
            work=work,
            files=bench.root / JUDGES_FOLDER / judge.files if judge.files else None,
        ),
        prices=newest_prices(bench.root, system.now().date()),
    )
    isolation = asker.isolation()
    plugin = registry.plugin("agents", judge.client)
    adapter = registry.agent(judge.client).version()
    return ReadyJudge(
        judge=judge,
        asked=asked,
        identity=identity_of(judge, asked, version, adapter),
        distribution=f"{plugin.distribution} {plugin.version}",
        asker=asker,
        isolated=isolation.isolated and (isolation.network_open or isolation.network_enforced),
    )


def identity_of(
    judge: Judge, asked: Asked, client_version: str | None, adapter: str
) -> JudgeIdentity:
    """Everything that could change what a judge says, and one digest of it."""
    parameters = {name: one for name, one in judge.parameters.items() if name not in _OF_THIS_HOST}
    settings: dict[str, Any] = {
        "adapter": adapter,
        "reasoning": judge.reasoning,
        "votes": judge.votes,
        "diff_kb": judge.diff_kb,
        "with": parameters,
        "environment": judge.environment,
        "limits": dict(judge.limits),
        "files": judge.digests,
    }
    counted: dict[str, Any] = {
        "client": judge.client,
        "client_version": client_version,
        "model": judge.model,
        "parameters": {name: one for name, one in settings.items() if one not in (None, {})},
        "prompt_sha256": prompt_sha256(),
        "rubric_sha256": asked.rubric.sha256,
        "schema_sha256": asked.schema_sha256,
        "rules": RULES,
    }
    identity = JudgeIdentity(judge=judge.name, sha256="", **counted)
    return replace(identity, sha256=identity_digest(identity))


def _client(bench: GradingBench, judge: Judge) -> str | None:
    """The version of its client; None where there is none apart."""
    try:
        found = find_clients([configuration_of(judge)], bench.registry, bench.tell)
    except UserError as error:
        said = error.message.replace(f"configuration {judge.name}:", f"judge {judge.name}:")
        raise UserError(said, hint=error.hint) from error
    return found.get(judge.name)


def _sandbox(bench: GradingBench, judge: Judge) -> str:
    """The sandbox that its file names, or the strongest that works here."""
    if judge.sandbox is None and strongest(bench.registry) == NO_SANDBOX:
        raise UserError(
            f"no sandbox works here, and the judge {judge.name} reads what strangers wrote",
            hint="make one work (see `trialbook doctor`), or say `sandbox: none` in its file",
        )
    name = judge.sandbox or strongest(bench.registry)
    need_sandboxes([name], bench.registry)
    bench.tell(f"sandbox: {bench.registry.availability(name, run).reason}")
    return name
