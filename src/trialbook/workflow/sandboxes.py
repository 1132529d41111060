"""Which sandbox each configuration runs in here: named, or else the strongest that works.

Found by running something in it, never by a program's presence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from trialbook.api import Availability
from trialbook.errors import EnvironmentProblem, UserError
from trialbook.execution.toolchain import takes_images
from trialbook.model.suite import NO_SANDBOX, OPEN, Suite, Task
from trialbook.model.toolchain import Toolchain
from trialbook.process import run
from trialbook.registry import Registry
from trialbook.reporting.wording import number_of
from trialbook.system import System

NOT_ISOLATED = "NOT ISOLATED"
NOT_ENFORCED = "NOT ENFORCED"

_PRIVATE = "private"
# Programs and libraries of the host: a sandbox has them all.
_SHOWN = tuple(Path("/", name) for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64"))


def strongest(registry: Registry, *, images: bool = False) -> str:
    """The first sandbox by name that keeps files and network from what runs in it; else `none`.

    With ``images``, one that can start commands from a container image goes before the others.
    """
    holding = (
        name
        for name in _taking_images_first(registry, images=images)
        if (able := registry.availability(name, run)).ok and able.isolated and able.network
    )
    return next(holding, NO_SANDBOX)


def _taking_images_first(registry: Registry, *, images: bool) -> list[str]:
    names = [name for name in registry.names("sandboxes") if name != NO_SANDBOX]
    return sorted(names, key=lambda name: not takes_images(registry, name)) if images else names


def choose_sandboxes(
    suite: Suite, asked: str | None, registry: Registry, say: Callable[[str], None]
) -> dict[str, str]:
    """The sandbox of each configuration, by the configuration's name; ``say`` is told which.

    Args:
        suite: The suite, with the configurations that will run.
        asked: The sandbox that the person asked for, if any; it goes before all others.
        registry: Where the sandboxes are.
        say: Is told one line for each sandbox.

    Raises:
        UserError: nothing isolates here, the suite has private parts, and nobody said `none`.
        EnvironmentProblem: a sandbox that was named does not work here.
    """
    chosen: dict[str, str] = {}
    images = any(runs_in_image(task) for task in suite.tasks)
    for configuration in suite.configurations:
        named = asked or configuration.sandbox
        if named is not None:
            registry.plugin("sandboxes", named)
        chosen[configuration.name] = named or strongest(registry, images=images)
        if named is None and chosen[configuration.name] == NO_SANDBOX:
            _refuse_openness(suite, registry)
    need_sandboxes(chosen.values(), registry)
    for name in dict.fromkeys(chosen.values()):
        say(_line(suite, chosen, name, registry.availability(name, run)))
    return chosen


def need_sandboxes(names: Iterable[str], registry: Registry) -> None:
    """See that the sandboxes of a plan work here, before slots are used up on finding out.

    What dead runners left in any sandbox is swept up first.

    Raises:
        EnvironmentProblem: one does not.
    """
    _sweep(registry)
    for name in dict.fromkeys(names):
        able = registry.availability(name, run)
        if not able.ok:
            raise EnvironmentProblem(
                f"the sandbox {name} does not work here: {able.reason}",
                hint=able.hint or "choose another with --sandbox",
            )


def keep_out_of_sight(names: Iterable[str], registry: Registry, root: Path, system: System) -> None:
    """See that nothing that agents must not read lies in what every sandbox shows of the host.

    Args:
        names: The sandboxes that are to isolate.
        registry: Where they are.
        root: The ledger.
        system: Says where cache and trials are.

    Raises:
        EnvironmentProblem: something does.
    """
    if not any(registry.availability(name, run).isolated for name in names):
        return
    for place, what, hint in (
        (root, "the ledger", "move it, into a home say"),
        (system.cache_folder(), "the cache", "set TRIALBOOK_CACHE to a folder elsewhere"),
        (system.work_folder(), "the folder for trials", "set TRIALBOOK_WORK to one elsewhere"),
    ):
        real = place.resolve()
        shown = next((folder for folder in _SHOWN if real.is_relative_to(folder)), None)
        if shown is not None:
            raise EnvironmentProblem(
                f"{what} is {real}, and sandboxes show {shown} to agents, private parts included",
                hint=hint,
            )


def _sweep(registry: Registry) -> None:
    """End what killed runners left, in every sandbox that has a way to; a later run tries again."""
    for name in registry.names("sandboxes"):
        with contextlib.suppress(EnvironmentProblem):
            sweep = getattr(registry.sandbox(name), "sweep", None)
            if sweep is not None:
                sweep(run)


def private_parts(suite: Suite) -> list[str]:
    """The tasks with something that an agent must not see: a reference, or private files."""
    return [
        task.name
        for task in suite.tasks
        if task.reference is not None or any(_PRIVATE in path.split("/") for path in task.files)
    ]


def sandbox_for_grading(registry: Registry, toolchain: Toolchain | None = None) -> str:
    """The sandbox for graders that no plan speaks of; ``toolchain`` is that of the task."""
    return strongest(registry, images=toolchain is not None and toolchain.image is not None)


def runs_in_image(task: Task) -> bool:
    """Whether a task needs a container image."""
    return task.toolchain is not None and task.toolchain.image is not None


def _refuse_openness(suite: Suite, registry: Registry) -> None:
    tasks = private_parts(suite)
    if not tasks:
        return
    tried = "\n".join(
        f"  {name}: {able.reason}" + (f"; {able.hint}" if able.hint else "")
        for name in registry.names("sandboxes")
        if name != NO_SANDBOX
        for able in (registry.availability(name, run),)
    )
    more = f" and {number_of(len(tasks) - 1, 'more task')}" if len(tasks) > 1 else ""
    have = "have" if more else "has"
    raise UserError(
        f"no sandbox works here, and {tasks[0]}{more} of {suite.name} {have} private parts that "
        f"an agent could read:\n{tried or '  none is installed'}",
        hint="make one of them work, or say it in so many words: --sandbox none (every report "
        "then says that nothing was isolated)",
    )


def _line(suite: Suite, chosen: Mapping[str, str], name: str, able: Availability) -> str:
    modes = [item.network.mode for item in suite.configurations if chosen[item.name] == name]
    modes = list(dict.fromkeys(modes))
    held = [mode for mode in modes if mode != OPEN]
    loose = "" if able.network or not held else f"; network {', '.join(held)}: {NOT_ENFORCED}"
    if not able.isolated:
        return (
            f"sandbox: {name}, {NOT_ISOLATED}: {able.reason.removeprefix('no isolation: ')}{loose}"
        )
    return f"sandbox: {able.reason}{loose or '; network ' + ', '.join(modes)}"
