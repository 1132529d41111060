"""The groups of units that a site has: which units there are, and what each depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trialbook.site.keys import key_of
from trialbook.site.ledger_view import LedgerView
from trialbook.site.units import Part
from trialbook.site.workshop import SCOPES, Unit
from trialbook.storage.reader import RunRef

SITE = "site"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Units that are looked at as a whole: all of them are as they were if ``key`` is.

    ``run`` is the run whose pages they are, if they are a run's.
    """

    name: str
    key: str
    units: Callable[[], Sequence[Unit]]
    run: RunRef | None = None


class Groups:
    """All groups of a ledger's site, with the fingerprint of what draws them in every key."""

    def __init__(self, view: LedgerView, fingerprint: str) -> None:
        self._view = view
        self._fingerprint = fingerprint

    def of_runs(self) -> Iterator[Group]:
        """A group for each run. Its key stands for its folder, so that it need not be looked at."""
        parts = [*SCOPES["run"], *SCOPES["trial"]]
        for run in self._view.runs:
            around = tuple(part.around(self._view, run) for part in parts if part.around)
            key = key_of(self._fingerprint, self._view.run_key(run), around)
            yield Group(
                name=f"run {run.path}",
                key=key,
                units=lambda run=run: tuple(self._run_units(run)),  # type: ignore[misc]
                run=run,
            )

    def above(self) -> Iterator[Group]:
        """A group for the pages of the whole site, which take longest, and one for each suite."""
        yield self._whole(SITE, self._units("site", None, ""))
        for suite in self._view.suites:
            yield self._whole(f"suite {suite}", self._suite_units(suite))

    def _whole(self, name: str, units: Iterable[Unit]) -> Group:
        known = tuple(units)
        key = key_of(tuple((unit.name, unit.key) for unit in known))
        return Group(name=name, key=key, units=lambda: known)

    def _suite_units(self, suite: str) -> Iterator[Unit]:
        view = self._view
        yield from self._units("suite", suite, "")
        if SCOPES["task"]:
            for task in view.tasks(suite):
                yield from self._units("task", task, task.task)
        if SCOPES["configuration"]:
            for one in view.configurations(suite):
                yield from self._units("configuration", one, one.configuration)

    def _run_units(self, run: RunRef) -> Iterator[Unit]:
        for trial in self._view.trials(run):
            yield from self._units("trial", trial, trial.path)
        yield from self._units("run", run, "")

    def _units(self, scope: str, subject: object, named: str) -> Iterator[Unit]:
        for number, part in enumerate(SCOPES[scope]):
            if not is_shown(part, self._view):
                continue
            of_scope = part.key or _DEFAULTS[scope]
            key = key_of(self._fingerprint, scope, part.name, of_scope(self._view, subject))
            yield Unit(scope, number, subject, f"{scope} {part.name} {named}".rstrip(), key)


def is_shown(part: Part[Any], view: LedgerView) -> bool:
    """Whether the site has what a part of the scope of the whole site brings."""
    return part.navigation is None or part.navigation.shown(view)


_DEFAULTS: dict[str, Callable[[LedgerView, Any], object]] = {
    "site": lambda view, _: view.site_key,
    "suite": lambda view, suite: view.suite_key(suite),
    "task": lambda view, task: view.task_key(task),
    "configuration": lambda view, one: view.suite_key(one.suite),
    "run": lambda view, run: view.run_key(run),
    "trial": lambda view, trial: view.trial_key(trial),
}
