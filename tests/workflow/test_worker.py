from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.test_eval import trials
from tests.conftest import git, trialbook


def with_agent(
    ledger: Path, code: str, *, limits: str = "", checks: str | None = None, more: str = ""
) -> None:
    """Make `good` an agent that runs some Python, and maybe the first task's checks others."""
    path = ledger / "suites/mini/configurations/good.yaml"
    path.write_text(
        "configuration: good\nagent: command\n"
        + more
        + (f"limits: {limits}\n" if limits else "")
        + "with:\n  argv:\n    - '{python}'\n    - '-c'\n    - |\n"
        + "".join(
            f"      {line}\n" for line in code.replace("{", "{{").replace("}", "}}").splitlines()
        )
    )
    if checks is not None:
        (ledger / "suites/mini/tasks/first/checks.yaml").write_text(checks)


def outcome_of(ledger: Path, *options: str) -> dict[str, object]:
    trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1", *options)
    (record,) = trials(ledger).values()
    return record


def test_an_agent_that_changes_nothing_ends_as_no_change(ledger: Path) -> None:
    with_agent(ledger, "pass")
    assert outcome_of(ledger)["outcome"] == "no_change"


def test_an_agent_that_exits_with_an_error_is_an_agent_error_and_not_graded(ledger: Path) -> None:
    with_agent(ledger, "open('answer.txt', 'w').write('first 1')\nraise SystemExit(3)")
    record = outcome_of(ledger)
    assert record["outcome"] == "agent_error"
    assert record["grades"] == []
    assert record["attempts"][0]["process"]["exit_code"] == 3  # type: ignore[index]


@pytest.mark.slow
def test_a_timeout_is_graded_anyway_and_stays_a_timeout(ledger: Path) -> None:
    code = "open('answer.txt', 'w').write('first 1')\nimport time\ntime.sleep(60)"
    with_agent(ledger, code, limits="{minutes: 0.02, grace_seconds: 0.2}")
    record = outcome_of(ledger)
    assert record["outcome"] == "agent_timeout"
    assert record["graded_anyway"] is True
    assert record["grades"][0]["accepted"] is True  # type: ignore[index]


@pytest.mark.slow
def test_a_plan_may_let_a_passing_artifact_count_after_the_limit(ledger: Path) -> None:
    code = "open('answer.txt', 'w').write('first 1')\nimport time\ntime.sleep(60)"
    with_agent(ledger, code, limits="{minutes: 0.02, grace_seconds: 0.2}")
    path = ledger / "suites/mini/suite.yaml"
    path.write_text(path.read_text() + "limits_are_failures: false\n")
    record = outcome_of(ledger)
    assert record["outcome"] == "accepted"
    assert record["graded_anyway"] is True


def test_a_missing_executable_is_our_failure_and_not_the_agents(ledger: Path) -> None:
    path = ledger / "suites/mini/configurations/good.yaml"
    path.write_text("configuration: good\nagent: command\nwith:\n  argv: [no-such-program-here]\n")
    record = outcome_of(ledger)
    assert record["outcome"] == "environment_failure"
    assert "no-such-program-here" in str(record["reason"])


def test_an_environment_failure_is_rerun_when_the_suite_says_so(ledger: Path) -> None:
    path = ledger / "suites/mini/configurations/good.yaml"
    path.write_text("configuration: good\nagent: command\nwith:\n  argv: [no-such-program-here]\n")
    suite = ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text() + "rerun: {environment_failure: 1}\n")
    trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    records = trials(ledger)
    names = {path.rsplit("/", 1)[1]: record for path, record in records.items()}
    assert set(names) == {"r1", "r1.rerun1"}
    assert names["r1.rerun1"]["replaces"] == "first/good/r1"
    assert names["r1.rerun1"]["rerun_reason"] == "environment_failure"


def test_a_check_that_cannot_be_evaluated_is_a_grader_failure(ledger: Path) -> None:
    checks = (
        "checks:\n  - {id: runs, question: q, type: command_succeeds, run: [no-such-program]}\n"
    )
    with_agent(ledger, "open('answer.txt', 'w').write('x')", checks=checks)
    assert outcome_of(ledger)["outcome"] == "grader_failure"


def test_a_file_above_the_limit_is_listed_and_seen_by_the_checks(ledger: Path) -> None:
    checks = "checks:\n  - {id: scope, question: q, type: changed_only, paths: [answer.txt]}\n"
    with_agent(
        ledger,
        "open('big.bin', 'wb').write(bytes(2_000_000))",
        limits="{file_mb: 1}",
        checks=checks,
    )
    record = outcome_of(ledger)
    assert record["outcome"] == "rejected"
    (omitted,) = record["change"]["omitted"]  # type: ignore[index]
    assert omitted["path"] == "big.bin"
    assert omitted["bytes"] == 2_000_000


def test_the_agent_sees_nothing_of_the_operator_or_the_ledger(ledger: Path) -> None:
    code = (
        "import os, pathlib\n"
        "found = [f'{k}={v}' for k, v in sorted(os.environ.items())]\n"
        "room = pathlib.Path('..').resolve()\n"
        "found += [str(p) for p in room.rglob('*') if '.git/' not in str(p)]\n"
        "found += [pathlib.Path(f'/proc/{os.getppid()}/cmdline').read_text()]\n"
        "open('answer.txt', 'w').write('first 1\\n' + '\\n'.join(found))"
    )
    with_agent(ledger, code)
    outcome_of(ledger)
    (name,) = [
        name
        for name in git(ledger, "ls-tree", "-r", "--name-only", "HEAD", "runs").splitlines()
        if name.endswith("change.patch")
    ]
    seen = git(ledger, "show", f"HEAD:{name}")
    for secret in ("ledger", "private", "checks", "mini", "suites", "good"):
        assert secret not in seen.replace("diff --git", ""), secret


def test_a_daemon_of_the_agent_is_gone_when_the_trial_is_on_record(
    ledger: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "daemon"
    code = (
        "import os, time\n"
        "open('answer.txt', 'w').write('first 1')\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        open({str(mark)!r}, 'w').write(str(os.getpid()))\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "time.sleep(0.3)"
    )
    # Without a sandbox: one that has a process namespace ends daemons without counting them.
    with_agent(ledger, code, more="sandbox: none\n")
    record = outcome_of(ledger)
    assert record["attempts"][0]["process"]["leftover_processes"] == 1  # type: ignore[index]
    assert not Path(f"/proc/{mark.read_text()}").exists()


def test_a_hostile_name_among_the_artifacts_does_not_stop_the_record(ledger: Path) -> None:
    code = (
        "import pathlib\n"
        "out = pathlib.Path('../output').resolve()\n"
        "open('answer.txt', 'w').write('first 1')\n"
        "for name in ('.gitattributes', 'new\\nline', '.git', 'fine.txt'):\n"
        "    (out / name).write_text('x')\n"
        "(out / 'link').symlink_to('/etc/passwd')\n"
    )
    with_agent(ledger, code)
    record = outcome_of(ledger, "--sandbox", "none")
    assert record["outcome"] == "accepted"
    names = {name.rsplit("/", 1)[-1] for name in record["artifacts"]}  # type: ignore[attr-defined]
    assert "fine.txt" in names
    assert not names & {".gitattributes", "new\nline", ".git", "link"}
