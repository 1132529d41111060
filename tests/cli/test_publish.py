from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.recorded import drift_run, new_ledger, record_run

from trialbook.formats.authored import parse_document

RSYNC = """\
#!{python}
import pathlib, shutil, sys
*options, source, target = sys.argv[1:]
assert "--archive" in options and "--delete-delay" in options, options
skipped = [options[n + 1] for n, one in enumerate(options) if one == "--exclude"]
assert skipped == ["/.trialbook-site*"] and source.endswith("/"), sys.argv
shutil.copytree(source, target, ignore=shutil.ignore_patterns(".trialbook-site*"))
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a ledger, as a job checks it out."""
    root = new_ledger(tmp_path / "ledger")
    record_run(root, *drift_run())
    git(tmp_path, "clone", "-q", str(root), "clone")
    return tmp_path / "clone"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What a job's shell has: the program, and an rsync that copies."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "trialbook").write_text(f'#!/bin/sh\nexec {sys.executable} -m trialbook "$@"\n')
    (programs / "rsync").write_text(RSYNC.format(python=sys.executable))
    for program in programs.iterdir():
        program.chmod(0o755)
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "LEDGER": "."}


def job_of(way: str, folder: Path) -> dict[str, object]:
    """The one job of a template."""
    text = trialbook(folder, "init", "--publish", way).stdout
    document = parse_document(text, "job.yml")[0]
    assert document is not None
    jobs = document.data["jobs"] if way == "github" else document.data
    job: dict[str, object] = jobs["site" if way == "github" else "pages"]
    return job


def steps_of(way: str, folder: Path) -> list[str]:
    """The shell lines of a template that need nothing of the service."""
    job = job_of(way, folder)
    if way == "gitlab":
        script = job["script"]
        assert isinstance(script, list)
        return script
    steps = job["steps"]
    assert isinstance(steps, list)
    return [step["run"] for step in steps if "site build" in step.get("run", "")]


def run(step: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("way", ["github", "gitlab"])
def test_a_job_builds_what_the_service_takes(
    clone: Path, environment: dict[str, str], way: str
) -> None:
    [step] = steps_of(way, clone)
    run(step, clone, environment)
    assert (clone / "public/index.html").is_file()
    assert (clone / "public/feed.xml").is_file()
    before = (clone / "public/index.html").stat().st_mtime_ns
    run(step, clone, environment)
    assert (clone / "public/index.html").stat().st_mtime_ns == before


def test_a_job_gives_the_folder_that_it_builds(tmp_path: Path) -> None:
    github = job_of("github", tmp_path)
    steps = github["steps"]
    assert isinstance(steps, list)
    uploads = [one["with"]["path"] for one in steps if "upload-pages" in one.get("uses", "")]
    assert uploads == ["public"]
    gitlab = job_of("gitlab", tmp_path)
    artifacts = gitlab["artifacts"]
    assert isinstance(artifacts, dict)
    assert artifacts["paths"] == ["public"]


@pytest.mark.slow
def test_the_script_copies_the_site_anywhere_but_not_what_builds_need(
    clone: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "publish.sh"
    script.write_text(trialbook(tmp_path, "init", "--publish", "rsync").stdout)
    target = tmp_path / "www" / "evals"
    run(f"sh {script} {target}", clone, environment)
    assert (target / "index.html").is_file()
    assert not [path for path in target.iterdir() if path.name.startswith(".")]
    done = subprocess.run(
        ["sh", str(script)], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "say where to" in done.stderr
