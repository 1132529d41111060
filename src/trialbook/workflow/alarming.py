"""Puts on record whether a gate that failed was right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trialbook import __version__
from trialbook.errors import UserError
from trialbook.formats.records import to_json
from trialbook.model.alarm import Alarm, AlarmKind
from trialbook.model.ledgerfiles import alarm_path
from trialbook.reporting.gates import GateEntry, gates
from trialbook.storage.ledger import Ledger
from trialbook.storage.messages import alarm_message
from trialbook.storage.reader import Reader
from trialbook.system import System, timestamp
from trialbook.workflow.authorship import author_of, worded


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmRequest:
    """What somebody found out about a gate, which ``run`` names."""

    run: str
    kind: AlarmKind
    because: str
    author: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarmed:
    """What was put on record, about which gate."""

    alarm: Alarm
    entry: GateEntry
    commit: str
    warnings: tuple[str, ...]


def tell_alarm(root: Path, system: System, request: AlarmRequest) -> Alarmed:
    """Put on record whether a failed gate was right.

    Raises:
        UserError: no such gate, or one that did not fail.
        EnvironmentProblem: the ledger cannot be written.
    """
    ledger = Ledger.open(root, system)
    reader = Reader.open(root, ledger.ref)
    entry = _gate(reader, request.run)
    alarm = Alarm(
        id=system.unique_name(),
        created=timestamp(system.now()),
        author=author_of(ledger, request.author),
        trialbook=__version__,
        run=entry.gate.run,
        kind=request.kind,
        because=worded("reason", request.because),
    )
    made = ledger.commit({alarm_path(alarm.id): to_json(alarm)}, alarm_message(alarm))
    return Alarmed(alarm=alarm, entry=entry, commit=made, warnings=tuple(ledger.warnings))


def _gate(reader: Reader, name: str) -> GateEntry:
    run = reader.resolve_run(name)
    found = next((one for one in gates(reader) if run.path in one.gate.runs), None)
    if found is None:
        raise UserError(
            f"{run.path} was not made for a gate",
            hint="`trialbook gates` lists the gates of this ledger",
        )
    if not found.failed:
        raise UserError(
            f"the gate {found.gate.run} did not fail: it came to {found.gate.verdict!r}",
            hint="only a failure can be a false alarm",
        )
    return found
