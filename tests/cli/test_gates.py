from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.recorded import drift_run, new_ledger, record_run

from trialbook.model.plan import PlannedGate

RUN = "20261130-151526-3f9c"
LEDGER_RUN = f"instruction-drift/{RUN}"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    plan, bundles = drift_run()
    configurations = plan.configurations | {
        "candidate": replace(plan.configurations["candidate"], model="another")
    }
    gate = PlannedGate(baseline="baseline", candidate="candidate")
    root = new_ledger(tmp_path / "ledger")
    record_run(root, replace(plan, configurations=configurations, gate=gate), bundles)
    return root


def test_gates_are_listed_with_what_is_known_of_their_failures(recorded: Path) -> None:
    shown = trialbook(recorded, "gates").stdout
    assert "the score fell, most in: create-user" in shown
    assert "not looked into" in shown
    assert "0/1 (0.0 %) of gates that came to an answer were false alarms" in shown
    said = json.loads(trialbook(recorded, "gates", "instruction-drift", "--json").stdout)
    [gate] = said["gates"]
    assert (gate["run"], gate["verdict"], gate["false_alarm"]) == (LEDGER_RUN, "fail", None)
    assert said["rates"][0]["unknown"] == 1


def test_a_false_alarm_is_put_on_record_once_for_all(recorded: Path) -> None:
    because = "twenty more trials of each pass"
    done = trialbook(recorded, "alarm", RUN, "false", "--because", because, "--json")
    made = json.loads(done.stdout)
    assert made["alarm"]["run"] == LEDGER_RUN
    [file] = (recorded / "alarms").iterdir()
    assert json.loads(file.read_text()) == made["alarm"]
    subject, *body = git(recorded, "show", "-s", "--format=%B", made["commit"]).splitlines()
    assert subject == f"gate {LEDGER_RUN} was a false alarm"
    assert because in body
    assert "1/1 (100.0 %)" in trialbook(recorded, "gates").stdout
    trialbook(recorded, "alarm", RUN, "real", "--because", "the log shows it after all")
    assert "0/1 (0.0 %)" in trialbook(recorded, "gates").stdout
    assert git(recorded, "status", "--porcelain") == ""


def test_a_changed_or_misplaced_record_of_an_alarm_is_a_fault(recorded: Path) -> None:
    trialbook(recorded, "alarm", RUN, "false", "--because", "so it is")
    [file] = (recorded / "alarms").iterdir()
    text = file.read_text()
    file.with_name("20261130T151526Z-000000.json").write_text(text)
    file.write_text(text.replace("so it is", "so it was"))
    git(recorded, "add", "-A")
    git(recorded, "commit", "-q", "-m", "tidy")
    found = trialbook(recorded, "verify", check=1).stdout
    assert "record-misplaced" in found
    assert f"alarms/{file.name}" in found


def test_only_the_failure_of_a_gate_is_an_alarm(recorded: Path) -> None:
    because = ("--because", "x")
    assert "no run" in trialbook(recorded, "alarm", "none", "false", *because, check=2).stderr
    told = trialbook(recorded, "alarm", RUN, "false", "--because", "  ", check=2).stderr
    assert "the reason is empty" in told
    plan, bundles = drift_run()
    name = "20261201-151526-3f9c"
    other = [replace(one, record=replace(one.record, run=name)) for one in bundles]
    record_run(recorded, replace(plan, run=name), other)
    told = trialbook(recorded, "alarm", name, "false", *because, check=2).stderr
    assert "was not made for a gate" in told
    assert "no run of a suite 'else'" in trialbook(recorded, "gates", "else", check=2).stderr


def test_a_ledger_without_gates_says_so(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    assert "no gate is on record" in trialbook(root, "gates").stderr
