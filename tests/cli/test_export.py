from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import trialbook
from tests.recorded import full_ledger

from trialbook.formats.atif import atif_faults
from trialbook.formats.records import from_json
from trialbook.model.trajectory import Trajectory

TRIAL = "20261202-080000-bbbb/task/evil/r1"
PLACE = "runs/hostile/20261202-080000-bbbb/task/evil/r1/sessions/1/attempt-1/trajectory.json"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return full_ledger(tmp_path / "ledger")


def test_a_trajectory_goes_out_and_comes_back_as_it_was(recorded: Path, tmp_path: Path) -> None:
    several = trialbook(recorded, "export", "--format", "atif", TRIAL, check=2)
    assert "--attempt" in several.stderr
    chosen = ("export", "--format", "atif", TRIAL, "--attempt", "1/1")
    printed = trialbook(recorded, *chosen)
    document = json.loads(printed.stdout)
    assert atif_faults(document) == []
    assert document["trajectory_id"].endswith("task/evil/r1/sessions/1/attempt-1")
    file, back = tmp_path / "a.json", tmp_path / "b.json"
    trialbook(recorded, *chosen, "-o", str(file))
    assert json.loads(file.read_text()) == document
    trialbook(recorded, "import", "--format", "atif", str(file), "-o", str(back))
    original = (recorded / PLACE).read_bytes()
    assert back.read_bytes() == original
    assert trialbook(recorded, "import", "--format", "atif", str(file)).stdout == original.decode()


def test_what_cannot_go_out_is_told(recorded: Path) -> None:
    for trial, said in (
        ("20261202", "a trial is asked for"),
        ("20261130-151526-3f9c/create-user/baseline/r1", "has no trajectory"),
    ):
        assert said in trialbook(recorded, "export", "--format", "atif", trial, check=2).stderr
    wrong = ("export", "--format", "atif", TRIAL, "--attempt")
    assert "there is no attempt" in trialbook(recorded, *wrong, "1/9", check=2).stderr
    assert "not a trajectory" in trialbook(recorded, *wrong, "2/1", check=None).stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b'{"steps": 1, "steps": 2}', "twice"),
        (b"[]", "$: must be an object"),
        (b'{"schema_version": "ATIF-v2.0"}', "$.schema_version: must be ATIF-v1.0"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_valid_document_is_told_with_its_place(
    recorded: Path, tmp_path: Path, text: bytes, said: str
) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(text)
    done = trialbook(recorded, "import", "--format", "atif", str(file), check=2)
    assert said in done.stderr
    assert done.stdout == ""


def test_a_document_of_another_program_is_read_with_what_is_left_out(
    recorded: Path, tmp_path: Path
) -> None:
    file = tmp_path / "x.json"
    step = {"step_id": 1, "source": "user", "message": "Do."}
    document = {"schema_version": "ATIF-v1.2", "agent": {"name": "a"}, "steps": [step]}
    file.write_text(json.dumps({**document, "notes": "n"}))
    done = trialbook(recorded, "import", "--format", "atif", str(file))
    assert "notes (1)" in done.stderr
    assert from_json(Trajectory, done.stdout.encode(), "x").events[0].text == "Do."
