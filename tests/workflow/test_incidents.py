from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import git
from tests.recorded import a_bundle, mixed_run, record_run
from tests.workflow.corrected import RUN, a_system, files, mixed_ledger, reader

from trialbook.errors import UserError
from trialbook.formats.records import RecordError
from trialbook.model.incident import Addition, Decision, IncidentKind
from trialbook.storage.corrections import incidents
from trialbook.storage.ledger import Ledger
from trialbook.workflow.incidents import (
    CloseRequest,
    OpenRequest,
    all_incidents,
    close_incident,
    open_incident,
)

# The recorded trials ran from 15:16:00.000 to 15:16:04.500 on this day.
DAY = "2026-11-30"
OPEN = OpenRequest(
    where=RUN.run,
    kind=IncidentKind.PROVIDER,
    reason="the API answered 529: overloaded",
    began=f"{DAY}T15:00Z",
    evidence=("https://status.example.com/1", "stderr.txt"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return mixed_ledger(tmp_path / "ledger", closed=True)


def close(root: Path, name: str, decision: Decision = Decision.RERUN, **changes: object) -> None:
    request = CloseRequest(incident=name, decision=decision, reason="so")
    close_incident(root, a_system(), replace(request, **changes))  # type: ignore[arg-type]


def test_an_incident_is_readable_and_closing_adds_a_file(root: Path) -> None:
    name = open_incident(root, a_system(), OPEN).id
    opened = git(root, "show", f"HEAD:runs/{RUN.path}/incidents/{name}.yaml")
    assert "kind: provider\n" in opened
    assert 'reason: "the API answered 529: overloaded"\n' in opened
    assert '  - "https://status.example.com/1"\n  - stderr.txt\n' in opened
    close(root, name)
    assert git(root, "show", f"HEAD:runs/{RUN.path}/incidents/{name}.yaml") == opened
    assert len(files(root, ".yaml")) == 2
    (incident,) = incidents(reader(root), RUN)
    assert incident.decision is Decision.RERUN
    assert incident.closing is not None
    assert len(incident.closing.affected) == 11
    assert {path.split("/")[1] for path in incident.closing.affected} == {"current", "reference"}
    assert git(root, "status", "--porcelain") == ""


def test_a_closed_run_gets_results_that_tell_of_it(root: Path) -> None:
    open_incident(root, a_system(), OPEN)
    (report,) = [path for path in files(root, "report.md") if path.startswith("results/")]
    assert "Incident open" in git(root, "show", f"HEAD:runs/{RUN.path}/{report}")


def test_trials_outside_its_time_are_not_touched(root: Path) -> None:
    name = open_incident(root, a_system(), OPEN).id
    close(root, name, Decision.KEEP, until=f"{DAY}T15:10Z")
    (incident,) = incidents(reader(root), RUN)
    assert incident.closing is not None
    assert incident.closing.affected == ()


def test_a_decision_is_not_about_one_configuration_only(tmp_path: Path) -> None:
    plan, bundles = mixed_run()
    mine = [one for one in bundles if one.record.configuration == "current"]
    root = mixed_ledger(tmp_path / "ledger", closed=False)
    other = replace(plan, run="20261202-080000-cccc")
    record_run(root, other, [a_bundle(replace(one.record, run=other.run)) for one in mine])
    name = open_incident(root, a_system(), replace(OPEN, where=other.run)).id
    for decision in (Decision.RERUN, Decision.INVALIDATE):
        with pytest.raises(UserError, match="one configuration only"):
            close(root, name, decision)
    close(root, name, added=(Addition(task="negative-amount", repetition=1, because="same hour"),))


def test_what_is_added_has_to_be_in_the_plan_and_have_a_reason(root: Path) -> None:
    name = open_incident(root, a_system(), OPEN).id
    for task, repetition in (("nothing", 1), ("refund-twice", 9)):
        with pytest.raises(UserError, match="no run of this incident"):
            close(root, name, added=(Addition(task=task, repetition=repetition, because="x"),))
    with pytest.raises(UserError, match="is empty"):
        close(root, name, added=(Addition(task="refund-twice", repetition=1, because=" "),))


def test_an_incident_is_closed_once(root: Path) -> None:
    name = open_incident(root, a_system(), OPEN).id
    close(root, name[:-3])
    with pytest.raises(UserError, match="closed already"):
        close(root, name)


def test_two_clones_may_close_it_and_the_last_stands(root: Path, tmp_path: Path) -> None:
    name = open_incident(root, a_system(), OPEN).id
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(root), str(other))
    close(root, name, Decision.KEEP)
    late = a_system()
    for _ in range(60):
        late.now()
    close_incident(
        other, late, CloseRequest(incident=name, decision=Decision.INVALIDATE, reason="leaked")
    )
    git(root, "pull", "-q", "--no-rebase", "--no-edit", str(other), "main")
    (incident,) = incidents(reader(root), RUN)
    assert [one.decision for one in incident.closings] == [Decision.KEEP, Decision.INVALIDATE]
    assert incident.decision is Decision.INVALIDATE


def test_an_incident_of_a_suite_is_in_every_run_that_it_touched(tmp_path: Path) -> None:
    root = mixed_ledger(tmp_path / "ledger", closed=True)
    plan, bundles = mixed_run()
    early = replace(plan, run="20260101-080000-aaaa")
    old = [
        a_bundle(
            replace(
                one.record,
                run=early.run,
                started="2026-01-01T08:00:00.000Z",
                finished="2026-01-01T08:00:04.000Z",
            )
        )
        for one in bundles
    ]
    record_run(root, early, old)
    written = open_incident(root, a_system(), replace(OPEN, where="refunds"))
    assert [run.run for run in written.runs] == [RUN.run]
    late = replace(plan, run="20261203-080000-dddd")
    record_run(root, late, [a_bundle(replace(one.record, run=late.run)) for one in bundles])
    close(root, written.id, Decision.KEEP)
    found = all_incidents(reader(root))[written.id]
    assert sorted(run.run for run in found) == [RUN.run, late.run]
    assert {one.decision for one in found.values()} == {Decision.KEEP}


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (replace(OPEN, began="yesterday"), "is no time"),
        (replace(OPEN, began="2099-01-01"), "in the future"),
        (replace(OPEN, where="nothing"), "there is no run"),
        (replace(OPEN, where="refunds", began="2026-12-01T08:59Z"), "no run of refunds"),
        (replace(OPEN, reason=""), "reason is empty"),
        (replace(OPEN, evidence=("",)), "evidence is empty"),
    ],
)
def test_what_makes_no_incident_is_refused(root: Path, request_: OpenRequest, said: str) -> None:
    head = git(root, "rev-parse", "HEAD")
    with pytest.raises(UserError, match=said):
        open_incident(root, a_system(), request_)
    assert git(root, "rev-parse", "HEAD") == head


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"until": f"{DAY}T14:59Z"}, "before it began"),
        ({"until": "2099-01-01T00:00Z"}, "in the future"),
        ({"until": f"{DAY}T15:01Z"}, "nothing to run again"),
        ({"reason": " "}, "reason is empty"),
        ({"incident": "2099"}, "no incident"),
        ({"incident": ""}, "no incident"),
    ],
)
def test_what_closes_nothing_is_refused(root: Path, changes: dict[str, str], said: str) -> None:
    name = open_incident(root, a_system(), OPEN).id
    head = git(root, "rev-parse", "HEAD")
    with pytest.raises(UserError, match=said):
        close(root, name, **changes)
    assert git(root, "rev-parse", "HEAD") == head


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("20261201T090000Z-aaaaaa.yaml", b"kind: provider\n"),
        ("20261201T090000Z-aaaaaa.yaml", b"\xff"),
        ("20261201T090000Z-aaaaaa.yaml", b"a: [\n"),
        ("20261201T090000Z-aaaaaa.closed-bbbbbb.yaml", b"incident: x\n"),
    ],
)
def test_a_damaged_incident_is_told_by_its_path(root: Path, name: str, data: bytes) -> None:
    ledger = Ledger.open(root, a_system())
    ledger.commit({f"runs/{RUN.path}/incidents/{name}": data}, "by hand\n")
    with pytest.raises(RecordError, match=name.replace(".", r"\.")):
        incidents(reader(root), RUN)


def test_an_incident_under_the_name_of_another_is_not_believed(root: Path) -> None:
    name = open_incident(root, a_system(), OPEN).id
    data = git(root, "show", f"HEAD:runs/{RUN.path}/incidents/{name}.yaml").encode()
    ledger = Ledger.open(root, a_system())
    forged = f"runs/{RUN.path}/incidents/20261201T090000Z-aaaaaa.yaml"
    ledger.commit({forged: data}, "by hand\n")
    with pytest.raises(RecordError, match="another incident"):
        incidents(reader(root), RUN)
