"""Configurations and tasks of a suite as a plan freezes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trialbook.execution.prepare import Start
from trialbook.model.digest import digest_of_files, sha256
from trialbook.model.plan import (
    PlannedConfiguration,
    PlannedEscalation,
    PlannedStage,
    PlannedTask,
)
from trialbook.model.planned_session import planned_session
from trialbook.model.suite import Configuration, Suite, Task, merge_limits
from trialbook.model.toolchain import PlannedToolchain
from trialbook.registry import Registry
from trialbook.storage.suite_judgement import controls_of


def planned_configurations(
    suite: Suite,
    sandboxes: Mapping[str, str],
    registry: Registry,
    starts: Mapping[str, dict[str, Start]],
    clients: Mapping[str, str],
) -> dict[str, PlannedConfiguration]:
    """The configurations of a suite as a plan freezes them, by name.

    Args:
        suite: The suite, with those that take part.
        sandboxes: The sandbox of each, by name.
        registry: Where the agents' adapters are.
        starts: Where trials start from, by configuration and task.
        clients: The version of each client, by the name of what runs it.
    """
    return {
        one.name: replace(
            _planned_configuration(one, suite, sandboxes[one.name], registry, starts[one.name]),
            client_version=clients.get(one.name),
            escalation=_planned_escalation(one, registry, clients),
        )
        for one in suite.configurations
    }


def _planned_configuration(
    configuration: Configuration,
    suite: Suite,
    sandbox: str,
    registry: Registry,
    starts: dict[str, Start],
) -> PlannedConfiguration:
    return PlannedConfiguration(
        description=configuration.description,
        agent=configuration.agent,
        agent_version=configuration.version or registry.agent(configuration.agent).version(),
        model=configuration.model,
        reasoning=configuration.reasoning,
        instructions=configuration.instructions,
        approval=configuration.approval,
        sandbox=sandbox,
        network=configuration.network,
        environment=configuration.environment,
        pass_environment=configuration.pass_environment,
        secrets=configuration.secrets,
        limits=merge_limits(suite.limits, configuration.limits),
        parameters=configuration.parameters,
        gives_reference=configuration.gives_reference,
        digest=digest_of_files(configuration.digests),
        files=dict(sorted(configuration.digests.items())),
        workspaces={name: start.workspace_tree for name, start in sorted(starts.items())},
        readable=configuration.readable,
        taken=next((start.taken for start in starts.values() if start.taken), None),
        template=configuration.template,
        credential_files=configuration.credential_files,
    )


def _planned_escalation(
    configuration: Configuration, registry: Registry, clients: Mapping[str, str]
) -> PlannedEscalation | None:
    escalation = configuration.escalation
    if escalation is None:
        return None
    to = escalation.to
    return PlannedEscalation(
        when=escalation.when,
        workspace=escalation.workspace,
        tell=escalation.tell,
        first_limits=escalation.first_limits or {},
        to=PlannedStage(
            name=to.name,
            agent=to.agent,
            agent_version=to.version or registry.agent(to.agent).version(),
            model=to.model,
            reasoning=to.reasoning,
            approval=to.approval,
            environment=to.environment,
            pass_environment=to.pass_environment,
            secrets=to.secrets,
            limits=to.limits or {},
            parameters=to.parameters,
            readable=to.readable,
            client_version=clients.get(to.name),
            credential_files=to.credential_files,
        ),
    )


def planned_tasks(
    suite: Suite,
    starts: Mapping[str, Start],
    toolchains: Mapping[str, PlannedToolchain | None],
) -> dict[str, PlannedTask]:
    """The tasks of a suite as a plan freezes them, by name."""
    return {
        task.name: _planned_task(task, suite, starts[task.name], toolchains[task.name])
        for task in suite.tasks
    }


def _planned_task(
    task: Task, suite: Suite, start: Start, toolchain: PlannedToolchain | None
) -> PlannedTask:
    return PlannedTask(
        category=task.category,
        split=task.split.value,
        contamination=task.contamination.value,
        source=start.source,
        tree=start.snapshot_tree,
        brief_sha256=sha256(task.brief.encode()),
        graders=[{use.grader: use.parameters} for use in task.graders],
        limits=merge_limits(suite.limits, task.limits),
        no_change_expected=task.no_change_expected,
        must_escalate=task.must_escalate,
        expected_outcomes=task.expected_outcomes,
        digest=digest_of_files(task.files),
        files=dict(sorted(task.files.items())),
        toolchain=toolchain,
        scope=task.scope,
        visible=tuple(use.grader for use in task.graders if use.visible),
        controls=controls_of(task) if suite.judgement is not None else (),
        sessions=tuple(map(planned_session, task.sessions)),
        after_failure=task.after_failure,
    )
