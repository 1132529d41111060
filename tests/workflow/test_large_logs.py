"""Long logs: both ends in git, the whole in Git LFS, and nothing cut that a grader needs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.test_eval import run_folder, trials
from tests.conftest import git, trialbook
from tests.workflow.test_worker import with_agent

from trialbook.storage.large import Pointer, read_pointer

ONE = ("-t", "first", "-c", "good", "-r", "1")
LINES = 4000
LOG = "".join(f"line {number:06d} of the log\n" for number in range(LINES)).encode()
DIGEST = hashlib.sha256(LOG).hexdigest()
STDOUT = "sessions/1/attempt-1/stdout.txt"
CODE = (
    f"print('\\n'.join(f'line {{number:06d}} of the log' for number in range({LINES})))\n"
    "open('answer.txt', 'w').write('first 1\\n' + 'x' * 50000 + '\\n')\n"
)


@pytest.fixture
def talkative(ledger: Path) -> Path:
    """A ledger whose agent prints some hundred kilobytes, of which ten are kept."""
    with_agent(ledger, CODE)
    suite = ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text() + "artifacts: {keep_kb: 10}\n")
    git(ledger, "commit", "-qam", "an agent that talks")
    return ledger


def without_sandbox(ledger: Path) -> None:
    """For agents that reach out of their workspace."""
    path = ledger / "suites/mini/configurations/good.yaml"
    path.write_text(path.read_text() + "sandbox: none\n")


def trial_folder(ledger: Path) -> str:
    return f"{run_folder(ledger)}/first/good/r1"


def content(ledger: Path, path: str) -> bytes:
    done = subprocess.run(
        ["git", "show", f"HEAD:{path}"], cwd=ledger, check=True, capture_output=True
    )
    return done.stdout


def record_of(ledger: Path) -> dict[str, object]:
    (record,) = trials(ledger).values()
    return record


def test_a_long_log_keeps_both_ends_and_the_record_says_what_is_gone(talkative: Path) -> None:
    trialbook(talkative, "eval", "mini", *ONE)
    record = record_of(talkative)
    full = f"full/{STDOUT}"
    assert record["cut"] == [{"path": STDOUT, "bytes": len(LOG), "sha256": DIGEST, "full": full}]
    log = content(talkative, f"{trial_folder(talkative)}/{STDOUT}")
    assert log.startswith(LOG[:1000])
    assert log.endswith(LOG[-1000:])
    assert 9_000 < len(log) < 10_500
    assert f"all {len(LOG)} bytes have sha256 {DIGEST}; the whole is in {full}]".encode() in log
    artifacts = record["artifacts"]
    assert isinstance(artifacts, dict)
    assert artifacts[STDOUT] == hashlib.sha256(log).hexdigest()
    assert full in artifacts


def test_the_whole_log_is_a_git_lfs_object_in_the_local_store(talkative: Path) -> None:
    trialbook(talkative, "eval", "mini", *ONE)
    pointer = content(talkative, f"{trial_folder(talkative)}/full/{STDOUT}")
    assert read_pointer(pointer) == Pointer(sha256=DIGEST, size=len(LOG))
    place = talkative / ".git/lfs/objects" / DIGEST[:2] / DIGEST[2:4] / DIGEST
    assert place.read_bytes() == LOG
    assert git(talkative, "status", "--porcelain") == ""


@pytest.mark.slow
def test_what_graders_go_by_is_never_cut(talkative: Path) -> None:
    trialbook(talkative, "eval", "mini", *ONE)
    record = record_of(talkative)
    assert record["outcome"] == "accepted"
    patch = content(talkative, f"{trial_folder(talkative)}/change.patch")
    assert b"x" * 50_000 in patch
    prompt = content(talkative, f"{trial_folder(talkative)}/sessions/1/attempt-1/prompt.md")
    assert b"left out" not in prompt


def test_json_that_programs_read_is_never_cut(talkative: Path) -> None:
    code = (
        "import json\njson.dump(['x' * 50000], open('../output/trajectory.json', 'w'))\n"
        "open('../output/events.jsonl', 'w').write('{}\\n' * 20000)\n"
    )
    with_agent(talkative, code + CODE)
    without_sandbox(talkative)
    trialbook(talkative, "eval", "mini", *ONE)
    base = f"{trial_folder(talkative)}/sessions/1/attempt-1"
    assert json.loads(content(talkative, f"{base}/trajectory.json")) == ["x" * 50000]
    cut = record_of(talkative)["cut"]
    assert isinstance(cut, list)
    assert [one["path"].rsplit("/", 1)[1] for one in cut] == ["events.jsonl", "stdout.txt"]


@pytest.mark.slow
def test_a_ledger_with_cut_logs_verifies(talkative: Path) -> None:
    trialbook(talkative, "eval", "mini", *ONE)
    done = trialbook(talkative, "verify", "--json", check=None)
    assert "cut-differs" not in done.stdout
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_secrets_are_out_before_a_log_is_cut_and_before_it_goes_to_lfs(
    talkative: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = "s3cr3t-value-of-some-length"
    with_agent(talkative, "import os\nkey = os.environ['TEST_API_KEY']\n" + CODE + "print(key)\n")
    path = talkative / "suites/mini/configurations/good.yaml"
    text = path.read_text() + "secrets: [TEST_API_KEY]\n"
    path.write_text(text.replace("print('\\n'.join(", "print(('\\n' + key + '\\n').join("))
    monkeypatch.setenv("TEST_API_KEY", value)
    trialbook(talkative, "eval", "mini", *ONE)
    assert record_of(talkative)["redactions"] == {"TEST_API_KEY": LINES}
    for file in (talkative / ".git").rglob("*"):
        assert not file.is_file() or value.encode() not in file.read_bytes()


def test_a_plan_may_keep_nothing_but_the_digest(talkative: Path) -> None:
    suite = talkative / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text().replace("keep_kb: 10", "keep_kb: 10, full: digest"))
    trialbook(talkative, "eval", "mini", *ONE)
    record = record_of(talkative)
    assert record["cut"] == [{"path": STDOUT, "bytes": len(LOG), "sha256": DIGEST, "full": None}]
    assert not (talkative / ".git/lfs").exists()
    log = content(talkative, f"{trial_folder(talkative)}/{STDOUT}")
    assert f"all {len(LOG)} bytes have sha256 {DIGEST}]".encode() in log
    plan = json.loads(content(talkative, f"{run_folder(talkative)}/plan.json"))
    assert plan["artifacts"] == {"keep_kb": 10.0, "full": "digest"}


def test_a_plan_may_keep_logs_whole(talkative: Path) -> None:
    suite = talkative / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text().replace("keep_kb: 10", "keep_kb: null"))
    trialbook(talkative, "eval", "mini", *ONE)
    assert content(talkative, f"{trial_folder(talkative)}/{STDOUT}") == LOG
    assert record_of(talkative)["cut"] == []


@pytest.mark.slow
def test_what_could_not_be_committed_is_spooled_whole_and_resume_keeps_it(talkative: Path) -> None:
    lock = talkative / ".git/refs/heads/main.lock"
    # The agent, of all, locks the branch: the plan is in the ledger then, and the trial cannot be.
    with_agent(talkative, CODE + f"open({str(lock)!r}, 'w').close()\n")
    without_sandbox(talkative)
    trialbook(talkative, "eval", "mini", *ONE, check=2)
    lock.unlink()
    shutil.rmtree(talkative / ".git/lfs")
    (run,) = [path.name for path in (talkative / ".git/trialbook/runs/mini").iterdir()]
    trialbook(talkative, "resume", run)
    assert record_of(talkative)["outcome"] == "accepted"
    place = talkative / ".git/lfs/objects" / DIGEST[:2] / DIGEST[2:4] / DIGEST
    assert place.read_bytes() == LOG


def test_mistakes_in_the_policy_are_told_with_their_place(talkative: Path) -> None:
    suite = talkative / "suites/mini/suite.yaml"
    suite.write_text(
        suite.read_text().replace("{keep_kb: 10}", "{keep_kb: -1, full: s3, keepkb: 1}")
    )
    done = trialbook(talkative, "suite", "check", "mini", check=2)
    told = done.stdout + done.stderr
    assert re.search(r"suite.yaml:\d+:\d+: .*keepkb.*keep_kb", told)
    assert "s3" in told


# --- stock git-lfs -------------------------------------------------------------------------------


def lfs(folder: Path, *arguments: str) -> str:
    """git with git-lfs, as a person has it: with its own hooks and filters."""
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_PROGRESS": ""}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def with_lfs(talkative: Path) -> Path:
    """A ledger in a repository where a person has installed git-lfs."""
    if shutil.which("git-lfs") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("git-lfs is missing on the build server: .ci/run installs it")
        pytest.skip("needs git-lfs (apt-get install git-lfs)")
    lfs(talkative, "lfs", "install", "--local")
    return talkative


@pytest.mark.slow
def test_with_git_lfs_installed_the_status_stays_clean(with_lfs: Path) -> None:
    trialbook(with_lfs, "eval", "mini", *ONE)
    assert lfs(with_lfs, "status", "--porcelain") == ""
    lfs(with_lfs, "add", "--renormalize", ".")
    assert lfs(with_lfs, "status", "--porcelain") == ""
    listed = lfs(with_lfs, "lfs", "ls-files", "--long")
    assert listed.split() == [DIGEST, "*", f"{trial_folder(with_lfs)}/full/{STDOUT}"] or (
        listed.split()[0] == DIGEST and listed.split()[2].endswith(f"full/{STDOUT}")
    )
    assert len(listed.splitlines()) == 1, "exactly the wholes of cut logs, nothing else"
    lfs(with_lfs, "lfs", "fsck")


@pytest.mark.slow
def test_stock_git_lfs_pushes_and_pulls_the_whole_log(with_lfs: Path, tmp_path: Path) -> None:
    trialbook(with_lfs, "eval", "mini", *ONE)
    remote, clone = tmp_path / "remote.git", tmp_path / "clone"
    lfs(tmp_path, "init", "--quiet", "--bare", str(remote))
    lfs(with_lfs, "push", "--quiet", remote.as_uri(), "HEAD:refs/heads/main")
    assert (remote / "lfs/objects" / DIGEST[:2] / DIGEST[2:4] / DIGEST).read_bytes() == LOG
    lfs(tmp_path, "clone", "--quiet", "--no-checkout", "-b", "main", remote.as_uri(), str(clone))
    lfs(clone, "lfs", "install", "--local", "--skip-smudge")
    lfs(clone, "checkout", "--quiet", "main")
    whole = clone / trial_folder(with_lfs) / "full" / STDOUT
    assert read_pointer(whole.read_bytes()) == Pointer(sha256=DIGEST, size=len(LOG))
    lfs(clone, "lfs", "pull")
    assert whole.read_bytes() == LOG
    assert lfs(clone, "status", "--porcelain") == ""


@pytest.mark.slow
def test_a_ledger_whose_logs_were_pulled_goes_on_with_a_clean_status(
    with_lfs: Path, tmp_path: Path
) -> None:
    trialbook(with_lfs, "eval", "mini", *ONE)
    remote, clone = tmp_path / "remote.git", tmp_path / "clone"
    lfs(tmp_path, "init", "--quiet", "--bare", str(remote))
    lfs(with_lfs, "push", "--quiet", remote.as_uri(), "HEAD:refs/heads/main")
    lfs(tmp_path, "clone", "--quiet", "-b", "main", remote.as_uri(), str(clone))
    lfs(clone, "lfs", "install", "--local")
    lfs(clone, "lfs", "pull")
    trialbook(clone, "eval", "mini", *ONE)
    assert len(lfs(clone, "lfs", "ls-files").splitlines()) == 2
    assert lfs(clone, "status", "--porcelain") == ""


# --- what people see -----------------------------------------------------------------------------


def test_show_says_how_much_there_was_and_how_to_get_at_it(talkative: Path) -> None:
    trialbook(talkative, "eval", "mini", *ONE)
    run = run_folder(talkative).rsplit("/", 1)[1]
    shown = trialbook(talkative, "show", f"{run}/first/good/r1").stdout
    assert re.search(r"stdout\.txt\s+[\d.]+ kB of [\d.]+ kB", shown)
    assert f"{trial_folder(talkative)}/full/{STDOUT} | git lfs smudge" in shown


@pytest.mark.slow
def test_the_page_of_a_trial_links_what_is_gone_and_shows_no_pointer(talkative: Path) -> None:
    trialbook(talkative, "eval", "mini", *ONE)
    trialbook(talkative, "site", "build", "--output", str(talkative.parent / "site"))
    (page,) = (talkative.parent / "site").rglob("first/good/r1.html")
    text = page.read_text()
    assert "The ledger keeps the beginning and the end of this log" in text
    assert f"full/{STDOUT}" in text
    assert "git lfs smudge" in text
    assert "version https://git-lfs" not in text


@pytest.mark.slow
def test_the_command_that_is_shown_gives_the_whole_log(with_lfs: Path) -> None:
    trialbook(with_lfs, "eval", "mini", *ONE)
    run = run_folder(with_lfs).rsplit("/", 1)[1]
    shown = trialbook(with_lfs, "show", f"{run}/first/good/r1").stdout
    (command,) = re.findall(r"git show \S+/full/\S+ \| git lfs smudge", shown)
    done = subprocess.run(command, shell=True, cwd=with_lfs, check=True, capture_output=True)
    assert done.stdout == LOG
