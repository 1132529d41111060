from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.test_eval import run_folder
from tests.conftest import trialbook

SAID = "1 of 2 tasks, 1 of 2 configurations"


@pytest.mark.slow
def test_a_run_of_a_part_says_so_everywhere_and_does_not_stand_for_the_suite(ledger: Path) -> None:
    trialbook(ledger, "eval", "mini", "-r", "1")
    whole = run_folder(ledger).rsplit("/", 1)[1]
    shown = trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1", "--json")
    part = json.loads(shown.stdout)["run"].rsplit("/", 1)[1]
    folder = ledger / "runs/mini" / part
    plan = json.loads((folder / "plan.json").read_text())
    assert (plan["suite_tasks"], plan["suite_configurations"]) == (2, 2)
    assert SAID in trialbook(ledger, "show", part).stdout
    assert SAID in (folder / "report.md").read_text()
    trialbook(ledger, "site", "build")
    site = ledger / "site/_build"
    card = (site / "index.html").read_text().partition('class="card"')[2].partition("</article>")[0]
    assert whole in card
    assert "Latest full run" in card
    assert SAID not in card
    for page in (site / "index.html", site / f"runs/mini/{part}/index.html"):
        assert SAID in page.read_text(), page
    assert " of 2 tasks" not in trialbook(ledger, "show", whole).stdout
    assert " of 2 tasks" not in (ledger / "runs/mini" / whole / "report.md").read_text()
    assert "nothing is wrong" in trialbook(ledger, "verify").stdout


def test_until_there_is_a_full_run_the_card_shows_the_part_as_one(ledger: Path) -> None:
    trialbook(ledger, "eval", "mini", "-t", "first", "-r", "1")
    trialbook(ledger, "site", "build")
    page = (ledger / "site/_build/index.html").read_text()
    card = page.partition('class="card"')[2].partition("</article>")[0]
    assert "1 of 2 tasks, 2 of 2 configurations" in card
    assert "Latest run" in card
