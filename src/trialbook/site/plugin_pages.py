"""Pages that plugins bring: asked for with the plugin's name on every fault, known by content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trialbook.api import Page, Pages
from trialbook.errors import EnvironmentProblem, TrialbookError, UserError
from trialbook.formats.records import pack
from trialbook.registry import Plugin, Registry
from trialbook.site.keys import key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A plugin that brings pages, what it brings, and where its templates are."""

    plugin: Plugin
    pages: tuple[Page, ...]
    templates: Path | None

    @property
    def said(self) -> str:
        """How messages name the plugin."""
        return f"the pages plugin {self.plugin.name!r} of {self.plugin.distribution}"


def plugin_sources(root: Path, registry: Registry) -> list[Source]:
    """All of them, by name, with the pages that they make of a ledger.

    Raises:
        UserError: a plugin says that something is wrong with what it reads.
        EnvironmentProblem: a plugin cannot be loaded, or fails.
    """
    return [_source(root, registry, name) for name in registry.names("pages")]


def page_key(page: Page) -> str | None:
    """What a page is known by, whatever draws it; None if its context cannot be told by value."""
    try:
        context = pack(page.context)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return key_of(page.path, page.template, page.title, context)


def _source(root: Path, registry: Registry, name: str) -> Source:
    plugin = registry.plugin("pages", name)
    source: Pages = registry.pages(name)
    try:
        pages: Sequence[object] = tuple(source.pages(root))
        templates = source.templates
    except TrialbookError:
        raise
    except Exception as error:
        raise _failed(plugin, repr(error)) from error
    wrong = next((page for page in pages if not isinstance(page, Page)), None)
    if wrong is not None:
        raise _failed(plugin, f"it gave {type(wrong).__name__} for a page")
    return Source(
        plugin=plugin,
        pages=tuple(page for page in pages if isinstance(page, Page)),
        templates=templates,
    )


def _failed(plugin: Plugin, what: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"the pages plugin {plugin.name!r} of {plugin.distribution} {plugin.version} failed: "
        f"{what}",
        hint=f"report it to {plugin.distribution}, or remove it",
    )


def named_fault(source: Source, error: UserError) -> UserError:
    """A fault of a plugin's page, with the plugin named."""
    if not error.problems:
        return UserError(f"{source.said}: {error.message}", hint=error.hint)
    problems = [replace(one, message=f"{source.said}: {one.message}") for one in error.problems]
    return UserError(problems=problems)
