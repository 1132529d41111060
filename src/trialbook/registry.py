"""Plugins by entry point: found, checked for clashes, loaded only when asked for.

Two plugins of one group with one name are refused, both distributions named.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, cast

from trialbook.api import Agent, Availability, Executor, Grader, Pages, Sandbox, Spawn
from trialbook.errors import EnvironmentProblem, UserError
from trialbook.model.plan import PluginUse

GROUPS = ("agents", "graders", "sandboxes", "executors", "pages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin as declared by an entry point. Nothing of it is imported yet."""

    group: str
    name: str
    distribution: str
    version: str
    entry_point: metadata.EntryPoint

    def make(self) -> Any:  # noqa: ANN401 - the group decides the type; see Registry
        """Import the plugin and make one.

        Raises:
            EnvironmentProblem: the plugin cannot be imported or made.
        """
        try:
            return self.entry_point.load()()
        except Exception as error:
            raise EnvironmentProblem(
                f"{self.group[:-1]} plugin {self.name!r} of {self.distribution} {self.version} "
                f"cannot be loaded: {error!r}",
                hint=f"reinstall or remove {self.distribution}",
            ) from error

    @property
    def use(self) -> PluginUse:
        """The plugin as a plan records it."""
        return PluginUse(
            group=self.group,
            name=self.name,
            distribution=self.distribution,
            version=self.version,
        )


class Registry:
    """The plugins of this interpreter, or exactly the given ones (for tests)."""

    def __init__(self, plugins: Iterable[Plugin] | None = None) -> None:
        self._plugins: dict[tuple[str, str], Plugin] = {}
        self._availability: dict[str, Availability] = {}
        self._lock = threading.Lock()
        for plugin in _discover() if plugins is None else plugins:
            key = (plugin.group, plugin.name)
            other = self._plugins.get(key)
            if other is not None and other.entry_point.value != plugin.entry_point.value:
                raise UserError(
                    f"two plugins are named {plugin.name!r} in trialbook.{plugin.group}: one from "
                    f"{other.distribution} {other.version}, one from {plugin.distribution} "
                    f"{plugin.version}",
                    hint="uninstall one of the two distributions",
                )
            self._plugins.setdefault(key, plugin)

    def names(self, group: str) -> list[str]:
        """The names in one group, sorted."""
        return sorted(name for kind, name in self._plugins if kind == group)

    def all(self) -> list[Plugin]:
        """Every plugin, by group and name."""
        return [self._plugins[key] for key in sorted(self._plugins)]

    def plugin(self, group: str, name: str) -> Plugin:
        """The plugin of that name.

        Raises:
            UserError: there is none.
        """
        try:
            return self._plugins[group, name]
        except KeyError:
            known = ", ".join(self.names(group)) or "none"
            raise UserError(
                f"no {group[:-1] if group != 'sandboxes' else 'sandbox'} is named {name!r}",
                hint=f"installed: {known}; `trialbook plugins` lists them all",
            ) from None

    def agent(self, name: str) -> Agent:
        """A new agent adapter."""
        return cast("Agent", self.plugin("agents", name).make())

    def grader(self, name: str) -> Grader:
        """A new grader."""
        return cast("Grader", self.plugin("graders", name).make())

    def sandbox(self, name: str) -> Sandbox:
        """A new sandbox."""
        return cast("Sandbox", self.plugin("sandboxes", name).make())

    def availability(self, name: str, spawn: Spawn) -> Availability:
        """Whether a sandbox works on this host: tried once, then remembered."""
        with self._lock:
            if name not in self._availability:
                self._availability[name] = self.sandbox(name).available(spawn)
            return self._availability[name]

    def executor(self, name: str) -> Executor:
        """A new executor."""
        return cast("Executor", self.plugin("executors", name).make())

    def pages(self, name: str) -> Pages:
        """A new source of pages."""
        return cast("Pages", self.plugin("pages", name).make())


def _discover() -> Iterable[Plugin]:
    seen: set[tuple[str, str, str, str]] = set()
    for group in GROUPS:
        for entry_point in metadata.entry_points(group=f"trialbook.{group}"):
            found = entry_point.dist
            name = found.name if found else "unknown"
            version = found.version if found else "unknown"
            key = (group, entry_point.name, name, entry_point.value)
            # An editable install and its source folder can both be on the path.
            if key in seen:
                continue
            seen.add(key)
            yield Plugin(
                group=group,
                name=entry_point.name,
                distribution=name,
                version=version,
                entry_point=entry_point,
            )
