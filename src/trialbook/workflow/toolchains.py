"""The toolchains of a run, prepared before its plan is made, and what the plan says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from trialbook.errors import UserError
from trialbook.execution.toolchain import ToolchainFailure, Toolchains, takes_images
from trialbook.model.suite import ALLOW, Suite
from trialbook.model.toolchain import PlannedToolchain, PreparedToolchain, Toolchain
from trialbook.registry import Registry
from trialbook.system import System


def prepared_toolchains(
    suite: Suite,
    sandboxes: Mapping[str, str],
    toolchains: Toolchains,
    say: Callable[[str], None],
) -> dict[str, PlannedToolchain | None]:
    """What each task needs to run, by the task's name, as the plan records it.

    One that cannot be prepared makes its tasks' trials environment failures; the others go on.

    Args:
        suite: The suite, with the tasks and configurations that will run.
        sandboxes: The sandbox of each configuration, by its name.
        toolchains: Prepares them.
        say: Is told what takes time, and what failed.

    Raises:
        UserError: a configuration cannot run a task that needs an image.
        EnvironmentProblem: there is no interpreter of a version asked for.
        ToolchainFailure: none of the tasks can be run.
    """
    planned: dict[Toolchain, PlannedToolchain] = {}
    failures: list[ToolchainFailure] = []
    for toolchain in dict.fromkeys(task.toolchain for task in suite.tasks):
        if toolchain is None:
            continue
        say(f"preparing the toolchain {toolchain.words}")
        sandbox = None
        if toolchain.image is not None:
            sandbox = _sandbox_for_images(suite, sandboxes, toolchain, toolchains)
        try:
            made = toolchains.prepared(toolchain, sandbox)
        except ToolchainFailure as failure:
            failures.append(failure)
            planned[toolchain] = PlannedToolchain(
                source=toolchain.words, use=None, trouble=failure.message
            )
            continue
        if toolchain.image is not None:
            _warn_of_no_way(suite, toolchain, made, say)
        planned[toolchain] = _planned(toolchain, made)
    found = {task.name: planned[task.toolchain] if task.toolchain else None for task in suite.tasks}
    troubled = [name for name, one in found.items() if one is not None and one.use is None]
    if failures and len(troubled) == len(found):
        raise failures[0]
    for one in failures:
        say(f"warning: {one.message}\n  {one.hint}")
    if troubled:
        say(f"warning: trials of {', '.join(troubled)} will end as environment failures")
    return found


def toolchains_of(suite: Suite, root: Path, registry: Registry, system: System) -> Toolchains:
    """What prepares the toolchains of a suite."""
    return Toolchains(
        suite_folder=root / suite.folder,
        cache=system.cache_folder(),
        system=system,
        registry=registry,
    )


def _planned(toolchain: Toolchain, made: PreparedToolchain) -> PlannedToolchain:
    return PlannedToolchain(
        source=toolchain.words,
        use=made.use,
        lock_sha256=made.lock_sha256,
        packages=made.packages,
    )


def _sandbox_for_images(
    suite: Suite,
    sandboxes: Mapping[str, str],
    toolchain: Toolchain,
    toolchains: Toolchains,
) -> str:
    """The sandbox that all configurations run in; it has to take images."""
    registry = toolchains.registry
    unable = {
        name: sandbox
        for name, sandbox in sandboxes.items()
        if registry is None or not takes_images(registry, sandbox)
    }
    if unable:
        tasks = [task.name for task in suite.tasks if task.toolchain == toolchain]
        listed = ", ".join(f"{name} in {sandbox}" for name, sandbox in unable.items())
        raise UserError(
            f"{', '.join(tasks)} of {suite.name} runs in {toolchain.words}, and only a sandbox of "
            f"containers can use one; configurations run elsewhere: {listed}",
            hint="--sandbox container, or `sandbox: container` in these configurations "
            "(`trialbook doctor` says whether it works here)",
        )
    return next(iter(sandboxes.values()))


def _warn_of_no_way(
    suite: Suite, toolchain: Toolchain, made: PreparedToolchain, say: Callable[[str], None]
) -> None:
    """A list of hosts is held to with a forwarder inside; an image has to have what runs it."""
    listing = [item.name for item in suite.configurations if item.network.mode == ALLOW]
    if listing and made.use.python is None:
        say(
            f"warning: {', '.join(listing)} allows a list of hosts, and {toolchain.words} has no "
            "python3; unless it has socat, its trials cannot reach the proxy"
        )
