"""What is seen of agents, from the trial to the record, the report, the page and verification."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_eval import trials
from tests.conftest import git, trialbook, write_files
from tests.recorded import a_plan
from tests.workflow.test_worker import outcome_of, with_agent

from trialbook.formats.authored import parse_document
from trialbook.formats.records import from_json, to_json
from trialbook.formats.schema import check_schema, load_schema
from trialbook.model.digest import sha256
from trialbook.model.evidence import KINDS
from trialbook.model.lock import Lock
from trialbook.model.plan import PlannedLock
from trialbook.model.validation import MatrixRow, Row, RowStatus, Waiver
from trialbook.registry import Registry
from trialbook.site.addresses import trial_page
from trialbook.storage.reader import RunRef
from trialbook.storage.suites import load_suite
from trialbook.workflow.specs import PlanInUse, leaks_allowed

WRITES = "open('answer.txt', 'w').write('first 1')\n"
FORGES = WRITES + (
    "open('conftest.py', 'w').write('def f(report):\\n    report.outcome = \"passed\"\\n')\n"
)
SKIPS = WRITES + "open('test_a.py', 'w').write('import pytest\\npytest.skip(1)\\n')\n"
SECRET = "hunter2-and-more-of-it"


def seen(record: dict[str, Any]) -> dict[str, str]:
    return {one["kind"]: one["severity"] for one in record["sightings"]}


def declare(ledger: Path, text: str) -> None:
    suite = ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text() + text)


def test_an_honest_trial_has_no_sightings_and_says_that_something_looked(ledger: Path) -> None:
    with_agent(ledger, WRITES)
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    assert record["sightings"] == []


def test_forging_results_is_a_violation_that_verification_follows(ledger: Path) -> None:
    with_agent(ledger, FORGES)
    record = outcome_of(ledger)
    assert record["outcome"] == "policy_violation"
    assert str(record["reason"]).startswith("rules were broken: conftest.py:2: the result of a ")
    assert record["grades"][0]["accepted"] is True  # type: ignore[index]
    assert seen(record) == {"report_forged": "violation", "runner_configured": "flag"}
    done = json.loads(trialbook(ledger, "verify", "--json").stdout)
    assert done["faults"] == []


def test_a_flag_decides_nothing_unless_the_suite_says_so(ledger: Path) -> None:
    with_agent(ledger, SKIPS)
    record = outcome_of(ledger)
    assert (record["outcome"], seen(record)) == ("accepted", {"test_skipped": "flag"})


@pytest.mark.parametrize(
    ("code", "declared", "outcome", "severities"),
    [
        (SKIPS, "{test_skipped: violation}", "policy_violation", {"test_skipped": "violation"}),
        (
            FORGES,
            "{report_forged: flag}",
            "accepted",
            {"report_forged": "flag", "runner_configured": "flag"},
        ),
    ],
)
def test_a_suite_says_what_a_sighting_means(
    ledger: Path, code: str, declared: str, outcome: str, severities: dict[str, str]
) -> None:
    with_agent(ledger, code)
    declare(ledger, f"sightings: {declared}\n")
    record = outcome_of(ledger)
    assert (record["outcome"], seen(record)) == (outcome, severities)


def test_a_violation_goes_before_an_error_of_the_agent_and_after_our_failures(
    ledger: Path,
) -> None:
    with_agent(ledger, FORGES + "raise SystemExit(3)")
    record = outcome_of(ledger)
    assert record["outcome"] == "policy_violation"
    assert record["grades"] == []
    trialbook(ledger, "verify")


def test_what_is_planted_in_git_is_seen(ledger: Path) -> None:
    code = (
        WRITES + "open('.git/config', 'a').write('[core]\\n\\tfsmonitor = ./evil\\n')\n"
        "import os\nos.makedirs('.git/hooks')\nopen('.git/hooks/pre-commit', 'w').write('x')\n"
    )
    with_agent(ledger, code)
    record = outcome_of(ledger)
    found = {one["path"]: one for one in record["sightings"]}  # type: ignore[attr-defined]
    assert found.keys() == {".git/config", ".git/hooks/pre-commit"}
    assert found[".git/config"]["line"] > 1
    assert found[".git/config"]["excerpt"] == "fsmonitor = ./evil"


def test_an_agent_that_names_the_suites_folder_is_seen(ledger: Path) -> None:
    place = ledger / "suites/mini/tasks/first"
    with_agent(ledger, WRITES + f"print('one')\nprint({str(place)!r})")
    record = outcome_of(ledger, "--sandbox", "none")
    (one,) = record["sightings"]  # type: ignore[misc]
    assert (one["kind"], one["line"]) == ("outside_named", 2)
    assert str(ledger) not in json.dumps(one)


def test_a_secret_in_the_quoted_line_is_taken_out(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORD", SECRET)
    code = WRITES + "import os\nw = os.environ['WORD']\n"
    code += "open('conftest.py', 'w').write(f'import os\\nos._exit(0)  # {w}\\n')"
    with_agent(ledger, code, more="secrets: [WORD]\n")
    record = outcome_of(ledger)
    assert record["outcome"] == "policy_violation"
    assert SECRET not in json.dumps(record)
    assert "os._exit(0)  # [redacted:" in json.dumps(record)


def test_sightings_are_shown_by_show_report_and_page(ledger: Path) -> None:
    with_agent(ledger, FORGES)
    run = str(outcome_of(ledger)["run"])
    shown = trialbook(ledger, "show", f"{run}/first/good/r1").stdout
    assert "what was seen  2" in shown
    assert "conftest.py:2" in shown
    report = (ledger / "runs/mini" / run / "report.md").read_text()
    assert "## What was seen" in report
    assert "  - violation: `conftest.py:2`: `the result of a test is set to passed`" in report
    trialbook(ledger, "site", "build")
    page = ledger / "site/_build" / trial_page(RunRef("mini", run), "first/good/r1")
    text = page.read_text()
    assert "What was seen" in text
    assert "conftest.py:2</a>" in text
    assert "report.outcome = &#34;passed&#34;" in text


@pytest.mark.slow
def test_an_answer_that_can_be_read_keeps_agents_from_being_started(
    ledger: Path, tmp_path: Path
) -> None:
    snapshot = ledger / "suites/mini/tasks/first"
    written = "the answer, written out in a file of its own\n"
    write_files(snapshot, {"private/reference/long.txt": written})
    task = snapshot / "task.yaml"
    task.write_text(task.read_text() + "reference: {overlay: private/reference}\n")
    write_files(ledger / "suites/mini/instructions/hints", {"hint.txt": written})
    with_agent(ledger, WRITES, more="instructions: hints\n")
    record = outcome_of(ledger)
    assert record["outcome"] == "environment_failure"
    assert "an agent could read the answer" in str(record["reason"])
    assert record["attempts"] == []
    assert seen(record) == {"answer_object": "violation"}
    row = record["workspace"]["audit"][-1]  # type: ignore[index]
    assert (row["rule"], row["ok"]) == ("answer", False)
    assert "the answer, written out" not in json.dumps(record)
    trialbook(ledger, "verify")

    waiver = "waivers:\n  - {task: first, row: leak, reason: The hint is what is measured here.}\n"
    declare(ledger, waiver)
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "waive")
    trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    latest = trials(ledger)[max(trials(ledger))]
    assert latest["outcome"] == "accepted"
    assert seen(latest) == {"answer_object": "flag"}
    assert latest["sightings"][0]["detail"].endswith("(allowed)")
    row = latest["workspace"]["audit"][-1]
    assert row["detail"].endswith("and allowed: waived: The hint is what is measured here.")


@pytest.mark.slow
def test_a_task_with_a_reference_that_is_nowhere_says_so_in_its_audit(ledger: Path) -> None:
    folder = ledger / "suites/mini/tasks/first"
    write_files(folder, {"private/reference/long.txt": "an answer that is nowhere else at all\n"})
    task = folder / "task.yaml"
    task.write_text(task.read_text() + "reference: {overlay: private/reference}\n")
    with_agent(ledger, WRITES)
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    row = record["workspace"]["audit"][-1]  # type: ignore[index]
    assert row["rule"] == "answer"
    assert row["detail"].startswith("the answer's files (1), looked for in ")


@pytest.mark.slow
def test_a_violation_that_was_seen_stays_when_graders_say_something_else(ledger: Path) -> None:
    with_agent(ledger, FORGES)
    run = str(outcome_of(ledger)["run"])
    checks = ledger / "suites/mini/tasks/first/checks.yaml"
    checks.write_text(checks.read_text().replace("pattern: ", "pattern: nothing like "))
    trialbook(ledger, "regrade", run, "--reason", "Try other checks on what is there.")
    said = json.loads(trialbook(ledger, "show", f"{run}/first/good/r1", "--json").stdout)
    assert said["standing"]["outcome"] == "policy_violation"
    assert said["grades"][0]["accepted"] is False
    assert json.loads(trialbook(ledger, "verify", "--json").stdout)["faults"] == []


# --- what a lock has to do with it ---------------------------------------------------------------

LEAK_ROW = MatrixRow(
    task="first",
    row=Row.LEAK,
    case="",
    status=RowStatus.PASSED,
    repeats=0,
    outcome=None,
    reason="not found",
)


@pytest.mark.parametrize(
    ("rows", "status", "waived", "allowed"),
    [
        ((LEAK_ROW,), "locked", False, ""),
        ((), "locked", False, "the lock is from before suites were looked at for this"),
        ((), "draft", False, ""),
        ((LEAK_ROW,), "locked", True, "waived: It is the point of the task."),
        ((), "draft", True, "waived: It is the point of the task."),
    ],
)
def test_a_lock_without_the_row_only_tells_and_a_waiver_allows(
    ledger: Path, rows: tuple[MatrixRow, ...], status: str, allowed: str, *, waived: bool
) -> None:
    trialbook(ledger, "suite", "lock", "mini")
    file = ledger / "suites/mini/locks/1.json"
    lock = from_json(Lock, file.read_bytes(), "lock")
    file.write_bytes(to_json(replace(lock, matrix=rows)))
    suite = load_suite(ledger, "mini", Registry())
    if waived:
        waiver = Waiver(task="first", row=Row.LEAK, reason="It is the point of the task.")
        suite = replace(suite, waivers=(waiver,))
    plan = replace(
        a_plan({}, ["first"]),
        status=status,
        lock=PlannedLock(path="suites/mini/locks/1.json", sha256=sha256(file.read_bytes())),
    )
    use = PlanInUse(
        plan=plan, suite=suite, commit="", sha256="", root=ledger, cache=ledger, work=ledger
    )
    assert leaks_allowed(use, suite.tasks[0]) == allowed


# --- the suite's own words ------------------------------------------------------------------------


def test_every_kind_can_be_declared_and_its_default_is_the_models() -> None:
    declared = load_schema("suite")["properties"]["sightings"]["properties"]
    assert {kind: one["default"] for kind, one in declared.items()} == {
        kind: severity.value for kind, (severity, _) in KINDS.items()
    }
    assert {kind: one["description"] for kind, one in declared.items()} == {
        kind: said for kind, (_, said) in KINDS.items()
    }


def test_a_kind_or_a_severity_that_is_not_there_is_a_mistake() -> None:
    text = (
        "suite: mini\nprotocol: 1\ndecision: D?\nconfigurations: [a]\naccept: checks\n"
        "sightings: {test_skiped: flag, test_deleted: never}\n"
    )
    document, _ = parse_document(text, "suite.yaml")
    assert document is not None
    told = " ".join(map(str, check_schema(document, load_schema("suite"))))
    assert "test_skipped" in told
    assert "never" in told


def test_a_suite_without_the_key_has_the_defaults(ledger: Path) -> None:
    assert load_suite(ledger, "mini", Registry()).severities == {}
