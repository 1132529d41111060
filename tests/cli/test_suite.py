from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from tests.conftest import trialbook

from trialbook.registry import Registry
from trialbook.storage.scaffold import new_suite


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return trialbook(cwd, *arguments, check=None)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    (tmp_path / "suites").mkdir()
    new_suite(tmp_path, "ex", Registry())
    return tmp_path


def test_a_clean_suite_is_said_in_one_line_and_where_its_lock_is_in_another(ledger: Path) -> None:
    done = run("suite", "check", "ex", cwd=ledger / "suites/ex/tasks")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "suite ex: 1 task, 2 configurations, protocol 1: no problems"
    assert lines[1].startswith("lock: none, so runs are drafts; ")
    assert lines[1].endswith(" suite lock ex")
    assert len(lines) == 2


def test_mistakes_end_with_status_2_one_a_line(ledger: Path) -> None:
    file = ledger / "suites/ex/suite.yaml"
    file.write_text(file.read_text().replace("accept", "acept").replace("[baseline", "[baselin"))
    done = run("suite", "check", "ex", cwd=ledger)
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("suites/ex/suite.yaml:5:1: the key `accept` is missing; add")
    assert lines[1] == (
        "suites/ex/suite.yaml:15:18: there is no configuration `baselin`; did you mean `baseline`?"
    )
    assert lines[-1] == f"{len(lines) - 1} problems to fix"


def test_the_check_speaks_json(ledger: Path) -> None:
    done = run("suite", "check", "ex", "--json", cwd=ledger)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "suite": "ex",
        "ok": True,
        "problems": [],
        "protocol": 1,
        "tasks": ["greet-strangers"],
        "configurations": ["baseline", "candidate"],
        "lock": {
            "path": None,
            "sha256": None,
            "draft_because": "protocol 1 of the suite is not locked",
            "differing": [],
            "uncommitted": [],
        },
    }
    file = ledger / "suites/ex/suite.yaml"
    file.write_text(file.read_text() + "x: 1\n")
    done = run("suite", "check", "ex", "--json", cwd=ledger)
    assert done.returncode == 2
    found = json.loads(done.stdout)
    assert found["ok"] is False
    assert found["problems"][0]["path"] == "suites/ex/suite.yaml"
    assert found["problems"][0]["column"] == 1
    assert found["problems"][0]["message"] == "unknown key `x`"


def test_an_unknown_suite_is_a_mistake(ledger: Path) -> None:
    done = run("suite", "check", "ax", cwd=ledger)
    assert done.returncode == 2
    assert done.stderr == "error: there is no suite named 'ax'\nhint: here are: ex\n"


def test_new_prints_what_it_made_and_what_comes_next(ledger: Path) -> None:
    done = run("suite", "new", "refunds", cwd=ledger)
    assert done.returncode == 0
    assert "suites/refunds/suite.yaml" in done.stdout.splitlines()
    assert all((ledger / line).is_file() for line in done.stdout.splitlines())
    assert "trialbook eval refunds" in done.stderr
    again = run("suite", "new", "refunds", cwd=ledger)
    assert (again.returncode, again.stdout) == (2, "")
    assert "is there already" in again.stderr


def test_a_new_task_passes_the_check(ledger: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    done = run("task", "new", "ex", "prices", "--snapshot-folder", "shop", cwd=ledger)
    assert done.returncode == 0, done.stderr
    assert "suites/ex/tasks/prices/snapshot/a.py" in done.stdout.splitlines()
    assert "brief.md" in done.stderr
    assert run("suite", "check", "ex", cwd=ledger).returncode == 0


def test_options_that_contradict_each_other_are_refused(ledger: Path) -> None:
    for options, words in (
        (("--git", ".", "--package", "a==1"), "only one of"),
        (("--commit", "1" * 40), "belongs to --git"),
        (("--sha256", "1" * 64), "--sha256 to --package"),
        (("--package", "a==1"), "needs the sha256"),
    ):
        done = run("task", "new", "ex", "two", *options, cwd=ledger)
        assert done.returncode == 2
        assert words in done.stderr
    assert not (ledger / "suites/ex/tasks/two").exists()


@pytest.mark.parametrize(
    "words",
    [
        *("suite", "suite check", "suite lock", "suite bump", "suite new"),
        *("task", "task new", "compare"),
    ],
)
def test_every_command_has_help_with_an_example(tmp_path: Path, words: str) -> None:
    done = run(*words.split(), "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "Example: trialbook " in done.stdout


POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)


def test_the_check_looks_through_snapshots_as_a_run_does(ledger: Path) -> None:
    task = ledger / "suites/ex/tasks/greet-strangers"
    folder = task / "snapshot"
    (folder / "large.bin").write_text(POINTER)
    (folder / "away").symlink_to("/etc/passwd")
    (folder / "Case.txt").write_text("a")
    (folder / "case.txt").write_text("b")
    done = run("suite", "check", "ex", cwd=ledger)
    assert done.returncode == 2
    [line, total] = done.stderr.splitlines()
    assert total == "1 problem to fix"
    text = (task / "task.yaml").read_text().splitlines()
    number = next(n for n, one in enumerate(text, 1) if one.startswith("snapshot:"))
    assert line.startswith(f"suites/ex/tasks/greet-strangers/task.yaml:{number + 1}:3: ")
    for told in ("large.bin", "away -> /etc/passwd", "Case.txt / case.txt", "`lfs: pointers_only`"):
        assert told in line
    for name in ("large.bin", "away", "Case.txt"):
        (folder / name).unlink()
    (folder / "sub/.git").mkdir(parents=True)
    (folder / "sub/.git/HEAD").write_text("ref: refs/heads/main\n")
    os.mkfifo(folder / "pipe")
    line = run("suite", "check", "ex", cwd=ledger).stderr.splitlines()[0]
    assert "sub/.git: a .git component" in line
    assert "pipe: a named pipe" in line


def test_a_run_names_the_task_and_its_file_when_it_refuses_a_snapshot(ledger: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=ledger, check=True)
    (ledger / "suites/ex/tasks/greet-strangers/snapshot/large.bin").write_text(POINTER)
    done = run("eval", "ex", cwd=ledger)
    assert done.returncode == 2
    where = "suites/ex/tasks/greet-strangers/task.yaml: the task greet-strangers: "
    assert where in done.stderr
    assert "large.bin" in done.stderr


def test_the_check_looks_through_archives_commits_and_instructions(ledger: Path) -> None:
    task = ledger / "suites/ex/tasks/greet-strangers"
    (task / "snapshot/large.bin").write_text(POINTER)
    packed = ledger / "suites/ex/snapshot.tar"
    with tarfile.open(packed, "w") as archive:
        archive.add(task / "snapshot", "top")
    digest = hashlib.sha256(packed.read_bytes()).hexdigest()
    written = (task / "task.yaml").read_text()
    declared = "snapshot:\n  folder: snapshot\n"
    assert declared in written
    archived = f"snapshot: {{archive: ../../snapshot.tar, sha256: {digest}}}\n"
    (task / "task.yaml").write_text(written.replace(declared, archived))
    assert "large.bin" in run("suite", "check", "ex", cwd=ledger).stderr
    repository = ledger / "code"
    shutil.copytree(task / "snapshot", repository)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    head = (repository / ".git/refs/heads/main").read_text().strip()
    committed = f"snapshot: {{git: ../../../../code, commit: {head}}}\n"
    (task / "task.yaml").write_text(written.replace(declared, committed))
    assert "large.bin" in run("suite", "check", "ex", cwd=ledger).stderr
    allowed = committed.replace("}", ", lfs: pointers_only}")
    (task / "task.yaml").write_text(written.replace(declared, allowed))
    assert run("suite", "check", "ex", cwd=ledger).stderr == ""
    for folder in (ledger / "suites/ex/instructions").iterdir():
        os.mkfifo(folder / "pipe")
    told = run("suite", "check", "ex", cwd=ledger).stderr
    assert "suites/ex/configurations/" in told


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "protocol: 1",
            f"protocol: {'9' * 26}",
            "`protocol` is too large a number; it may have",
        ),
        ("repetitions: 3", "repetitions: 1e3", "`repetitions` must be a whole number"),
        ("repetitions: 3", "repetitions: 1.0", "`repetitions` must be a whole number, not `1.0`;"),
        ("decision: Can", 'decision: "\\0" # Can', "a text may not hold the character U+0000; rem"),
        ("accept: checks", "accept: checks\0", "the character U+0000 may not stand in it; remove"),
        (
            "[baseline, candidate]",
            "[baseline, candidat]",
            "there is no configuration `candidat`;",
        ),
    ],
)
def test_one_mistake_is_said_once_and_for_what_it_is(
    ledger: Path, before: str, after: str, said: str
) -> None:
    file = ledger / "suites/ex/suite.yaml"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    [line, _] = run("suite", "check", "ex", cwd=ledger).stderr.splitlines()
    assert said in line


@pytest.mark.slow
def test_what_stands_in_the_place_of_a_file_is_said(ledger: Path) -> None:
    brief = ledger / "suites/ex/tasks/greet-strangers/brief.md"
    brief.unlink()

    def told() -> str:
        return run("suite", "check", "ex", cwd=ledger).stderr.splitlines()[0]

    assert "there is no file" in told()
    brief.symlink_to("brief.md")
    assert "brief.md` is a link that leads to itself, not a file; put the file itself" in told()
    brief.unlink()
    brief.symlink_to("nowhere")
    assert "is a link that leads to nothing" in told()
    brief.unlink()
    os.mkfifo(brief)
    assert "is a named pipe" in told()
    brief.unlink()
    brief.mkdir()
    assert "is a folder, not a file" in told()


def test_a_brief_that_fits_into_no_argument_is_refused_before_any_trial(ledger: Path) -> None:
    (ledger / "suites/ex/configurations/baseline.yaml").write_text(
        "configuration: baseline\nagent: command\n"
        'with: {prompt: argument, argv: [my-agent, "--prompt={prompt}"]}\n'
    )
    brief = ledger / "suites/ex/tasks/greet-strangers/brief.md"
    longest = 32 * 4096 - 1 - len("--prompt=")
    brief.write_text("x" * longest)
    assert run("suite", "check", "ex", cwd=ledger).returncode == 0
    brief.write_text("x" * (longest + 1))
    for words in (("suite", "check", "ex"), ("eval", "ex")):
        [line, _] = run(*words, cwd=ledger).stderr.splitlines()
        assert line.startswith("suites/ex/configurations/baseline.yaml:3:1: the brief of task ")
        assert f"{longest + 1} bytes, and {longest} fit; give it with `prompt: file`" in line
