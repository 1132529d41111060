"""Results as a pandas data frame, for notebooks: one row a trial, as in ``results.csv``.

pandas is the extra ``frame``; it is loaded at the first use.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trialbook.errors import EnvironmentProblem
from trialbook.reporting.results import COLUMNS, OPINION_COLUMNS, load_results, rows
from trialbook.storage.reader import Reader

if TYPE_CHECKING:
    import pandas as pd

TRUTHS = (
    "valid",
    "accepted",
    "counts_all_scheduled",
    "counts_valid_execution",
    "graded_anyway",
    "isolated",
    "rescued",
    "tests_pass",
    "would_merge",
)
NUMBERS = (
    "protocol",
    "position",
    "repetition",
    "rerun",
    "checks_passed",
    "checks_total",
    "changed_files",
    "insertions",
    "deletions",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "model_calls",
    "turns",
    "interventions",
)
DECIMALS = ("cost_usd", "intervention_minutes", "review_minutes")
TIMES = ("started", "finished")


def results_frame(ledger: Path | str, *runs: str) -> pd.DataFrame:
    """The trials of some runs, corrections included; without ``runs``, of every run of the ledger.

    What is not known is missing (``NA``), never 0. Times are in UTC.

    Raises:
        UserError: no such run.
        EnvironmentProblem: pandas is not installed, or there is no ledger.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise EnvironmentProblem(
            "pandas is not installed", hint="pip install 'trialbook[frame]'"
        ) from error
    reader = Reader.open(Path(ledger))
    try:
        wanted = [reader.resolve_run(run) for run in runs] or reader.runs()
        found = [
            row
            for run in wanted
            for results in [load_results(reader, run)]
            for row in rows(results.plan, results.standings.values())
        ]
    finally:
        reader.close()
    frame = pd.DataFrame(found, columns=[*COLUMNS, *OPINION_COLUMNS]).replace("", pd.NA)
    for name in TRUTHS:
        frame[name] = frame[name].map({"yes": True, "no": False}).astype("boolean")
    for name in NUMBERS:
        frame[name] = pd.to_numeric(frame[name]).astype("Int64")
    for name in DECIMALS:
        frame[name] = pd.to_numeric(frame[name]).astype("Float64")
    for name in TIMES:
        frame[name] = pd.to_datetime(frame[name], utc=True)
    return frame
