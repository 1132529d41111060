from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import git, trialbook


@pytest.mark.slow
def test_a_new_ledger_has_the_folders_a_makefile_and_a_suite_that_runs(tmp_path: Path) -> None:
    done = trialbook(tmp_path, "init", "our-evals")
    ledger = tmp_path / "our-evals"
    assert "a new repository" in done.stdout
    for name in ("Makefile", "README.md", "suites", "runs", "rubrics", "site/site.yaml"):
        assert (ledger / name).exists(), name
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "start")
    trialbook(ledger, "suite", "check", "example")
    trialbook(ledger, "eval", "example")
    assert git(ledger, "status", "--porcelain") == ""
    assert "trial example/" in git(ledger, "log", "--format=%s")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_makefile_of_a_new_ledger_runs_the_suite(tmp_path: Path) -> None:
    trialbook(tmp_path, "init", "our-evals")
    ledger = tmp_path / "our-evals"
    program = f"TRIALBOOK={sys.executable} -m trialbook"
    for words in (["help"], ["eval", program], ["status", program], ["site", program]):
        done = subprocess.run(
            ["make", *words], cwd=ledger, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (ledger / "site/_build/index.html").is_file()


@pytest.mark.slow
def test_a_ledger_inside_a_repository_uses_that_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    done = trialbook(tmp_path, "init", "evals")
    assert "the repository it is in" in done.stdout
    assert not (tmp_path / "evals/.git").exists()
    trialbook(tmp_path / "evals", "eval", "example")
    assert "evals/runs/example/" in git(tmp_path, "ls-tree", "-r", "--name-only", "HEAD")


def test_init_refuses_to_overwrite_and_touches_nothing(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/Makefile").write_text("mine\n")
    done = trialbook(tmp_path, "init", "evals", check=2)
    assert "Makefile" in done.stderr
    assert [path.name for path in (tmp_path / "evals").iterdir()] == ["Makefile"]
    assert (tmp_path / "evals/Makefile").read_text() == "mine\n"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_what_init_prints_and_make_work_where_trialbook_is_not_on_the_path(tmp_path: Path) -> None:
    program = tmp_path / "a venv/bin/trialbook"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom trialbook.cli.main import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    here = tmp_path / "a venv"

    def shell(line: str) -> str:
        done = subprocess.run(
            ["sh", "-euc", line], cwd=here, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    printed = shell("bin/trialbook init '../our evals'")
    commands = [line.strip() for line in printed.split("\nnext ", 1)[1].splitlines()]
    assert commands[0] == "cd '../our evals'"
    shell("\n".join(commands))
    ledger = tmp_path / "our evals"
    assert git(ledger, "log", "--format=%s").count("\ntrial ") >= 1
    makefile = (ledger / "Makefile").read_text()
    assert f"\nTRIALBOOK ?= '{program}'\n" in makefile
    assert "not on the PATH" in makefile
    shell("cd '../our evals' && make status && make eval")


def test_the_makefile_of_a_new_ledger_takes_the_program_from_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin/trialbook"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom trialbook.cli.main import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    done = subprocess.run(
        ["trialbook", "init", "evals"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "       trialbook eval example" in done.stdout
    makefile = (tmp_path / "evals/Makefile").read_text()
    assert "\nTRIALBOOK ?= trialbook\n" in makefile
    assert "not on the PATH" not in makefile
