"""What every test gets: a home of its own, a fixed git identity, no network by accident."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.program import PROGRAM, Done


@contextmanager
def own_world(home: Path) -> Iterator[None]:
    """Within it, neither the operator's home nor git configuration nor cache is read."""
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test Person\n\temail = test@example.invalid\n"
        "[init]\n\tdefaultBranch = main\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
        patch.setenv("TRIALBOOK_CACHE", str(home / ".cache" / "trialbook"))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "NO_COLOR", "FORCE_COLOR"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True)
def _own_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every test is in a world of its own."""
    with own_world(tmp_path_factory.mktemp("home")):
        yield


@pytest.fixture
def root() -> Path:
    """The top of this repository."""
    return Path(__file__).resolve().parents[1]


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write text files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


AGENT = """\
import pathlib, sys, time
task, repetition, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
time.sleep(seconds)
pathlib.Path("answer.txt").write_text(f"{task} {repetition} {sys.stdin.read()}")
print("wrote an answer")
"""

SUITE = """\
suite: mini
protocol: 1
decision: Does the answer get written?
configurations: [good, bad]
repetitions: 2
limits: {minutes: 1}
accept: checks
"""

GOOD = """\
configuration: good
agent: command
files: driver
with:
  argv: ["{python}", "{files}/agent.py", "{task}", "{repetition}", "0"]
"""

BAD = """\
configuration: bad
agent: command
with:
  argv: ["{python}", "-c", "open('other.txt', 'w').write('nothing to see')"]
"""

TASK = """\
task: {name}
category: small-fix
snapshot: {{folder: snapshot}}
brief: brief.md
graders:
  - checks: checks.yaml
"""

CHECKS = """\
checks:
  - id: answered
    question: Is there an answer?
    type: file_contains
    file: answer.txt
    pattern: "^{name} "
  - id: readme-kept
    question: Is the readme still there?
    type: file_exists
    path: README.md
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A git repository with a ledger: suite `mini`, two tasks, two configurations."""
    folder = tmp_path / "ledger"
    suite = "suites/mini"
    files = {
        f"{suite}/suite.yaml": SUITE,
        f"{suite}/configurations/good.yaml": GOOD,
        f"{suite}/configurations/bad.yaml": BAD,
        f"{suite}/driver/agent.py": AGENT,
        "runs/README.md": "runs\n",
    }
    for name in ("first", "second"):
        task = f"{suite}/tasks/{name}"
        files |= {
            f"{task}/task.yaml": TASK.format(name=name),
            f"{task}/brief.md": f"Write {name} into answer.txt.\n",
            f"{task}/checks.yaml": CHECKS.format(name=name),
            f"{task}/snapshot/README.md": f"# {name}\n",
        }
    write_files(folder, files)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Run git as the user would, and give what it prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def trialbook(folder: Path, *arguments: str, check: int | None = 0) -> Done:
    """Run the program as a process in a folder; fail the test on any other exit status."""
    with tempfile.TemporaryDirectory(prefix="said-") as said:
        done = PROGRAM.run(folder, arguments, Path(said))
    if check is not None:
        told = f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        assert done.returncode == check, told
    return done
