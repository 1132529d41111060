"""What to expect of a plan, from the runs that the ledger has of its suite."""

from __future__ import annotations

from pathlib import Path

from trialbook.errors import TrialbookError
from trialbook.model.plan import Plan
from trialbook.reporting.forecast import Forecast, forecast
from trialbook.reporting.results import load_results
from trialbook.storage.reader import Reader

EARLIER = 3
"""How many earlier runs are looked at."""


def expect(root: Path, cache: Path, plan: Plan) -> Forecast:
    """The forecast; runs that cannot be read tell nothing, and keep nobody from a new one."""
    past = []
    try:
        reader = Reader.open(root, cache=cache)
    except TrialbookError:
        return forecast(plan, [])
    try:
        runs = [run for run in reader.runs() if run.suite == plan.suite]
        for run in sorted(runs, key=lambda one: one.run)[-EARLIER:]:
            try:
                past.append(load_results(reader, run))
            except TrialbookError:
                continue
    finally:
        reader.close()
    return forecast(plan, past)
