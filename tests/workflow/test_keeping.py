"""What reaches the disk of a ledger, tried with whole runs in real repositories."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest
from tests.cli.test_eval import run_folder, trials
from tests.conftest import git, trialbook
from tests.workflow.test_worker import with_agent

from trialbook.errors import EnvironmentProblem
from trialbook.model.outcome import Outcome
from trialbook.model.suite import ArtifactPolicy
from trialbook.model.trial import Trial, TrialBundle
from trialbook.storage.spans import Span
from trialbook.workflow.keeping import Keeper

VALUE = "s3cr3t-value-of-some-length"
GITHUB = "ghp_" + "a1B2" * 9
ONE = ("-t", "first", "-c", "good", "-r", "1")


def with_secret(ledger: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_agent(ledger, code)
    path = ledger / "suites/mini/configurations/good.yaml"
    # Without a sandbox, since some of these agents reach out of their workspace.
    path.write_text(path.read_text() + "sandbox: none\nsecrets: [TEST_API_KEY]\n")
    monkeypatch.setenv("TEST_API_KEY", VALUE)


def state_of(ledger: Path) -> Path:
    return ledger / ".git/trialbook" / run_folder(ledger)


def only(ledger: Path) -> dict[str, object]:
    (record,) = trials(ledger).values()
    return record


def test_credentials_that_nobody_passed_in_are_taken_out_and_counted_by_kind(ledger: Path) -> None:
    code = "key = 'ghp_' + 'a1B2' * 9\nprint('token', key)\n"
    code += "open('answer.txt', 'w').write('first 1\\n' + key)"
    with_agent(ledger, code)
    trialbook(ledger, "eval", "mini", *ONE)
    record = only(ledger)
    assert record["redactions"] == {"github-token": 2}
    everything = git(ledger, "log", "-p", "--format=%B")
    assert GITHUB not in everything
    assert "token [redacted:github-token]" in everything


def test_a_redacted_patch_says_so_and_the_tree_is_the_true_one(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import os\nopen('answer.txt', 'w').write('first 1\\n' + os.environ['TEST_API_KEY'])"
    with_secret(ledger, code, monkeypatch)
    trialbook(ledger, "eval", "mini", *ONE)
    record = only(ledger)
    assert record["outcome"] == "accepted", "the true bytes were graded"
    change = record["change"]
    assert isinstance(change, dict)
    assert change["redacted"] is True
    patch = git(ledger, "show", f"HEAD:{run_folder(ledger)}/first/good/r1/change.patch")
    assert "+[redacted:TEST_API_KEY]\n" in patch
    trialbook(ledger, "verify")


def test_a_patch_without_secrets_is_not_called_redacted(ledger: Path) -> None:
    trialbook(ledger, "eval", "mini", *ONE)
    change = only(ledger)["change"]
    assert isinstance(change, dict)
    assert change["redacted"] is False


@pytest.mark.slow
def test_the_spool_of_what_could_not_be_committed_holds_no_secret(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = ledger / ".git/refs/heads/main.lock"
    # The agent, of all, locks the branch: the plan is in the ledger then, and the trial cannot be.
    code = (
        "import os\nprint(os.environ['TEST_API_KEY'])\n"
        f"open('answer.txt', 'w').write('first 1')\nopen({str(lock)!r}, 'w').close()\n"
    )
    with_secret(ledger, code, monkeypatch)
    trialbook(ledger, "eval", "mini", *ONE, check=2)
    spooled = list((ledger / ".git/trialbook/runs/mini").glob("*/spool/*"))
    assert any(b"[redacted:TEST_API_KEY]" in path.read_bytes() for path in spooled)
    for path in (ledger / ".git").rglob("*"):
        assert not path.is_file() or VALUE.encode() not in path.read_bytes(), path


def test_a_secret_in_the_name_of_a_file_is_taken_out_of_the_patch_and_the_record(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import os\nkey = os.environ['TEST_API_KEY']\nopen(key + '.txt', 'w').write('x')\n"
        "open('../output/' + key + '.log', 'w').write('x')\nos.symlink('/' + key, 'link')\n"
        "os.mkfifo('pipe-' + key)\nopen('answer.txt', 'w').write('first 1')"
    )
    with_secret(ledger, code, monkeypatch)
    trialbook(ledger, "eval", "mini", *ONE)
    assert VALUE not in git(ledger, "log", "-p", "--format=%B", "--stat")
    record = only(ledger)
    artifacts = record["artifacts"]
    assert isinstance(artifacts, dict)
    assert "sessions/1/attempt-1/redacted-TEST_API_KEY.log" in artifacts


WITHHELD = (
    "import os\nopen('answer.txt', 'w').write('first 1')\n"
    "open('data.bin', 'wb').write(bytes(range(256)) + os.environ['TEST_API_KEY'].encode())"
)


def test_a_secret_in_a_binary_file_keeps_the_trial_out_of_the_ledger(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_secret(ledger, WITHHELD, monkeypatch)
    done = trialbook(ledger, "eval", "mini", *ONE, check=2)
    assert trials(ledger) == {}
    folder = state_of(ledger) / "withheld/first/good/r1"
    assert "change.patch: the binary file data.bin holds TEST_API_KEY" in done.stderr
    assert str(folder) in done.stderr
    assert "resume" in done.stderr
    assert json.loads((folder / "trial.json").read_text())["outcome"] == "accepted"
    assert (folder / "change.patch").is_file()
    assert stat.S_IMODE((state_of(ledger) / "withheld").stat().st_mode) == 0o700
    assert all(
        stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.rglob("*") if path.is_file()
    )
    assert git(ledger, "status", "--porcelain", "runs") == ""


def test_resume_tells_of_a_withheld_trial_and_does_not_run_it_again(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_secret(ledger, WITHHELD, monkeypatch)
    trialbook(ledger, "eval", "mini", "-t", "first", "-r", "1", check=2)
    assert [path.split("/", 3)[3] for path in trials(ledger)] == ["first/bad/r1"]
    folder = state_of(ledger) / "withheld/first/good/r1"
    before = (folder / "trial.json").stat()
    run = run_folder(ledger).rsplit("/", 1)[1]
    head = git(ledger, "rev-parse", "HEAD")
    again = trialbook(ledger, "resume", run, check=2)
    assert "first/good/r1 is not in the ledger" in again.stderr
    assert (folder / "trial.json").stat() == before
    assert git(ledger, "rev-parse", "HEAD") == head


@pytest.mark.slow
def test_when_a_withheld_trial_is_removed_resume_does_it_again(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = ledger.parent / "second-time"
    code = f"import pathlib\nif pathlib.Path({str(marker)!r}).exists():\n"
    code += "    open('answer.txt', 'w').write('first 1')\n    raise SystemExit\n" + WITHHELD
    with_secret(ledger, code, monkeypatch)
    trialbook(ledger, "eval", "mini", *ONE, check=2)
    marker.write_text("")
    shutil.rmtree(state_of(ledger) / "withheld/first/good/r1")
    run = run_folder(ledger).rsplit("/", 1)[1]
    trialbook(ledger, "resume", run)
    assert only(ledger)["outcome"] == "accepted"
    assert "results.csv" in git(ledger, "ls-tree", "--name-only", f"HEAD:{run_folder(ledger)}")


def test_withheld_trials_are_in_the_json_of_the_ending(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_secret(ledger, WITHHELD, monkeypatch)
    done = trialbook(ledger, "--quiet", "eval", "mini", *ONE, "--json", check=2)
    told = json.loads(done.stdout)
    assert told["complete"] is False
    assert told["withheld"][0]["path"] == "first/good/r1"
    assert "error:" in done.stderr


def test_a_secret_that_is_a_word_of_the_record_keeps_the_trial_out(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_secret(ledger, "open('answer.txt', 'w').write('first 1')", monkeypatch)
    monkeypatch.setenv("TEST_API_KEY", "accepted")
    done = trialbook(ledger, "eval", "mini", *ONE, check=2)
    assert "the value of TEST_API_KEY is in its `outcome`" in done.stderr
    assert trials(ledger) == {}


def test_a_secret_that_is_too_short_to_be_found_is_refused_beforehand(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_secret(ledger, "pass", monkeypatch)
    monkeypatch.setenv("TEST_API_KEY", "short")
    before = git(ledger, "rev-parse", "HEAD")
    done = trialbook(ledger, "eval", "mini", *ONE, check=2)
    assert "fewer than 6 characters" in done.stderr
    assert git(ledger, "rev-parse", "HEAD") == before


@pytest.mark.slow
def test_show_and_the_site_say_what_was_taken_out(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import os\nopen('answer.txt', 'w').write('first 1\\n' + os.environ['TEST_API_KEY'])"
    with_secret(ledger, code, monkeypatch)
    trialbook(ledger, "eval", "mini", *ONE)
    run = run_folder(ledger).rsplit("/", 1)[1]
    shown = trialbook(ledger, "show", f"{run}/first/good/r1").stdout
    assert "taken out of the patch after grading" in shown
    assert "TEST_API_KEY: 1" in shown
    trialbook(ledger, "site", "build", "--output", str(ledger.parent / "site"))
    (page,) = (ledger.parent / "site").rglob("first/good/r1.html")
    assert "TEST_API_KEY (1)" in page.read_text()
    assert "no longer gives the tree that was graded" in page.read_text()


# --- the parts, without a run --------------------------------------------------------------------


def kept_of(keeper: Keeper, files: dict[str, bytes]) -> TrialBundle:
    kept = keeper.keep(files, None, [])
    record = Trial(
        run="20261130T151526Z-3f9c2d",
        suite="mini",
        protocol=1,
        status="draft",
        task="first",
        configuration="good",
        repetition=1,
        outcome=Outcome.ACCEPTED,
        reason="3 of 3 checks",
        plan_commit="0" * 40,
        plan_sha256="0" * 64,
        started="2026-11-30T15:15:26.123Z",
        finished="2026-11-30T15:15:27.123Z",
        cut=tuple(kept.cut),
    )
    return keeper.bundle(record, kept)


def test_when_the_scanner_fails_the_trial_is_withheld() -> None:
    def scan(_data: bytes) -> list[Span]:
        raise EnvironmentProblem("the scanner failed", hint="look at it")

    bundle = kept_of(Keeper({"KEY": VALUE}, ArtifactPolicy(), scan), {"a.txt": VALUE.encode()})
    assert bundle.withheld == ("the scanner failed (look at it)",)
    assert bundle.files["a.txt"] == b"[redacted:KEY]"


def test_files_whose_names_differ_only_in_what_is_secret_are_all_kept() -> None:
    files = {f"sessions/1/attempt-1/{form}.log": form.encode() for form in (VALUE, VALUE[::-1])}
    bundle = kept_of(Keeper({"A": VALUE, "B": VALUE[::-1]}, ArtifactPolicy()), files)
    assert sorted(bundle.files) == [f"sessions/1/attempt-1/redacted-{n}.log" for n in "AB"]
    forms = [VALUE, VALUE.encode().hex(), VALUE.encode().hex().upper()]
    same = {f"sessions/1/attempt-1/{form}": form.encode() for form in forms}
    bundle = kept_of(Keeper({"A": VALUE}, ArtifactPolicy()), same)
    assert len(bundle.files) == len(same)
    assert bundle.withheld == ()


def test_what_is_left_of_a_long_log_is_the_same_for_the_same_bytes() -> None:
    log = {"sessions/1/attempt-1/stdout.txt": b"line\n" * 100_000}
    one = kept_of(Keeper({}, ArtifactPolicy()), log)
    assert one == kept_of(Keeper({}, ArtifactPolicy()), log)
    assert len(one.files["sessions/1/attempt-1/stdout.txt"]) < 257_000


def test_only_logs_of_sessions_are_cut() -> None:
    long = b"line\n" * 1000
    paths = ["runner-error.txt", "sessions/1/attempt-1/trajectory.json", "grades/x.txt"]
    paths += ["sessions/1/attempt-1/prompt.md"]
    files = dict.fromkeys(paths, long) | {"sessions/1/attempt-1/data": b"\0" + long}
    bundle = kept_of(Keeper({}, ArtifactPolicy(keep_kb=1)), files)
    assert bundle.files == files
    assert bundle.record.cut == ()


def test_a_log_is_cut_although_an_agent_prints_zero_bytes() -> None:
    keeper = Keeper({}, ArtifactPolicy(keep_kb=1))
    kept = keeper.keep({"sessions/1/attempt-1/stdout.txt": b"\0" * 9000}, None, [])
    assert len(kept.cut) == 1
