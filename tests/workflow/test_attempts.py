"""A workflow of two attempts, from what is declared to the record, with real processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_eval import run_folder, trials
from tests.conftest import git, trialbook, write_files

from trialbook.formats.authored import parse_document
from trialbook.formats.schema import check_schema, load_schema

ANSWER = "open('answer.txt', 'w').write('first 1')\n"
WRONG = "open('other.txt', 'w').write('no answer')\n"
CRASH = "raise SystemExit(3)\n"
NOTHING = "pass\n"
LOOK = (
    "import os, sys\n"
    "seen = sorted(name for name in os.listdir('.') if name != '.git')\n"
    "homes = sorted(os.listdir(os.environ['HOME']))\n"
    "open('seen.txt', 'w').write(repr((seen, homes, sys.stdin.read())))\n"
)


def run(code: str) -> dict[str, Any]:
    """Parameters of an agent that runs some Python."""
    return {"argv": ["{python}", "-c", code.replace("{", "{{").replace("}", "}}")]}


def chain(
    ledger: Path, first: str, second: str, *when: str, more: dict[str, Any] | None = None
) -> None:
    """Make `good` a workflow of two attempts; what is in ``more`` is laid over it."""
    escalate = {"when": list(when), "to": {"with": run(second)}, "workspace": "carried"}
    written: dict[str, Any] = {
        "configuration": "good",
        "agent": "command",
        "with": run(first),
        **(more or {}),
    }
    written["escalate"] = {**escalate, **written.get("escalate", {})}
    path = ledger / "suites/mini/configurations/good.yaml"
    path.write_text(json.dumps(written, indent=1))


def outcome_of(ledger: Path, *options: str) -> dict[str, Any]:
    trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1", *options)
    (record,) = trials(ledger).values()
    return record


def kept(ledger: Path, name: str) -> str:
    (path,) = [path for path in trials(ledger) if path.endswith("first/good/r1")]
    return git(ledger, "show", f"HEAD:{path}/{name}")


def verify(ledger: Path, check: int = 0) -> str:
    done = trialbook(ledger, "verify", check=check)
    return done.stdout + done.stderr


def test_checks_that_fail_call_for_a_second_attempt_which_decides(ledger: Path) -> None:
    chain(ledger, WRONG, ANSWER, "checks_fail")
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    first, second = record["attempts"]
    assert first["after"]["escalated"] is True
    assert first["after"]["held"] == ["checks_fail"]
    (said,) = first["after"]["checks"]
    assert (said["grader"], said["accepted"], said["passed"], said["total"]) == (
        "checks",
        False,
        1,
        2,
    )
    answers = json.loads(kept(ledger, "sessions/1/attempt-1/checks-checks.json"))
    assert [(one["id"], one["passed"]) for one in answers["checks"]] == [
        ("answered", False),
        ("readme-kept", True),
    ]
    assert second["after"] is None
    assert second["workspace"] == "carried"
    assert [one["configuration"] for one in record["attempts"]] == ["good", "good.second"]
    assert [one["name"] for one in record["stages"]] == [
        "prepare",
        *("agent", "capture", "check"),
        *("prepare", "agent", "capture", "grade"),
    ]
    verify(ledger)


def test_an_agent_error_calls_for_a_second_attempt(ledger: Path) -> None:
    chain(ledger, ANSWER + CRASH, NOTHING, "agent_error")
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    assert [one["outcome"] for one in record["attempts"]] == ["agent_error", None]
    assert record["attempts"][0]["after"]["held"] == ["agent_error"]


def test_no_change_calls_for_a_second_attempt(ledger: Path) -> None:
    chain(ledger, NOTHING, ANSWER, "no_change")
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    assert [one["outcome"] for one in record["attempts"]] == ["no_change", None]


@pytest.mark.slow
def test_a_limit_of_its_own_ends_the_first_attempt_and_not_the_trial(ledger: Path) -> None:
    chain(
        ledger,
        "import time\ntime.sleep(60)",
        ANSWER,
        "limit_reached",
        more={
            "limits": {"grace_seconds": 0.2},
            "escalate": {"first_limits": {"minutes": 0.02}},
        },
    )
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    assert record["graded_anyway"] is False
    assert record["attempts"][0]["outcome"] == "agent_timeout"
    verify(ledger)


@pytest.mark.slow
def test_a_limit_of_the_whole_trial_leaves_nothing_to_a_second_attempt(ledger: Path) -> None:
    limits = {"minutes": 0.02, "grace_seconds": 0.2}
    chain(ledger, "import time\ntime.sleep(60)", ANSWER, "limit_reached", more={"limits": limits})
    record = outcome_of(ledger)
    assert record["outcome"] == "agent_timeout"
    (only,) = record["attempts"]
    assert only["after"]["escalated"] is False
    assert only["after"]["reason"] == (
        "a limit is reached, but the trial's 0.02 minutes are used up"
    )
    verify(ledger)


@pytest.mark.parametrize(
    ("first", "declared", "outcome"),
    [
        (WRONG, "agent_error", "rejected"),
        (CRASH, "no_change", "agent_error"),
        (NOTHING, "checks_fail", "no_change"),
    ],
)
def test_what_is_not_declared_calls_for_nothing(
    ledger: Path, first: str, declared: str, outcome: str
) -> None:
    chain(ledger, first, ANSWER, declared)
    record = outcome_of(ledger)
    assert record["outcome"] == outcome
    (only,) = record["attempts"]
    assert only["after"]["escalated"] is False
    assert only["after"]["held"] == []


def test_a_first_attempt_that_passes_is_the_only_one(ledger: Path) -> None:
    chain(ledger, ANSWER, CRASH, "checks_fail", "agent_error", "no_change")
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    (only,) = record["attempts"]
    assert only["after"]["reason"] == (
        "none of what was declared holds: 2 of 2 visible checks pass"
    )
    verify(ledger)


def test_when_both_attempts_fail_the_last_one_says_how(ledger: Path) -> None:
    chain(ledger, WRONG, CRASH, "checks_fail")
    record = outcome_of(ledger)
    assert record["outcome"] == "agent_error"
    assert len(record["attempts"]) == 2
    assert record["change"]["files"] == 1
    verify(ledger)


def test_a_carried_workspace_has_what_was_left_and_nothing_else_of_it(ledger: Path) -> None:
    first = WRONG + "import os\nopen(os.environ['HOME'] + '/notes', 'w').write('x')\n"
    chain(ledger, first, LOOK + ANSWER, "checks_fail")
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    assert record["change"]["files"] == 3
    patch = kept(ledger, "change.patch")
    assert "(['README.md', 'other.txt'], [], 'Write first into answer.txt.\\n')" in patch


def test_a_fresh_workspace_has_nothing_of_the_first_attempt(ledger: Path) -> None:
    chain(ledger, WRONG, LOOK + ANSWER, "checks_fail", more={"escalate": {"workspace": "fresh"}})
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    assert record["attempts"][1]["workspace"] == "fresh"
    assert "(['README.md'], [], " in kept(ledger, "change.patch")
    assert "other.txt" not in kept(ledger, "change.patch")
    left = record["attempts"][0]["change"]
    assert (left["files"], left["insertions"]) == (1, 1)
    assert "other.txt" in kept(ledger, "sessions/1/attempt-1/change.patch")
    verify(ledger)


def test_a_second_attempt_may_be_told_what_the_checks_say(ledger: Path) -> None:
    chain(ledger, WRONG, LOOK + ANSWER, "checks_fail", more={"escalate": {"tell": "checks"}})
    outcome_of(ledger)
    prompt = kept(ledger, "sessions/1/attempt-2/prompt.md")
    assert prompt.startswith("Write first into answer.txt.\n\n---\n\nThere was an attempt")
    assert "- Is there an answer?" in prompt
    assert "readme" not in prompt
    assert kept(ledger, "sessions/1/attempt-1/prompt.md") == "Write first into answer.txt.\n"
    seen = kept(ledger, "change.patch")
    assert "Is there an answer?" in seen


def recordings(ledger: Path, **usage: str | None) -> None:
    """Two recordings of the first task, the second with the answer, with what they used."""
    for name, said in usage.items():
        folder = f"suites/mini/{name}"
        overlay = "overlay/answer.txt" if name == "strong" else "overlay/other.txt"
        write_files(ledger, {f"{folder}/{overlay}": "first 1\n"})
        if said is not None:
            write_files(ledger, {f"{folder}/usage.json": said})
    chain(ledger, "", "", "checks_fail")
    written = {
        "configuration": "good",
        "agent": "replay",
        "files": "cheap",
        "escalate": {
            "when": ["checks_fail"],
            "to": {"files": "strong"},
            "workspace": "fresh",
        },
    }
    (ledger / "suites/mini/configurations/good.yaml").write_text(json.dumps(written))


@pytest.mark.slow
def test_all_attempts_are_charged_to_the_trial(ledger: Path) -> None:
    recordings(
        ledger,
        cheap='{"input_tokens": 100, "output_tokens": 10, "turns": 3, "cost_usd": "0.01"}',
        strong='{"input_tokens": 50, "output_tokens": 20, "turns": 2, "cost_usd": "0.25"}',
    )
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    usage = record["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["turns"]) == (150, 30, 5)
    assert (usage["cost_usd"], usage["basis"]) == ("0.26", "recorded")
    verify(ledger)
    name = run_folder(ledger).rpartition("/")[2]
    report = trialbook(ledger, "report", name).stdout
    assert "## Attempts" in report
    assert "| `good` | 1/1 | 0/0 | 1/1 | \\$0.01 (recorded) | \\$0.25 (recorded) |" in report
    assert "$0.26" in report
    assert "a second attempt with good.second (replay) when visible checks fail" in report
    shown = " ".join(trialbook(ledger, "show", f"{name}/first/good/r1").stdout.split())
    assert "cost $0.26 (recorded)" in shown
    assert "attempt 1: good" in shown
    assert "then another one followed: visible checks fail" in shown
    trialbook(ledger, "site", "build")
    (page,) = (ledger / "site/_build").rglob("first/good/r1*.html")
    text = page.read_text()
    assert "Attempt 2: good.second" in text
    assert "another one followed" in text


def test_what_one_attempt_does_not_tell_is_not_known_of_the_trial(ledger: Path) -> None:
    recordings(ledger, cheap='{"cost_usd": "0.01", "turns": 3}', strong=None)
    record = outcome_of(ledger)
    assert record["usage"]["cost_usd"] is None
    assert record["usage"]["basis"] == "unknown"
    name = run_folder(ledger).rpartition("/")[2]
    shown = trialbook(ledger, "show", f"{name}/first/good/r1").stdout
    assert "unknown; $0.01 (recorded) is known, of attempt 1" in " ".join(shown.split())


def test_a_named_configuration_is_what_the_second_attempt_runs_with(ledger: Path) -> None:
    (ledger / "suites/mini/configurations/strong.yaml").write_text(
        json.dumps(
            {"configuration": "strong", "agent": "command", "model": "m", "with": run(ANSWER)}
        )
    )
    chain(ledger, WRONG, "", "checks_fail", more={"escalate": {"to": "strong"}})
    record = outcome_of(ledger)
    assert [one["configuration"] for one in record["attempts"]] == ["good", "strong"]
    assert record["agent"]["model"] == "m"
    plan = json.loads(git(ledger, "show", f"HEAD:{run_folder(ledger)}/plan.json"))
    planned = plan["configurations"]["good"]
    assert planned["escalation"]["to"]["model"] == "m"
    assert "suites/mini/configurations/strong.yaml" in planned["files"]
    assert plan["tasks"]["first"]["visible"] == ["checks"]
    for kind, value in (("plan", plan), ("trial", record)):
        document, _ = parse_document(json.dumps(value), kind)
        assert document is not None
        assert check_schema(document, load_schema(kind)) == []
    verify(ledger)


HIDDEN = """\
task: first
snapshot: {folder: snapshot}
brief: brief.md
graders:
  - checks: checks.yaml
  - acceptance: {run: pytest, tests: private/tests, expect: private/expected.json}
"""
HIDDEN_TEST = """\
def test_it():
    assert open("answer.txt").read() == "right"


def test_sentinel():
    raise AssertionError
"""
EXPECTED = """\
{"passed": ["test_hidden::test_it"], "must_fail": ["test_hidden::test_sentinel"]}
"""


def hide(ledger: Path) -> None:
    """Give the first task a hidden acceptance test, which the suite asks for."""
    task = "suites/mini/tasks/first"
    write_files(
        ledger,
        {
            f"{task}/task.yaml": HIDDEN,
            f"{task}/private/tests/test_hidden.py": HIDDEN_TEST,
            f"{task}/private/expected.json": EXPECTED,
        },
    )
    suite = ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text().replace("accept: checks", "accept: acceptance and checks"))
    second = ledger / "suites/mini/tasks/second"
    subprocess.run(["rm", "-r", str(second)], check=True)


def test_hidden_tests_never_call_for_a_second_attempt(ledger: Path) -> None:
    hide(ledger)
    chain(ledger, ANSWER, CRASH, "checks_fail", "agent_error", "no_change", "limit_reached")
    record = outcome_of(ledger)
    assert record["outcome"] == "rejected"
    (only,) = record["attempts"]
    assert [one["grader"] for one in only["after"]["checks"]] == ["checks"]
    assert [one["grader"] for one in record["grades"]] == ["checks", "acceptance"]


def test_a_task_with_hidden_tests_only_cannot_wait_for_its_checks(ledger: Path) -> None:
    hide(ledger)
    task = ledger / "suites/mini/tasks/first/task.yaml"
    task.write_text(task.read_text().replace("  - checks: checks.yaml\n", ""))
    suite = ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text().replace("acceptance and checks", "acceptance"))
    chain(ledger, ANSWER, ANSWER, "checks_fail")
    done = trialbook(ledger, "suite", "check", "mini", check=2)
    assert "there are no checks that an agent may know in task first" in done.stdout + done.stderr


def test_checks_in_a_private_file_are_hidden_too(ledger: Path) -> None:
    task = ledger / "suites/mini/tasks/first"
    (task / "private").mkdir()
    (task / "checks.yaml").rename(task / "private/checks.yaml")
    (task / "checks.yaml").symlink_to("private/checks.yaml")
    chain(ledger, WRONG, ANSWER, "checks_fail")
    done = trialbook(ledger, "suite", "check", "mini", check=2)
    assert "there are no checks that an agent may know in task first" in done.stdout + done.stderr


def test_checks_without_an_answer_make_the_trial_no_result(ledger: Path) -> None:
    (ledger / "suites/mini/tasks/first/checks.yaml").write_text(
        "checks:\n  - {id: runs, question: q, type: command_succeeds, run: [no-such-program]}\n"
    )
    chain(ledger, WRONG, ANSWER, "checks_fail")
    record = outcome_of(ledger)
    assert record["outcome"] == "environment_failure"
    assert "whether to escalate is not known" in record["reason"]
    assert len(record["attempts"]) == 1


@pytest.mark.slow
def test_secrets_are_taken_out_of_what_a_first_attempt_left(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hunter2-and-more-of-it")
    first = "import os\nopen('other.txt', 'w').write('key ' + os.environ['TOKEN'] + '\\n')\n"
    second = ANSWER + "import os\nprint(os.environ['TOKEN'])\nos.remove('other.txt')\n"
    chain(ledger, first, second, "checks_fail", more={"secrets": ["TOKEN"]})
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    assert record["attempts"][0]["change"]["redacted"] is True
    assert record["change"]["redacted"] is False
    assert "[redacted:TOKEN]" in kept(ledger, "sessions/1/attempt-1/change.patch")
    assert "[redacted:TOKEN]" in kept(ledger, "sessions/1/attempt-2/stdout.txt")
    assert "hunter2" not in git(ledger, "log", "-p", "--all")
    verify(ledger)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "code"),
    [
        ("trial.json", '"turns": 3', '"turns": 2', "attempt-differs"),
        ("trial.json", '"escalated": true', '"escalated": false', "attempt-differs"),
        ("trial.json", '"accepted": false', '"accepted": true', "grade-differs"),
        ("sessions/1/attempt-1/checks-checks.json", "false", "true", "grade-differs"),
        ("sessions/1/attempt-1/change.patch", "+first 1", "+first 2", "patch-tree-differs"),
    ],
)
def test_verification_finds_what_was_edited_in_an_attempt(
    ledger: Path, file: str, old: str, new: str, code: str
) -> None:
    recordings(ledger, cheap='{"turns": 3}', strong='{"turns": 4}')
    outcome_of(ledger)
    (path,) = trials(ledger)
    text = (ledger / path / file).read_text()
    assert old in text
    (ledger / path / file).write_text(text.replace(old, new, 1))
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "an edit")
    assert code in verify(ledger, check=1)


def start(ledger: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "trialbook", *arguments]
    with (ledger.parent / "said.txt").open("wb") as said:
        return subprocess.Popen(command, cwd=ledger, stdout=said, stderr=said)


def wait_for(path: Path, runner: subprocess.Popen[bytes]) -> None:
    for _ in range(2400):
        if path.exists():
            return
        assert runner.poll() is None, (path.parent / "said.txt").read_text()
        time.sleep(0.05)
    raise AssertionError(f"{path} did not appear")


@pytest.mark.slow
def test_cancelling_a_second_attempt_keeps_both_and_what_the_first_one_used(
    ledger: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "second"
    second = f"open({str(mark)!r}, 'w')\nimport time\ntime.sleep(120)\n"
    chain(ledger, WRONG, second, "checks_fail", more={"sandbox": "none"})
    runner = start(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    wait_for(mark, runner)
    runner.send_signal(signal.SIGINT)
    assert runner.wait(60) == 130
    (record,) = trials(ledger).values()
    assert record["outcome"] == "cancelled"
    attempts: Any = record["attempts"]
    first, last = attempts
    assert first["after"]["escalated"] is True
    assert last["end"] == "cancelled"
    verify(ledger)


@pytest.mark.slow
def test_a_run_that_is_stopped_while_checks_decide_makes_no_second_attempt(
    ledger: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "checking"
    script = f"touch {mark}; sleep 120"
    checks = {"id": "slow", "question": "q", "type": "command_succeeds"}
    (ledger / "suites/mini/tasks/first/checks.yaml").write_text(
        json.dumps({"checks": [{**checks, "run": ["sh", "-c", script]}]})
    )
    chain(ledger, WRONG, ANSWER, "checks_fail", more={"sandbox": "none"})
    runner = start(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    wait_for(mark, runner)
    runner.send_signal(signal.SIGINT)
    assert runner.wait(60) == 130
    (record,) = trials(ledger).values()
    assert (record["outcome"], record["reason"]) == (
        "cancelled",
        "the run was stopped between two attempts",
    )
    attempts: Any = record["attempts"]
    (only,) = attempts
    assert only["after"]["escalated"] is False
    verify(ledger)


@pytest.mark.slow
def test_a_killed_second_attempt_is_cancelled_and_run_again_from_the_first(
    ledger: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "second"
    second = (
        ANSWER + "import os, time\n"
        f"first = not os.path.exists({str(mark)!r})\n"
        f"open({str(mark)!r}, 'w')\n"
        "time.sleep(120 if first else 0)\n"
    )
    chain(ledger, WRONG, second, "checks_fail", more={"sandbox": "none"})
    runner = start(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    wait_for(mark, runner)
    runner.kill()
    runner.wait(30)
    trialbook(ledger, "resume", run_folder(ledger).rpartition("/")[2])
    records = {path.rsplit("/", 1)[1]: record for path, record in trials(ledger).items()}
    assert records["r1"]["outcome"] == "cancelled"
    assert records["r1.rerun1"]["outcome"] == "accepted"
    assert len(records["r1.rerun1"]["attempts"]) == 2  # type: ignore[arg-type]
    verify(ledger)


def test_trouble_on_our_side_in_a_second_attempt_is_the_trials(
    ledger: Path,
) -> None:
    # A recording that cannot be replayed is no fault of any agent.
    write_files(ledger, {"suites/mini/strong/unknown.txt": "x"})
    chain(
        ledger,
        WRONG,
        "",
        "checks_fail",
        more={"escalate": {"to": {"agent": "replay", "files": "strong"}}},
    )
    record = outcome_of(ledger)
    assert record["outcome"] == "environment_failure"
    assert [one["end"] for one in record["attempts"]] == ["finished", "environment"]
    verify(ledger)
