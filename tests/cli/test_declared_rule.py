from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import trialbook

DECLARED = ("--margin", "0.1", "--because", "one more in ten", "--look", "1")


def test_a_margin_and_looks_from_the_command_line_are_frozen_in_the_plan(ledger: Path) -> None:
    said = trialbook(ledger, "eval", "mini", "-r", "2", *DECLARED, "--dry-run").stdout
    assert "margin 0.1: one more in ten" in said
    assert "looks after 1 rounds, and at the end" in said
    shown = trialbook(ledger, "eval", "mini", "-r", "2", *DECLARED, "--dry-run", "--json").stdout
    compare = json.loads(shown)["compare"]
    assert (compare["margin"], compare["because"]) == (0.1, "one more in ten")
    assert compare["looks"] == [1]


def test_a_margin_without_its_reason_is_refused_before_anything_runs(ledger: Path) -> None:
    done = trialbook(ledger, "eval", "mini", "--margin", "0.1", check=2)
    assert "needs the sentence that says why" in done.stderr
    assert not (ledger / "runs").exists() or not list((ledger / "runs").glob("*/*"))
