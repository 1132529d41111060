"""``trialbook plant check`` on real trees: each rule that needs running, kept and broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import trialbook
from tests.sessions.world import PLANT, REPAIR_TEST, TASK, make_ledger

FOLDER = "suites/story/tasks/table"
NAMES = [f"{kind}{n}.py" for kind in ("rule", "view") for n in range(1, 5)]


def new_file(name: str, lines: int) -> str:
    body = "".join(f"+ROW_{n} = {n}\n" for n in range(1, lines + 1))
    head = f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n"
    return f"{head}@@ -0,0 +1,{lines} @@\n{body}"


WIDE = PLANT + "".join(new_file(name, 20) for name in NAMES)
"""The fault among eight new files, as a merge would bring them."""

# Before the repair nobody sees the fault; what the merge brings is asked for.
BROUGHT = """\
checks:
  - {id: brought, question: Is it there?, type: file_contains, file: rule1.py, pattern: ROW_1}
"""


def checked(top: Path, changed: dict[str, str] | None = None, code: int | None = None) -> Any:
    fair = {
        f"{FOLDER}/private/plant/merge.patch": WIDE,
        f"{FOLDER}/sessions/repair/checks.yaml": BROUGHT,
    }
    ledger = make_ledger(top / "ledger", fair | (changed or {}))
    done = trialbook(ledger, "plant", "check", "story/table", "--json", check=code)
    (found,) = json.loads(done.stdout)["plants"]
    return found


def rules(found: Any) -> dict[str, str]:
    return {one["rule"]: one["status"] for one in found["rules"]}


@pytest.mark.slow
def test_a_fair_plant_keeps_every_rule(tmp_path: Path) -> None:
    found = checked(tmp_path, code=0)
    assert found["fair"] is True, found["rules"]
    assert set(rules(found).values()) == {"kept"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "changed"),
    [
        pytest.param(
            "applies",
            {f"{FOLDER}/snapshot/units.py": "def number(given):\n    return given\n"},
            id="the change does not fit",
        ),
        pytest.param(
            "visible-stays-green",
            {
                f"{FOLDER}/sessions/repair/checks.yaml": BROUGHT
                + "  - {id: seen, question: Is it?, type: file_contains, file: units.py, "
                'pattern: "return value"}\n'
            },
            id="an agent sees it break",
        ),
        pytest.param(
            "reported-breaks",
            {f"{FOLDER}/private/repair/test_repair.py": REPAIR_TEST.replace("(7) == 7", "(7)")},
            id="the reported test still passes",
        ),
        pytest.param(
            "siblings-break",
            {f"{FOLDER}/private/repair/test_repair.py": REPAIR_TEST.replace("(2) == 2", "(2)")},
            id="a sibling has another cause",
        ),
        pytest.param(
            "siblings-have-other-inputs",
            {
                f"{FOLDER}/private/repair/test_repair.py": REPAIR_TEST.replace(
                    "(2) == 2", "(7) == 7"
                )
            },
            id="a sibling is the report",
        ),
        pytest.param(
            "no-revert-repairs",
            {
                f"{FOLDER}/sessions/repair/checks.yaml": BROUGHT.replace(
                    "file: rule1.py, pattern: ROW_1", "file: README.md, pattern: Table"
                )
            },
            id="nobody misses what the merge brought",
        ),
        pytest.param(
            "words-are-neutral",
            {f"{FOLDER}/task.yaml": TASK.replace("Merge branch 'units'", "Plant a bug")},
            id="the message tells",
        ),
        pytest.param(
            "cause-is-not-first-hit",
            {f"{FOLDER}/task.yaml": TASK.replace("Numbers come out as text", "Some number value")},
            id="the symptom names the file",
        ),
        pytest.param(
            "looks-like-an-integration",
            {f"{FOLDER}/private/plant/merge.patch": PLANT},
            id="nothing but the fault",
        ),
    ],
)
def test_a_bad_plant_is_refused_by_its_rule(
    tmp_path: Path, rule: str, changed: dict[str, str]
) -> None:
    found = checked(tmp_path, changed, code=1)
    assert found["fair"] is False
    assert rules(found)[rule] == "broken", found["rules"]
    (told,) = [one for one in found["rules"] if one["rule"] == rule]
    assert told["reason"]
    assert told["advice"]


def test_a_task_without_a_regression_is_told_so(tmp_path: Path) -> None:
    start, end = TASK.index("    regression:"), TASK.index("notes:")
    changed = {f"{FOLDER}/task.yaml": TASK[:start] + TASK[end:]}
    ledger = make_ledger(tmp_path / "ledger", changed)
    done = trialbook(ledger, "plant", "check", "story", check=2)
    assert "no task with a regression" in done.stderr
    done = trialbook(ledger, "plant", "check", "story/tabel", check=2)
    assert "did you mean `table`?" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("fair", [True, False])
def test_an_unfair_plant_keeps_a_suite_from_being_locked(tmp_path: Path, *, fair: bool) -> None:
    changed = {
        f"{FOLDER}/private/plant/merge.patch": WIDE if fair else PLANT,
        f"{FOLDER}/sessions/repair/checks.yaml": BROUGHT,
    }
    ledger = make_ledger(tmp_path / "ledger", changed)
    done = trialbook(ledger, "suite", "lock", "story", "--json", check=None)
    (row,) = [one for one in json.loads(done.stdout)["rows"] if one["row"] == "plant"]
    assert row["case"] == "repair 1"
    assert row["status"] == ("passed" if fair else "failed")
    assert ("looks-like-an-integration" in row["reason"]) is not fair
