"""A run's derived files: made from the records alone, and made again when those change.

`regenerate` is the one way to make them, for the run that closes, for later corrections, and for
whoever checks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trialbook import __version__
from trialbook.formats.records import to_json
from trialbook.model.digest import sha256
from trialbook.model.generation import Generation
from trialbook.model.runfiles import GENERATION, REPORT, RESULTS, generation_folder
from trialbook.reporting.report import render_report
from trialbook.reporting.results import load_results, results_csv
from trialbook.storage.corrections import generations, standings
from trialbook.storage.ledger import Ledger
from trialbook.storage.locks import exclusive
from trialbook.storage.messages import generation_message
from trialbook.storage.reader import Reader, RunRef
from trialbook.system import System, timestamp


def regenerate(reader: Reader, run: RunRef) -> dict[str, bytes]:
    """``results.csv`` and ``report.md`` as the records of a run in the reader's commit give them.

    Raises:
        RecordError: a record that cannot be read.
    """
    results = load_results(reader, run)
    return {
        RESULTS: results_csv(results.plan, results.standings.values()),
        REPORT: render_report(results),
    }


def newest_results(reader: Reader, run: RunRef) -> str | None:
    """The folder in the run that holds its newest results, ``""`` for its own; None if it is open.

    Raises:
        RecordError: a generation that cannot be read.
    """
    if not reader.is_closed(run):
        return None
    later = generations(reader, run)
    return generation_folder(later[-1].id) if later else ""


@contextmanager
def one_corrects(ledger: Ledger, run: RunRef) -> Iterator[None]:
    """Let one process at a time correct or close a run, so that results miss no record."""
    with exclusive(ledger.state_folder(run.suite, run.run) / "corrections.lock"):
        yield


def refresh_results(
    root: Path, ledger: Ledger, run: RunRef, because: str, system: System
) -> Generation | None:
    """Add results to a closed run whose newest ones no longer follow from its records.

    To be called within `one_corrects`.

    Raises:
        EnvironmentProblem: the ledger cannot be written.
        RecordError: a record that cannot be read.
    """
    reader = Reader.open(root, ledger.ref)
    try:
        newest = newest_results(reader, run)
        if newest is None:
            return None
        made = regenerate(reader, run)
        folder = f"{newest}/" if newest else ""
        if all(reader.file(run, f"{folder}{name}") == data for name, data in made.items()):
            return None
        generation = Generation(
            id=system.unique_name(),
            run=run.path,
            created=timestamp(system.now()),
            because=because,
            records=reader.head,
            trialbook=__version__,
            files={name: sha256(data) for name, data in made.items()},
        )
        base = f"runs/{run.path}/{generation_folder(generation.id)}"
        files = {f"{base}/{name}": data for name, data in made.items()}
        files[f"{base}/{GENERATION}"] = to_json(generation)
        trials = [one.trial for one in standings(reader, run)]
        ledger.commit(files, generation_message(reader.plan(run), generation, trials))
        return generation
    finally:
        reader.close()
