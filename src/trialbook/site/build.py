"""Builds the static site of a ledger: same ledger, same bytes; unchanged files are left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbook import __version__
from trialbook.api import Page, Pages
from trialbook.errors import Problem
from trialbook.registry import Registry
from trialbook.site import outline
from trialbook.site.folder import SiteFolder, theme_assets
from trialbook.site.ledger_view import LedgerView
from trialbook.site.render import Renderer
from trialbook.site.settings import SiteSettings, load_settings
from trialbook.site.units import File, Made, Part
from trialbook.storage.reader import Reader

Progress = Callable[[int, int], None]
"""Called with runs done and runs in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSummary:
    """What a build did.

    ``problems`` are links of prose that lead nowhere, and rubrics that cannot be read.
    """

    output: Path
    pages: int
    written: int
    removed: int
    problems: tuple[Problem, ...]


def build_site(
    root: Path,
    reader: Reader,
    output: Path,
    *,
    registry: Registry,
    progress: Progress | None = None,
) -> SiteSummary:
    """Build the whole site of a ledger into a folder.

    Args:
        root: The ledger's root.
        reader: The ledger at one commit.
        output: Where the site goes: a folder that is empty, not there, or a site built before.
        registry: Where plugins that bring pages are found.
        progress: Told after each run.

    Raises:
        UserError: a folder with other things in it, a faulty ``site.yaml`` or template.
        RecordError: a record that cannot be read.
    """
    view = LedgerView(root, reader, registry)
    sources = [registry.pages(name) for name in registry.names("pages")]
    first: list[Made] = [page for source in sources for page in source.pages(root)]
    first += _made(view, outline.PER_SITE, [None])
    renderer = Renderer(root / "site" / "templates", _template_folders(sources))
    site = _site(load_settings(root), first)
    folder = SiteFolder.open(output)
    for path, data in theme_assets():
        folder.write(path, data)
    for one in (*first, *_of_ledger(view, progress)):
        data = one.data if isinstance(one, File) else renderer.render(one, site)
        folder.write(one.path, data)
    problems = [
        Problem(path=page, message=f"a link leads to {target}, which the site does not have")
        for page, target in renderer.links
        if target not in folder.paths
    ]
    removed = folder.finish()
    return SiteSummary(
        output=output,
        pages=sum(path.endswith(".html") for path in folder.paths),
        written=folder.written,
        removed=removed,
        problems=tuple(sorted({*problems, *view.faulty_rubrics})),
    )


def _template_folders(sources: Sequence[Pages]) -> list[Path]:
    return [source.templates for source in sources if source.templates is not None]


def _site(settings: SiteSettings, first: Sequence[Made]) -> dict[str, object]:
    """What every page knows of the site: name, navigation, program."""
    return {
        "title": settings.title,
        "description": settings.description,
        "navigation": [
            {"label": page.navigation, "path": page.path}
            for page in first
            if isinstance(page, Page) and page.navigation
        ],
        "version": __version__,
    }


def _of_ledger(view: LedgerView, progress: Progress | None) -> Iterator[Made]:
    """Everything that is not known before the navigation is."""
    for number, run in enumerate(view.runs, start=1):
        yield from _made(view, outline.PER_RUN, [run])
        yield from _made(view, outline.PER_TRIAL, view.trials(run))
        if progress is not None:
            progress(number, len(view.runs))
    for suite in view.suites:
        yield from _made(view, outline.PER_SUITE, [suite])
        yield from _made(view, outline.PER_TASK, view.tasks(suite))
        yield from _made(view, outline.PER_CONFIGURATION, view.configurations(suite))


def _made(view: LedgerView, parts: Sequence[Part[Any]], subjects: Sequence[Any]) -> Iterator[Made]:
    for subject in subjects:
        for part in parts:
            yield from part.make(view, subject)
