from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.recorded import drift_run, new_ledger, record_run

from trialbook.model.alarm import Alarm, AlarmKind
from trialbook.model.plan import PlannedGate
from trialbook.reporting.gates import GateEntry, alarm_rates, gates
from trialbook.reporting.gates_said import alarm_said, rates_said
from trialbook.storage.reader import Reader

BOTH = PlannedGate(baseline="baseline", candidate="candidate")
SWAPPED = PlannedGate(baseline="candidate", candidate="baseline")


def record(root: Path, number: int, gate: PlannedGate | None, *, equal: bool = False) -> str:
    """The run of `drift_run`, made for a gate; its name."""
    plan, bundles = drift_run()
    name = f"2026113{number}-151526-3f9c"
    configurations = dict(plan.configurations)
    if not equal:
        configurations["candidate"] = replace(configurations["candidate"], model="another")
    plan = replace(plan, run=name, gate=gate, configurations=configurations)
    record_run(root, plan, [replace(one, record=replace(one.record, run=name)) for one in bundles])
    return f"{plan.suite}/{name}"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gate that fails, one that passes in two stages, one of equal sides that fails, a run."""
    root = new_ledger(tmp_path_factory.mktemp("gates") / "ledger")
    record(root, 0, BOTH)
    first = record(root, 1, SWAPPED)
    record(root, 2, replace(SWAPPED, after=(first,)))
    record(root, 3, BOTH, equal=True)
    record(root, 4, None)
    return root


def known(ledger: Path, cache: Path | None = None) -> list[GateEntry]:
    return gates(Reader.open(ledger, cache=cache))


def test_runs_of_one_gate_are_one_and_other_runs_are_none(ledger: Path) -> None:
    found = known(ledger)
    assert [one.gate.verdict for one in found] == ["fail", "pass", "fail"]
    assert [len(one.gate.runs) for one in found] == [1, 2, 1]
    assert found[1].gate.stage == 2
    assert found[1].gate.repetitions == 6
    assert found[0].gate.reason.startswith("the score fell")
    assert found[0].gate.candidate.accepted == "0/9 (0.0 %)"
    assert found[0].gate.trials == 18


def test_a_gate_is_the_same_from_the_cache(ledger: Path, tmp_path: Path) -> None:
    fresh = known(ledger)
    assert known(ledger, tmp_path) == fresh
    assert known(ledger, tmp_path) == fresh


def test_a_failure_between_equal_sides_is_a_false_alarm_without_being_told(ledger: Path) -> None:
    assert [one.false_alarm for one in known(ledger)] == [None, False, True]
    assert [alarm_said(one) for one in known(ledger)] == [
        "not looked into",
        "",
        "false alarm: nothing differs",
    ]


def test_the_newest_of_what_people_found_out_counts(ledger: Path) -> None:
    [failed, *_] = known(ledger)
    told = [
        Alarm(
            id=f"20261130T15152{n}Z-3f9c2d",
            created=f"2026-11-30T15:15:2{n}.000Z",
            author="a",
            trialbook="0.1.0",
            run=failed.gate.run,
            kind=kind,
            because="b",
        )
        for n, kind in enumerate((AlarmKind.FALSE, AlarmKind.REAL))
    ]
    assert replace(failed, alarms=tuple(told[:1])).false_alarm is True
    assert replace(failed, alarms=tuple(told)).false_alarm is False


def test_a_false_alarm_stays_one_when_later_grades_let_the_gate_pass(ledger: Path) -> None:
    [failed, *_] = known(ledger)
    told = Alarm(
        id="20261130T151520Z-3f9c2d",
        created="2026-11-30T15:15:20.000Z",
        author="a",
        trialbook="0.1.0",
        run=failed.gate.run,
        kind=AlarmKind.FALSE,
        because="b",
    )
    entry = replace(failed, gate=replace(failed.gate, verdict="pass"), alarms=(told,))
    assert entry.false_alarm is True
    assert alarm_said(entry).startswith("false alarm: it failed then")
    [rate] = alarm_rates([entry])
    assert (rate.failed, rate.false, rate.unknown) == (1, 1, 0)


def test_the_rate_has_counts_an_interval_and_what_is_not_known(ledger: Path) -> None:
    [rate] = alarm_rates(known(ledger))
    assert (rate.gates, rate.decided, rate.failed, rate.false, rate.unknown) == (3, 3, 2, 1, 1)
    assert (rate.equal, rate.equal_failed) == (1, 1)
    said = list(rates_said(rate))
    assert said[0] == (
        "instruction-drift: 1/3 (33.3 %) of gates that came to an answer were false alarms, "
        "0.8 % to 90.6 % (confidence 0.95, Clopper-Pearson)"
    )
    assert said[1].startswith("1 failure nobody has looked into: with it it may be up to 2/3")
    assert said[2].startswith("between two equal sides 1/1 (100.0 %) failed")


def test_without_gates_there_is_no_rate(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    assert known(root) == []
    assert alarm_rates([]) == []
