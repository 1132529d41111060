"""A commit of the task's on top of what an agent left: merged, or said not to apply."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.sessions.world import TASK, WORK, make_ledger, ran

UNITS = "def number(value):\\n    # Kept as it is.\\n    return value  # of any kind\\n"
REPAIR = "suites/story/driver/repair/work.sh"
CHANGE = "suites/story/driver/change/work.sh"
FILE = "suites/story/tasks/table/task.yaml"


def outcome(tmp_path: Path, **changed: str):  # type: ignore[no-untyped-def]  # noqa: ANN201
    ledger = make_ledger(tmp_path / "ledger", changed)
    trialbook(ledger, "suite", "check", "story")
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    trialbook(ledger, "verify")
    return ran(ledger)


@pytest.mark.slow
def test_a_conflict_with_the_agents_work_is_said_and_the_session_left_out(tmp_path: Path) -> None:
    work = WORK["change"] + f"printf '{UNITS}' > units.py\ngit commit -qam 'Say more'\n"
    found = outcome(tmp_path, **{CHANGE: work})
    assert found.outcomes[3] is None
    reason = found.sessions[3]["reason"]
    assert reason == (
        "its regression cannot be had: it is in conflict with the agent's work: units.py"
    )
    planted = found.handover(4)["planted"]
    assert (planted["commit"], planted["kind"]) == (None, "planted")
    assert found.sessions[3]["end"]["tree"] == found.sessions[2]["end"]["tree"]
    assert found.record["outcome"] == "accepted"


@pytest.mark.slow
def test_the_task_may_have_the_session_run_without_it(tmp_path: Path) -> None:
    work = WORK["change"] + f"printf '{UNITS}' > units.py\n"
    task = TASK.replace("      key: private/key.yaml\n", "      key: private/key.yaml\n"
                        "      unless_applies: run\n")  # fmt: skip
    found = outcome(tmp_path, **{CHANGE: work, FILE: task})
    session = found.sessions[3]
    assert session["outcome"] == "accepted"
    assert session["regression"] is None
    assert found.handover(4)["planted"]["commit"] is None
    assert found.handover(4)["equal"]


@pytest.mark.slow
def test_work_beside_the_change_is_merged_with_it_committed_or_not(tmp_path: Path) -> None:
    # Lines that the planted change does not touch, one file committed and the other not.
    snapshot = "".join(f"# {number}\n" for number in range(8))
    text = snapshot + "def number(value):\n    return value\n"
    patch = (
        "diff --git a/units.py b/units.py\n--- a/units.py\n+++ b/units.py\n@@ -9,2 +9,2 @@\n"
        " def number(value):\n-    return value\n+    return str(value)\n"
    )
    work = WORK["change"] + (
        "sed -i '1s/.*/# committed/' units.py; git commit -qam 'Say more'\n"
        "sed -i '2s/.*/# not committed/' units.py\n"
    )
    task = TASK.replace("units.py:2", "units.py:10")
    found = outcome(
        tmp_path,
        **{
            CHANGE: work,
            FILE: task,
            REPAIR: "grep -c str units.py > seen.txt; git diff HEAD --stat > diff.txt\n",
            "suites/story/tasks/table/snapshot/units.py": text,
            "suites/story/tasks/table/private/plant/merge.patch": patch,
        },
    )
    start = found.sessions[3]["start"]
    assert start["commits"][-1]["subject"] == "Merge branch 'units'"
    assert start["tree"] != start["commits"][-1]["tree"]
    assert "+1" in found.text("sessions/4/change.patch")
    assert found.text("sessions/4/planted.patch").count("\n+") == 2
    # The agent sees its own change alone as not committed.
    assert "units.py | 2 +-" in found.text("sessions/4/change.patch")


@pytest.mark.slow
def test_the_planted_commit_looks_like_the_others(tmp_path: Path) -> None:
    look = "git log -2 --format='%an %ae %cn' > log.txt; git show --stat HEAD >> log.txt\n"
    found = outcome(tmp_path, **{REPAIR: look})
    patch = found.text("sessions/4/change.patch")
    lines = [line for line in patch.splitlines() if line.startswith("+agent agent@localhost agent")]
    assert len(lines) == 2
    for word in ("trialbook", "plant", "symptom", "regression"):
        assert word not in patch.lower().replace("refs/trialbook", "")


OWN = """\
    regression:
      - kind: own
        reported: ["test_repair::test_reported"]
        siblings: ["test_repair::test_two", "test_repair::test_three", "test_repair::test_four"]
        symptom: Numbers come out wrong.
        brief: sessions/repair/own.md
      - kind: environment
        reported: ["test_repair::test_reported"]
        siblings: ["test_repair::test_two", "test_repair::test_three", "test_repair::test_four"]
        symptom: Numbers come out as text.
        plant: {overlay: private/inputs, message: Add inputs}
        key: private/key.yaml
"""


@pytest.mark.slow
@pytest.mark.parametrize("breaks", [True, False])
def test_a_defect_of_the_agents_own_goes_before_any_other(tmp_path: Path, breaks: bool) -> None:
    spoil = "sed -i 's/return value/return value + 1/' units.py\n" if breaks else ""
    head, _, tail = TASK.partition("    regression:\n")
    task = head + OWN + tail[tail.index("notes:") :]
    found = outcome(
        tmp_path,
        **{
            FILE: task,
            CHANGE: WORK["change"] + spoil,
            "suites/story/tasks/table/sessions/repair/own.md": "Seven comes out as eight.\n",
            "suites/story/tasks/table/private/inputs/numbers.txt": "7\n",
        },
    )
    session, handed = found.sessions[3], found.handover(4)
    prompt = found.text("sessions/4/attempt-1/prompt.md")
    start = found.json("sessions/4/grades/private.start.json")
    assert start["accepted"] is not breaks
    if breaks:
        assert (session["regression"], handed["planted"], handed["equal"]) == (1, None, True)
        assert prompt == "Seven comes out as eight.\n"
    else:
        assert (session["regression"], handed["planted"]["kind"]) == (2, "environment")
        assert "numbers.txt" in found.text("sessions/4/planted.patch")
        assert prompt == "Do what repair asks for.\n"


@pytest.mark.slow
def test_the_planted_commit_can_be_found_by_anybody_who_looks(tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "ledger")
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    assert git(ledger, "status", "--porcelain") == ""
