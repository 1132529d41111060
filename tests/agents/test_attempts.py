"""A cheaper model first and one escalation, with a real client, judged by the written record."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from tests.agents.conftest import Start
from tests.agents.test_written_records import SUCCESS, evaluate, ledger, written
from tests.agents.test_written_records import claude as configured
from tests.conftest import trialbook

pytestmark = pytest.mark.agents

GUESS = {
    "text": "A guess.",
    "tools": [{"name": "Bash", "input": {"command": "printf '41\\n' > answer.txt"}}],
    "usage": {"in": 500, "out": 20},
}
ESCALATE = """\
escalate:
  when: [checks_fail]
  to: {{{{model: {model}}}}}
  workspace: carried
  tell: checks
"""


def test_a_stronger_model_goes_on_where_a_cheaper_one_failed(
    model: Start, claude: str, tmp_path: Path
) -> None:
    limited = {"status": 429, "body": {"error": {"message": "slow", "type": "rate_limit"}}}
    done = {"text": "Done.", "usage": {"in": 600, "out": 10}}
    served = model(**{"gpt-5.5": [GUESS, done], "priced": SUCCESS["claude"], "limited": [limited]})
    first = "model: gpt-5.5\n"
    folder = ledger(
        tmp_path / "ledger",
        {
            "chain": configured(claude, served, first, ESCALATE.format(model="priced")),
            "lost": configured(claude, served, first, ESCALATE.format(model="limited")),
        },
    )
    ran = evaluate(folder, served, "--sandbox", "none", "--jobs", "2")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    records = written(folder)
    chain = records["chain"]
    assert chain["outcome"] == "accepted", chain["reason"]
    cheap, strong = chain["attempts"]
    assert [one["agent"]["model"] for one in (cheap, strong)] == ["gpt-5.5", "priced"]
    assert cheap["session_id"] != strong["session_id"]
    costs = [Decimal(one["usage"]["cost_usd"]) for one in (cheap, strong)]
    assert Decimal(chain["usage"]["cost_usd"]) == sum(costs)
    assert chain["usage"]["basis"] == "priced"
    assert chain["usage"]["turns"] == 4
    prompt = next(folder.glob("runs/real/*/answer/chain/r1/sessions/1/attempt-2/prompt.md"))
    assert "- Is there an answer?" in prompt.read_text()
    assert served.heard("Is there an answer?")
    lost = records["lost"]
    assert lost["outcome"] == "provider_outage"
    assert [one["outcome"] for one in lost["attempts"]] == [None, "provider_outage"]
    assert lost["attempts"][1]["trouble"] == "rate_limit"
    assert lost["attempts"][0]["usage"]["cost_usd"] == cheap["usage"]["cost_usd"]
    assert "nothing is wrong" in trialbook(folder, "verify").stdout
    run = next(folder.glob("runs/real/*")).name
    trajectory = trialbook(
        folder, "export", "--format", "atif", f"{run}/answer/chain/r1", "--attempt", "1/1"
    ).stdout
    assert "gpt-5.5" in trajectory
