"""How far each run of a ledger came, and what was accepted: counted from rows, for many runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trialbook.stats.views import Counts, chains, count
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rows import rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """One run: how it is counted, in all and by configuration, and how far it came.

    ``finished`` counts slots that have a trial and none due by the plan's policy. ``closed`` says
    whether its results are written.
    """

    run: RunRef
    protocol: int
    status: str
    closed: bool
    finished: int
    total: Counts
    configurations: Mapping[str, Counts]


def progress_of(reader: Reader, run: RunRef) -> RunProgress:
    """How far a run came, as its plan and its trials say now.

    Raises:
        RecordError: a record that cannot be read.
    """
    plan = reader.plan(run)
    ended = ((row.slot, row.rerun, row.outcome) for row in rows(reader, run))
    found = chains((slot.key for slot in plan.schedule), ended)
    return RunProgress(
        run=run,
        protocol=plan.protocol,
        status=plan.status,
        closed=reader.is_closed(run),
        finished=sum(
            bool(chain.outcomes) and not plan.allows_rerun(chain.outcomes) for chain in found
        ),
        total=count(found),
        configurations={
            name: count([chain for chain in found if chain.slot.configuration == name])
            for name in plan.configurations
        },
    )
