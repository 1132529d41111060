"""What the runner laid in between sessions counts for nobody's work, wherever work is looked at."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.sessions.test_verifying import edited, faults
from tests.sessions.world import TASK, Ran, make_ledger, ran

from trialbook.model.digest import sha256

ROOT = Path(__file__).resolve().parents[2]
RUBRIC = "rubrics/maintainability/v1.md"
TASK_FOLDER = "suites/story/tasks/table"
BRANCH = "".join(f"    if value == {n}:\n        return {n} + {n}\n" for n in range(8))
LAID = {
    "units.py": "def number(value):\n    return str(value)\n",
    "more/first.py": f"def first(value):\n{BRANCH}",
    "more/second.py": f"def second(value):\n{BRANCH}",
    "requirements.txt": "left-pad\n",
    "tests/test_units.py": "import pytest\n\n\n@pytest.mark.skip\ndef test_it():\n    pass\n",
}
OVERLAY = {f"{TASK_FOLDER}/private/plant/files/{path}": text for path, text in LAID.items()}


def planted() -> dict[str, str]:
    task = TASK.replace("patch: private/plant/merge.patch", "overlay: private/plant/files")
    rubric = (ROOT / RUBRIC).read_text()
    return {f"{TASK_FOLDER}/task.yaml": task, RUBRIC: rubric, **OVERLAY}


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with a series in which much was laid in, and its cache."""
    top = tmp_path_factory.mktemp("own")
    ledger = make_ledger(top / "ledger", planted())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIALBOOK_CACHE", str(top / "cache"))
        trialbook(ledger, "eval", "story", "--sandbox", "none")
    return top


@pytest.fixture
def found(top: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    monkeypatch.setenv("TRIALBOOK_CACHE", str(top / "cache"))
    return ran(top / "ledger")


def test_the_own_change_is_the_whole_one_without_what_was_laid_in(top: Path, found: Ran) -> None:
    change = found.record["change"]
    whole, own = found.text("change.patch"), found.text("own.patch")
    for path in ("more/first.py", "requirements.txt", "tests/test_units.py"):
        assert (path in whole, path in own) == (True, False)
    # What the repair did about the fault is the agent's own; the whole change does not show it.
    assert ("a/units.py" in whole, "a/units.py" in own) == (False, True)
    assert "-    return str(value)\n+    return value\n" in own
    assert (change["files"], change["own"]["files"]) == (7, 4)
    assert change["own"]["patch_sha256"] == found.record["artifacts"]["own.patch"]
    (run,) = (top / "ledger/runs/story").iterdir()
    with (run / "results.csv").open() as file:
        (row,) = csv.DictReader(file)
    own_lines = (str(change["own"][name]) for name in ("files", "insertions", "deletions"))
    assert (row["changed_files"], row["insertions"], row["deletions"]) == tuple(own_lines)
    assert "nothing is wrong" in trialbook(top / "ledger", "verify").stdout


def test_neither_sightings_nor_hints_nor_facts_see_what_was_laid_in(top: Path, found: Ran) -> None:
    assert [one["kind"] for one in found.record["sightings"]] == []
    hints = found.json("series.json")["change"]
    assert hints["base"] == found.record["change"]["own"]["base"]
    assert (hints["clones"], hints["dependencies"]) == ([], [])
    assert [one.partition(":")[0] for one in hints["unused"]] == ["rows.py"]
    lines = found.record["change"]["own"]
    assert hints["added_lines"] < lines["insertions"]
    name = f"{found.folder.parents[2].name}/table/steady/r1"
    shown = json.loads(trialbook(top / "ledger", "show", name, "--json").stdout)
    facts = shown["facts"]
    assert facts["change"]["changed_lines"] == lines["insertions"] + lines["deletions"]
    assert "more/first.py" not in json.dumps(facts)
    said = trialbook(top / "ledger", "show", name).stdout
    assert "the rest was laid in between sessions" in said


def test_an_agent_that_does_the_same_is_seen(tmp_path: Path) -> None:
    copy = "mkdir -p more tests\n" + "".join(
        f"cat > {path} <<'END'\n{text}END\n" for path, text in LAID.items() if path != "units.py"
    )
    task = TASK.replace(TASK[TASK.index("    regression:") : TASK.index("notes: ")], "")
    ledger = make_ledger(
        tmp_path / "ledger",
        {f"{TASK_FOLDER}/task.yaml": task, "suites/story/driver/repair/work.sh": copy},
    )
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    found = ran(ledger)
    assert "test_skipped" in [one["kind"] for one in found.record["sightings"]]
    hints = found.json("series.json")["change"]
    assert hints["clones"]
    assert hints["dependencies"]
    assert found.record["change"]["own"] is None
    assert not (found.folder / "own.patch").exists()


def test_an_agent_that_does_nothing_has_changed_nothing_whatever_was_laid_in(
    tmp_path: Path,
) -> None:
    names = ("core", "docs", "change", "repair")
    idle = {f"suites/story/driver/{name}/work.sh": "true\n" for name in names}
    ledger = make_ledger(tmp_path / "ledger", planted() | idle)
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    found = ran(ledger)
    assert found.record["outcome"] == "no_change"
    assert found.things(2)["git settings, hooks, stash and logs"] == "cleared"
    assert (found.record["change"]["files"], found.record["change"]["own"]["files"]) == (5, 0)
    assert "nothing is wrong" in trialbook(ledger, "verify").stdout


def test_the_packet_of_a_reviewer_has_the_agents_own_work(top: Path, found: Ran) -> None:
    ledger, folder = top / "ledger", top / "packet"
    name = f"{found.folder.parents[2].name}/table/steady/r1"
    arguments = ["--reviewer", "ann", "--rubric", "maintainability", "-o", str(folder)]
    trialbook(ledger, "series", "questions", name, *arguments)
    texts = {one.name: one.read_text() for one in folder.iterdir()}
    change = texts["change.diff"]
    assert "more/first.py" not in change
    assert "rows.py" in change
    assert "  more/first.py" in texts["sessions.txt"]


def test_an_own_change_that_was_tampered_with_is_found(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(trial: Path) -> None:
        patch = trial / "own.patch"
        patch.write_text(patch.read_text().replace("+Not committed yet.", "+All is well."))
        digest = sha256(patch.read_bytes())
        edited("trial.json", lambda one: one["change"]["own"].update(patch_sha256=digest))(trial)

    said = faults(top, tmp_path / "a", monkeypatch, other)
    assert "patch-tree-differs" in said
    assert "own.patch" in said
    said = faults(top, tmp_path / "b", monkeypatch, lambda trial: (trial / "own.patch").unlink())
    assert "it is gone" in said
    gone = edited("trial.json", lambda one: one["change"].update(own=None))
    said = faults(top, tmp_path / "c", monkeypatch, gone)
    assert "the record does not know of it" in said
    assert git(top / "ledger", "status", "--porcelain") == ""
