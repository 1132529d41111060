from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.recorded import full_ledger


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return full_ledger(tmp_path_factory.mktemp("report") / "ledger")


def test_the_report_of_a_closed_run_is_the_committed_one(recorded: Path) -> None:
    folder = "runs/instruction-drift/20261130-151526-3f9c"
    for kind, name in (("markdown", "report.md"), ("csv", "results.csv")):
        said = trialbook(recorded, "report", "20261130", "--format", kind).stdout
        assert said.strip() == git(recorded, "show", f"HEAD:{folder}/{name}").strip()


def test_an_open_run_has_a_report_too(recorded: Path) -> None:
    assert "## Accepted" in trialbook(recorded, "report", "20261201").stdout


def test_json_has_a_row_for_each_trial(recorded: Path) -> None:
    said = json.loads(trialbook(recorded, "report", "20261130", "--format", "json").stdout)
    table = trialbook(recorded, "report", "20261130", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [{name: trial[name] for name in rows[0]} for trial in said["trials"]] == rows
    assert said["comparison"] is None
