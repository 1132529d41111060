"""A suite and a request become a plan: everything that is fixed before the first trial."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trialbook.errors import EnvironmentProblem, UserError
from trialbook.execution.credentials import check_credential_files
from trialbook.execution.prepare import Start
from trialbook.model.digest import digest_of_files
from trialbook.model.lock import Difference
from trialbook.model.plan import (
    DEVELOPMENT,
    DRAFT,
    LOCKED,
    Plan,
    PlannedConfiguration,
    PlannedGate,
    PlannedSlot,
    PluginUse,
    schedule,
)
from trialbook.model.suite import (
    DEFAULT_SANDBOX,
    NO_SANDBOX,
    Configuration,
    Suite,
)
from trialbook.model.toolchain import PlannedToolchain
from trialbook.process import git_version
from trialbook.registry import Registry
from trialbook.storage.redact import SHORTEST
from trialbook.storage.suite_judgement import planned_judgement
from trialbook.system import System, timestamp
from trialbook.workflow.clients import find_clients
from trialbook.workflow.declaring import Declaration, declared
from trialbook.workflow.held_out import allowed, openings
from trialbook.workflow.host import this_runner
from trialbook.workflow.locking import LockState, lock_state, refuse_drift
from trialbook.workflow.planned import planned_configurations, planned_tasks
from trialbook.workflow.prices import newest_prices
from trialbook.workflow.revisions import Revisions, at_revisions
from trialbook.workflow.sandboxes import choose_sandboxes, keep_out_of_sight, strongest
from trialbook.workflow.starts import prepared
from trialbook.workflow.toolchains import prepared_toolchains, toolchains_of

DEFAULT_EXECUTOR = "local"

# A run that a person stopped may always be continued; everything else only if the suite says so.
_ALWAYS_RERUN: dict[str, int | None] = {"cancelled": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the person asked for; None or empty means what the suite says."""

    repetitions: int | None = None
    configurations: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    jobs: int | None = None
    seed: str | None = None
    sandbox: str | None = None
    revisions: Revisions | None = None
    kind: str = DEVELOPMENT
    comparison: Declaration = field(default_factory=Declaration)
    gate: PlannedGate | None = None


def narrowed(suite: Suite, request: Request) -> Suite:
    """The suite with only the tasks and configurations asked for.

    Raises:
        UserError: a name that the suite does not have, or a number that makes no plan.
    """
    tasks = allowed(_chosen("task", request.tasks, suite.tasks), request.kind, named=request.tasks)
    configurations = _chosen("configuration", request.configurations, suite.configurations)
    if request.revisions is not None:
        configurations = at_revisions(request.revisions, suite)
    repetitions = suite.repetitions if request.repetitions is None else request.repetitions
    return replace(suite, tasks=tasks, configurations=configurations, repetitions=repetitions)


def make_plan(
    suite: Suite,
    request: Request,
    *,
    root: Path,
    registry: Registry,
    system: System,
    say: Callable[[str], None],
) -> Plan:
    """Resolve every snapshot, prepare every toolchain, and fix the schedule.

    ``say`` is told what takes time. Nothing is written into the ledger.

    Raises:
        UserError: a secret that a configuration names is not set, a client is missing or not the
            one that is pinned, or the suite is locked and is not as it was locked.
        Refused, EnvironmentProblem: a snapshot or toolchain cannot be prepared.
    """
    refuse_drift(state := lock_state(root, suite, registry))
    whole, suite = suite, narrowed(suite, request)
    clients = _clients_and_all_else(suite, registry, system, say)
    sandboxes, toolchains = _places(suite, request, root, registry, system, say)
    starts = prepared(suite, root=root, system=system, say=say)
    refuse_drift(state, _other_snapshots(state, starts))
    moment, seed = system.now(), request.seed or system.token(8)
    configurations = planned_configurations(suite, sandboxes, registry, starts, clients)
    draft_because = _draft_because(state, configurations, registry, say)
    return Plan(
        run=f"{moment:%Y%m%dT%H%M%SZ}-{system.token(3)}",
        suite=suite.name,
        protocol=suite.protocol,
        status=DRAFT if draft_because else LOCKED,
        kind=request.kind,
        held_out_opened=openings(root, suite, say),
        draft_because=draft_because,
        lock=state.planned,
        decision=suite.decision,
        created=timestamp(moment),
        seed=seed,
        repetitions=suite.repetitions,
        jobs=request.jobs or min(os.cpu_count() or 1, 4),
        accept=suite.accept,
        compare=declared(suite, request.comparison),
        judgement=planned_judgement(root, suite),
        gate=request.gate,
        rerun=_ALWAYS_RERUN | suite.rerun,
        limits_are_failures=suite.limits_are_failures,
        suite_tasks=len(whole.tasks),
        suite_configurations=len(whole.configurations),
        artifacts=suite.artifacts,
        outages=suite.outages,
        prices=newest_prices(root, moment.date()),
        runner=this_runner(),
        plugins=tuple(_plugins(suite, configurations.values(), registry)),
        suite_digest=digest_of_files(suite.every_file()),
        files=dict(sorted(suite.files.items())),
        configurations=configurations,
        tasks=planned_tasks(suite, next(iter(starts.values())), toolchains),
        schedule=_schedule(suite, seed),
    )


def _draft_because(
    state: LockState,
    configurations: Mapping[str, PlannedConfiguration],
    registry: Registry,
    say: Callable[[str], None],
) -> str:
    """Why the run is a draft, which is said at once; empty if it is not."""
    because = state.draft_because or _other_sandbox(state, configurations, registry)
    if because:
        say("\n       ".join((f"draft: {because}", *state.advice)))
    return because


def _clients_and_all_else(
    suite: Suite, registry: Registry, system: System, say: Callable[[str], None]
) -> dict[str, str]:
    """See that what the host has to have is there; gives the versions of clients."""
    _need_git()
    check_secrets(suite.configurations, system)
    return find_clients(suite.configurations, registry, say)


def _places(
    suite: Suite,
    request: Request,
    root: Path,
    registry: Registry,
    system: System,
    say: Callable[[str], None],
) -> tuple[dict[str, str], dict[str, PlannedToolchain | None]]:
    """The sandbox of each configuration, and the toolchain of each task that has one, prepared."""
    chosen = choose_sandboxes(suite, request.sandbox, registry, say)
    keep_out_of_sight(chosen.values(), registry, root, system)
    preparing = toolchains_of(suite, root, registry, system)
    return chosen, prepared_toolchains(suite, chosen, preparing, say)


def _need_git() -> None:
    if git_version() is None:
        raise EnvironmentProblem(
            "git is not installed, or not on the PATH: a run needs it for exact patches",
            hint="install git 2.30 or newer; reading a ledger works without",
        )


def _schedule(suite: Suite, seed: str) -> tuple[PlannedSlot, ...]:
    slots = schedule(
        seed,
        f"{suite.name}@{suite.protocol}",
        [task.name for task in suite.tasks],
        [configuration.name for configuration in suite.configurations],
        suite.repetitions,
    )
    return tuple(
        PlannedSlot(task=slot.task, configuration=slot.configuration, repetition=slot.repetition)
        for slot in slots
    )


def _other_snapshots(
    state: LockState, starts: Mapping[str, Mapping[str, Start]]
) -> Iterator[Difference]:
    """The snapshots of a locked suite that are not the trees that were locked."""
    if state.stored is None:
        return
    locked = state.stored.lock.tasks
    for name, start in next(iter(starts.values())).items():
        if start.snapshot_tree != locked[name].tree:
            what = f"its snapshot is the tree {start.snapshot_tree}, locked is {locked[name].tree}"
            yield Difference(where=f"task {name}", what=what)


def _other_sandbox(
    state: LockState, configurations: Mapping[str, PlannedConfiguration], registry: Registry
) -> str:
    """Why a run in other sandboxes than the locked ones is a draft; empty if it is not."""
    if state.stored is None:
        return ""
    locked = state.stored.lock.configurations
    other = [
        f"{name} in {planned.sandbox}, locked is {locked[planned.template or name].sandbox}"
        for name, planned in configurations.items()
        if planned.sandbox != (known := locked[planned.template or name].sandbox)
        # Whichever isolates best on a host is what such a lock means.
        and (known != DEFAULT_SANDBOX or _weaker(planned.sandbox, registry))
    ]
    return f"it runs in another sandbox than was locked ({', '.join(other)})" if other else ""


def _weaker(sandbox: str, registry: Registry) -> bool:
    """Whether a sandbox isolates nothing where another one here would."""
    return sandbox == NO_SANDBOX and strongest(registry) != NO_SANDBOX


def differences(plan: Plan, suite: Suite) -> list[str]:
    """The files that are not what the plan froze, one sentence each."""
    planned = dict(plan.files)
    for configuration in plan.configurations.values():
        planned |= configuration.files
    for task in plan.tasks.values():
        planned |= task.files
    present = suite.every_file()
    changed = [
        f"{path}: {'changed' if path in present else 'gone'}"
        for path in sorted(planned)
        if present.get(path) != planned[path]
    ]
    return changed + [f"{path}: new" for path in sorted(present.keys() - planned.keys())]


def _chosen(kind: str, names: Iterable[str], known: tuple) -> tuple:  # type: ignore[type-arg]
    wanted = list(names)
    if not wanted:
        return known
    have = {item.name: item for item in known}
    unknown = [name for name in wanted if name not in have]
    if unknown:
        raise UserError(
            f"the suite has no {kind} named {', '.join(map(repr, unknown))}",
            hint=f"it has: {', '.join(sorted(have))}",
        )
    return tuple(item for item in known if item.name in wanted)


def check_secrets(configurations: Iterable[Configuration], system: System) -> None:
    """Make sure that every secret is there, and can be kept out of the ledger.

    Raises:
        UserError: one is not set, too short to be told from ordinary text, or in a file that is
            not there or of another form.
    """
    stages = [stage for configuration in configurations for stage in configuration.stages]
    check_credential_files(stages, system)
    named = {name for stage in stages for name in stage.secrets}
    short = [name for name in sorted(named) if 0 < len(system.environ.get(name, "")) < SHORTEST]
    if short:
        raise UserError(
            f"the values of {', '.join(short)} have fewer than {SHORTEST} characters: they could "
            "not be taken out of what agents print without taking out ordinary text too",
            hint="use a longer value; what is no secret goes under `pass_environment`",
        )
    missing = [
        f"{stage.name}: {name}"
        for stage in stages
        for name in stage.secrets
        if not system.environ.get(name)
    ]
    missing = list(dict.fromkeys(missing))
    if missing:
        raise UserError(
            f"secrets are not set in the environment: {'; '.join(missing)}",
            hint="export them and run again; their values are kept out of the ledger",
        )


def _plugins(
    suite: Suite, configurations: Iterable[PlannedConfiguration], registry: Registry
) -> list[PluginUse]:
    wanted = {("executors", DEFAULT_EXECUTOR)}
    wanted |= {("agents", one.agent) for item in suite.configurations for one in item.stages}
    wanted |= {("graders", use.grader) for task in suite.tasks for use in task.graders}
    wanted |= {("sandboxes", item.sandbox) for item in configurations}
    return [registry.plugin(group, name).use for group, name in sorted(wanted)]
