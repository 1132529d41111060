from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import git, trialbook


def trials(ledger: Path) -> dict[str, dict[str, object]]:
    """Every trial record at HEAD, by its path below runs/."""
    listing = git(ledger, "ls-tree", "-r", "HEAD", "runs").splitlines()
    found = [line.split(None, 3)[2:] for line in listing if line.endswith("/trial.json")]
    done = subprocess.run(
        ["git", "cat-file", "--batch"],
        cwd=ledger,
        input="".join(f"{oid}\n" for oid, _ in found).encode(),
        check=True,
        capture_output=True,
    )
    records: dict[str, dict[str, object]] = {}
    rest = done.stdout
    for _, name in found:
        head, _, rest = rest.partition(b"\n")
        size = int(head.split()[2])
        records[name.removesuffix("/trial.json")] = json.loads(rest[:size])
        rest = rest[size + 1 :]
    return records


def run_folder(ledger: Path) -> str:
    (plan,) = [
        name
        for name in git(ledger, "ls-tree", "-r", "--name-only", "HEAD", "runs").splitlines()
        if name.endswith("/plan.json")
    ]
    return plan.removesuffix("/plan.json")


def test_eval_commits_the_plan_then_each_trial_then_the_results(ledger: Path) -> None:
    trialbook(ledger, "eval", "mini")
    subjects = git(ledger, "log", "--reverse", "--format=%s").splitlines()
    assert subjects[0] == "start"
    assert subjects[1].startswith("plan ")
    assert len(subjects) == 1 + 1 + 8 + 1
    assert sum(subject.startswith("trial ") for subject in subjects) == 8
    assert subjects[-1].startswith("results ")


def test_eval_accepts_and_rejects_by_the_checks(ledger: Path) -> None:
    trialbook(ledger, "eval", "mini")
    outcomes = {path.split("/", 3)[3]: record["outcome"] for path, record in trials(ledger).items()}
    assert outcomes == {
        f"{task}/{configuration}/r{repetition}": outcome
        for task in ("first", "second")
        for configuration, outcome in (("good", "accepted"), ("bad", "rejected"))
        for repetition in (1, 2)
    }


def test_eval_leaves_git_status_clean(ledger: Path) -> None:
    trialbook(ledger, "eval", "mini")
    assert git(ledger, "status", "--porcelain") == ""


def test_eval_leaves_the_users_own_work_as_it_was(ledger: Path) -> None:
    (ledger / "staged.txt").write_text("staged\n")
    git(ledger, "add", "staged.txt")
    (ledger / "runs/README.md").write_text("changed by hand\n")
    (ledger / "untracked.txt").write_text("untracked\n")
    before = git(ledger, "status", "--porcelain=v2")
    trialbook(ledger, "eval", "mini", "--repetitions", "1")
    assert git(ledger, "status", "--porcelain=v2") == before


def test_the_ending_names_folder_commands_and_the_next_step(ledger: Path) -> None:
    done = trialbook(ledger, "eval", "mini", "--repetitions", "1")
    folder = run_folder(ledger)
    assert folder in done.stdout
    (log,) = [line for line in done.stdout.splitlines() if "git log" in line]
    shown = git(ledger, *log.split("git ", 1)[1].split())
    assert len(shown.splitlines()) == 1 + 4 + 1
    assert f"trialbook show {folder.rsplit('/', 1)[1]}" in done.stdout
    assert "2/2" in done.stdout
    assert "0/2" in done.stdout


def test_dry_run_prints_the_plan_and_commits_nothing(ledger: Path) -> None:
    before = git(ledger, "rev-parse", "HEAD")
    done = trialbook(ledger, "eval", "mini", "--dry-run", "--json", "--seed", "20261130")
    plan = json.loads(done.stdout)
    assert plan["seed"] == "20261130"
    assert len(plan["schedule"]) == 8
    assert git(ledger, "rev-parse", "HEAD") == before
    assert git(ledger, "status", "--porcelain") == ""


def test_the_same_seed_gives_the_same_schedule(ledger: Path) -> None:
    plans = [
        json.loads(trialbook(ledger, "eval", "mini", "--dry-run", "--json", "--seed", "7").stdout)
        for _ in range(2)
    ]
    assert plans[0]["schedule"] == plans[1]["schedule"]


def test_eval_narrows_to_the_tasks_and_configurations_asked_for(ledger: Path) -> None:
    trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    assert [path.split("/", 3)[3] for path in trials(ledger)] == ["first/good/r1"]


def test_an_unknown_task_is_named_with_what_there_is(ledger: Path) -> None:
    done = trialbook(ledger, "eval", "mini", "-t", "frist", check=2)
    assert "'frist'" in done.stderr
    assert "first, second" in done.stderr


def test_eval_outside_a_ledger_says_how_to_make_one(tmp_path: Path) -> None:
    done = trialbook(tmp_path, "eval", "mini", check=2)
    assert "trialbook init" in done.stderr


def test_the_prompt_reaches_the_agent_and_its_output_is_kept(ledger: Path) -> None:
    trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    base = f"{run_folder(ledger)}/first/good/r1"
    patch = git(ledger, "show", f"HEAD:{base}/change.patch")
    assert "+first 1 Write first into answer.txt." in patch
    output = git(ledger, "show", f"HEAD:{base}/sessions/1/attempt-1/stdout.txt")
    assert output == "wrote an answer\n"


def test_a_missing_secret_is_named_before_anything_is_committed(ledger: Path) -> None:
    path = ledger / "suites/mini/configurations/good.yaml"
    path.write_text(path.read_text() + "secrets: [TEST_API_KEY]\n")
    before = git(ledger, "rev-parse", "HEAD")
    done = trialbook(ledger, "eval", "mini", check=2)
    assert "TEST_API_KEY" in done.stderr
    assert git(ledger, "rev-parse", "HEAD") == before


def test_the_value_of_a_secret_never_reaches_the_ledger(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ledger / "suites/mini/configurations/good.yaml"
    code = "import os, base64; k = os.environ['TEST_API_KEY']; open('answer.txt', 'w').write(k); "
    code += "print(k, base64.b64encode(k.encode()).decode())"
    path.write_text(
        "configuration: good\nagent: command\nsecrets: [TEST_API_KEY]\n"
        f"with:\n  argv: ['{{python}}', '-c', \"{code}\"]\n"
    )
    monkeypatch.setenv("TEST_API_KEY", "s3cr3t-value-of-some-length")
    trialbook(ledger, "eval", "mini", "-c", "good", "-r", "1")
    everything = git(ledger, "log", "-p", "--format=%B")
    assert "s3cr3t-value" not in everything
    assert "czNjcjN0LXZhbHVl" not in everything
    assert "[redacted:TEST_API_KEY]" in everything
    assert all(record["redactions"] == {"TEST_API_KEY": 3} for record in trials(ledger).values())


@pytest.mark.slow
def test_two_evals_at_once_both_land_whole(ledger: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "trialbook", "eval", "mini", "--jobs", "2"],
            cwd=ledger,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for _ in range(2)
    ]
    for process in processes:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0, out.decode()
    runs = {path.split("/")[2] for path in trials(ledger)}
    assert len(runs) == 2
    assert len(trials(ledger)) == 16
    assert len(git(ledger, "log", "--format=%H").splitlines()) == 1 + 2 * (1 + 8 + 1)
    assert git(ledger, "status", "--porcelain") == ""
    git(ledger, "fsck", "--strict")


def slow_down(ledger: Path, seconds: str) -> None:
    path = ledger / "suites/mini/configurations/good.yaml"
    path.write_text(path.read_text().replace('"0"]', f'"{seconds}"]'))
    git(ledger, "commit", "-q", "-a", "-m", "slow down")


def start_eval(ledger: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "trialbook", "eval", "mini", *arguments],
        cwd=ledger,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait_for_trials(ledger: Path, count: int) -> None:
    for _ in range(600):
        if len(git(ledger, "log", "--format=%s", "--grep=^trial").splitlines()) >= count:
            return
        time.sleep(0.05)
    raise AssertionError("no trial was committed")


@pytest.mark.slow
def test_ctrl_c_records_what_was_cut_off_and_says_how_to_resume(ledger: Path) -> None:
    slow_down(ledger, "60")
    process = start_eval(ledger, "--jobs", "2")
    wait_for_trials(ledger, 1)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err.decode()
    run = run_folder(ledger).rsplit("/", 1)[1]
    assert f"trialbook resume {run}" in out.decode()
    outcomes = [record["outcome"] for record in trials(ledger).values()]
    assert "cancelled" in outcomes
    assert git(ledger, "status", "--porcelain") == ""
    changed = ledger / "suites/mini/configurations/good.yaml"
    changed.write_text(changed.read_text().replace('"60"]', '"0"]'))
    # The file is not what the plan froze any more, so resume has to refuse, naming it.
    done = trialbook(ledger, "resume", run, check=2)
    assert "configurations/good.yaml" in done.stderr


@pytest.mark.slow
def test_resume_goes_on_after_ctrl_c_and_links_the_replacement(ledger: Path) -> None:
    slow_down(ledger, "1.5")
    process = start_eval(ledger, "--jobs", "1")
    wait_for_trials(ledger, 2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    run = run_folder(ledger).rsplit("/", 1)[1]
    before = trials(ledger)
    trialbook(ledger, "resume", run[:-2])
    after = trials(ledger)
    assert {path: after[path] for path in before} == before
    slots = {(r["task"], r["configuration"], r["repetition"]) for r in after.values()}
    assert len(slots) == 8
    cancelled = [path for path, record in after.items() if record["outcome"] == "cancelled"]
    for path in cancelled:
        replacement = after[f"{path}.rerun1"]
        assert replacement["replaces"] == path.split("/", 3)[3]
        assert replacement["rerun_reason"] == "cancelled"
    again = trialbook(ledger, "resume", run)
    assert trials(ledger) == after
    assert "8 of 8" in again.stderr


def in_flight(ledger: Path) -> list[Path]:
    return list((ledger / ".git/trialbook").rglob("in-flight/*"))


@pytest.mark.slow
def test_kill_9_at_random_moments_loses_no_finished_trial(ledger: Path) -> None:
    slow_down(ledger, "0.3")
    rounds = 34
    process = start_eval(ledger, "--jobs", "2", "--repetitions", "30", "--seed", "1")
    finished: dict[str, dict[str, object]] = {}
    killed = 0
    run = ""
    for number in range(200):
        # A spread of moments, the same in each run of the test, from before the plan to the end.
        time.sleep(0.25 + (number * 0.37) % 1.1)
        if process.poll() is not None:
            break
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        killed += 1
        now = trials(ledger)
        assert {path: now[path] for path in finished} == finished
        finished = now
        git(ledger, "fsck")
        folders = [
            n
            for n in git(ledger, "ls-tree", "-r", "--name-only", "HEAD", "runs").split()
            if n.endswith("plan.json")
        ]
        if not folders:
            process = start_eval(ledger, "--jobs", "2", "--repetitions", "30", "--seed", "1")
            continue
        run = folders[0].split("/")[2]
        if killed >= rounds:
            trialbook(ledger, "resume", run)
            break
        process = subprocess.Popen(
            [sys.executable, "-m", "trialbook", "resume", run],
            cwd=ledger,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    assert killed >= 30
    records = trials(ledger)
    assert {path: records[path] for path in finished} == finished
    slots = {(r["task"], r["configuration"], r["repetition"]) for r in records.values()}
    assert len(slots) == 2 * 2 * 30
    last = {}
    for record in sorted(records.values(), key=lambda record: int(str(record["rerun"]))):
        last[record["task"], record["configuration"], record["repetition"]] = record["outcome"]
    assert set(last.values()) == {"accepted", "rejected"}
    assert in_flight(ledger) == []
    assert git(ledger, "status", "--porcelain") == ""
    git(ledger, "fsck", "--strict")


@pytest.mark.slow
def test_an_index_that_cannot_follow_is_said_even_when_quiet_and_resume_repairs_it(
    ledger: Path,
) -> None:
    lock = ledger / ".git/index.lock"
    lock.touch()
    done = trialbook(ledger, "-q", "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    run = run_folder(ledger).rsplit("/", 1)[1]
    assert str(lock) in done.stderr.splitlines()[0]
    last = done.stderr.splitlines()[-3:]
    assert last[0].startswith("warning: the work tree or the index is not in step")
    assert "shows its files as deleted" in last[1]
    assert last[2].startswith("repair ")
    assert last[2].endswith(f"trialbook resume {run}")
    lock.unlink()
    assert "D  runs/mini/" in git(ledger, "status", "--porcelain")
    suite = ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text() + "# changed since\n")
    trialbook(ledger, "resume", run, check=2)
    git(ledger, "checkout", "suites")
    assert git(ledger, "status", "--porcelain") == ""
    assert "warning" not in trialbook(ledger, "resume", run).stderr


def test_resuming_a_closed_run_says_that_nothing_was_added(ledger: Path) -> None:
    trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    run = run_folder(ledger).rsplit("/", 1)[1]
    before = git(ledger, "rev-parse", "HEAD")
    done = trialbook(ledger, "resume", run)
    assert "nothing was added" in done.stdout
    assert "git log" not in done.stdout
    assert "git diff" not in done.stdout
    assert f"trialbook show {run}" in done.stdout
    assert git(ledger, "rev-parse", "HEAD") == before
