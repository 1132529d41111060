"""Builds the static site of a ledger: same ledger, same bytes; unchanged files are left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbook import __version__
from trialbook.api import Page, Pages
from trialbook.errors import Problem
from trialbook.model.runfiles import session_patch
from trialbook.registry import Registry
from trialbook.reporting.facts_by_outcome import facts_by_outcome
from trialbook.reporting.results import RunResults, load_results, results_csv
from trialbook.reporting.trial_facts import TrialFacts, load_facts
from trialbook.site.addresses import run_folder
from trialbook.site.folder import SiteFolder, theme_assets
from trialbook.site.judgement_pages import judgement_pages
from trialbook.site.overview import RunEntry, index_page, suites_page
from trialbook.site.render import Renderer
from trialbook.site.rubric_pages import rubric_pages
from trialbook.site.run_page import page_of_run
from trialbook.site.settings import SiteSettings, load_settings
from trialbook.site.trial_page import TrialFiles, page_of_trial, shown_as_text
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rubrics import readable_rubrics
from trialbook.storage.suites import suite_names

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
    sources = [registry.pages(name) for name in registry.names("pages")]
    rubrics, faulty = readable_rubrics(root)
    extra = [page for source in sources for page in source.pages(root)]
    extra += rubric_pages(rubrics)
    extra += judgement_pages(root, reader)
    renderer = Renderer(root / "site" / "templates", _template_folders(sources))
    site = _site(load_settings(root), extra)
    folder = SiteFolder.open(output)
    for path, data in theme_assets():
        folder.write(path, data)
    for page in extra:
        folder.write(page.path, renderer.render(page, site))
    for page, files in _ledger_pages(root, reader, progress):
        folder.write(page.path, renderer.render(page, site))
        for path, data in files.items():
            folder.write(path, data)
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
        problems=tuple(sorted({*problems, *faulty})),
    )


def _template_folders(sources: Sequence[Pages]) -> list[Path]:
    return [source.templates for source in sources if source.templates is not None]


def _site(settings: SiteSettings, extra: Sequence[Page]) -> dict[str, object]:
    """What every page knows of the site: name, navigation, program."""
    return {
        "title": settings.title,
        "description": settings.description,
        "navigation": [
            {"label": page.navigation, "path": page.path} for page in extra if page.navigation
        ],
        "version": __version__,
    }


def _ledger_pages(
    root: Path, reader: Reader, progress: Progress | None
) -> Iterator[tuple[Page, dict[str, bytes]]]:
    """Every page made from records, with the files that go beside it."""
    entries: list[RunEntry] = []
    runs = sorted(reader.runs(), key=lambda run: (run.run, run.suite))
    for number, run in enumerate(runs, start=1):
        results = load_results(reader, run)
        summary = results.summary
        closed = reader.is_closed(run)
        entries.append(RunEntry(run=run, plan=results.plan, summary=summary, closed=closed))
        csv = {
            f"{run_folder(run)}/results.csv": results_csv(results.plan, results.standings.values())
        }
        facts = {
            trial.path: load_facts(reader, run, results.plan, trial) for trial in results.trials
        }
        worked = facts_by_outcome(results.trials, facts)
        yield page_of_run(run, results, summary, closed=closed, worked=worked), csv
        for page in _trial_pages(reader, run, results, facts):
            yield page, {}
        if progress is not None:
            progress(number, len(runs))
    names = sorted({*suite_names(root), *(run.suite for run in runs)})
    for name in names:
        yield suites_page(name, [entry for entry in entries if entry.run.suite == name]), {}
    yield index_page(names, entries, reader.head), {}


def _trial_pages(
    reader: Reader, run: RunRef, results: RunResults, facts: Mapping[str, TrialFacts]
) -> Iterator[Page]:
    for trial in results.trials:
        texts = {
            path: reader.file(run, f"{trial.path}/{path}") or b""
            for path in reader.files(run, trial.path)
            if shown_as_text(path)
        }
        files = TrialFiles(
            trial=trial,
            grades=results.grades.get(trial.path, ()),
            patch=reader.file(run, f"{trial.path}/change.patch"),
            texts=texts,
            standing=results.standing(trial),
            regrades=results.regrades,
            facts=facts[trial.path],
            series=results.series.get(trial.path),
            session_patches={
                one.session: reader.file(run, f"{trial.path}/{session_patch(one.session)}") or b""
                for one in trial.sessions
            },
        )
        yield page_of_trial(run, results.summary, files)
