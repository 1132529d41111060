from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.workflow.corrected import RUN, mixed_ledger

TRIAL = f"{RUN.run}/negative-amount/current/r3"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return mixed_ledger(tmp_path / "ledger", closed=True)


def test_amend_prints_what_counts_from_now_on_and_where_it_is(root: Path) -> None:
    done = trialbook(
        root,
        *("amend", TRIAL, "--outcome", "provider_outage", "--evidence", "HTTP 529"),
        *("--reason", "classified wrongly", "--intervention", "clarification:2.5"),
    )
    assert "agent timeout, counts as provider outage from now on" in done.stdout
    assert "clarification, 2.5 minutes" in done.stdout
    assert f"runs/{RUN.path}/results/" in done.stdout
    shown = trialbook(root, "show", TRIAL).stdout
    assert "recorded as agent timeout, amended: counts as provider outage" in shown
    assert "HTTP 529" in shown
    run = trialbook(root, "show", RUN.run).stdout
    assert "* not as recorded" in run
    assert "clarification" not in trialbook(root, "status").stdout
    record = json.loads(trialbook(root, "show", TRIAL, "--json").stdout)
    assert record["trial"]["outcome"] == "agent_timeout"
    assert record["standing"]["outcome"] == "provider_outage"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--note", "x"), "--reason"),
        (("--reason", "x", "--outcome", "accepted"), "accepted"),
        (("--reason", "x", "--intervention", "help:5"), "none of clarification"),
        (("--reason", "x", "--intervention", "rescue"), "write the minutes"),
        (("--reason", "x", "--intervention", "rescue:-1"), "write the minutes"),
        (("--reason", "x", "--intervention", "rescue:nan"), "write the minutes"),
        (("--reason", "x", "--outcome", "cancelled"), "--evidence"),
    ],
)
def test_amend_says_what_is_wrong_and_commits_nothing(
    root: Path, arguments: tuple[str, ...], said: str
) -> None:
    head = git(root, "rev-parse", "HEAD")
    done = trialbook(root, "amend", TRIAL, *arguments, check=2)
    assert said in done.stderr
    assert git(root, "rev-parse", "HEAD") == head


def test_an_incident_is_opened_listed_and_closed(root: Path) -> None:
    told = ("--kind", "provider", "--reason", "529", "--from", "2026-11-30T15:00Z")
    done = trialbook(root, "incident", "open", RUN.run, *told)
    name = done.stdout.split()[1]
    assert f"trialbook incident close {name}" in done.stdout
    assert "11 so far" in trialbook(root, "incident", "list").stdout
    assert "Incident open" in trialbook(root, "show", RUN.run).stdout
    close = ("incident", "close", name[:-2], "--decision", "invalidate", "--reason", "leaked")
    assert "closed: invalidate, 11 trials touched" in trialbook(root, *close).stdout
    (listed,) = json.loads(trialbook(root, "incident", "list", "--json").stdout)
    assert listed["runs"][0]["decision"] == "invalidate"
    assert "Invalidated" in trialbook(root, "show", RUN.run).stdout


def test_what_is_added_to_an_incident_names_no_configuration(root: Path) -> None:
    told = ("--decision", "keep", "--reason", "x")
    for wrong in ("negative-amount/current/r1=why", "negative-amount/r1", "r1=why"):
        done = trialbook(root, "incident", "close", "2026", *told, "--add", wrong, check=2)
        assert "TASK/rN=WHY" in done.stderr
