from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git, trialbook
from tests.plugins.sandboxes.tiny_image import tiny_image

from trialbook.process import run
from trialbook_sandboxes.container import ContainerSandbox

SUITE = "suites/mini/suite.yaml"


def change(ledger: Path, path: str, more: str) -> None:
    file = ledger / path
    file.write_text(file.read_text() + more)
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "change")


def records(ledger: Path, name: str) -> dict[str, dict[str, Any]]:
    return {
        "/".join(path.relative_to(ledger).parts[3:-1]): json.loads(path.read_text())
        for path in sorted((ledger / "runs" / "mini").rglob(name))
    }


def plan(ledger: Path) -> dict[str, Any]:
    (found,) = records(ledger, "plan.json").values()
    return found


@pytest.mark.slow
def test_a_toolchain_is_in_the_plan_and_in_each_trial_and_agents_can_run_it(
    ledger: Path,
) -> None:
    script = r'printf "#!/bin/sh\necho tool says first\n" > $TOOLCHAIN/bin/tool'
    command = f"{script}; chmod +x $TOOLCHAIN/bin/tool"
    change(ledger, SUITE, f"toolchain: {{prepare: [sh, -c, {json.dumps(command)}]}}\n")
    (ledger / "suites/mini/configurations/good.yaml").write_text(
        "configuration: good\nagent: command\n"
        "with:\n  argv:\n  - sh\n  - -c\n  - |\n    tool | cut -c 11- > answer.txt\n"
        "    echo first 1 >> answer.txt\n"
        '    (: > "$(dirname "$(command -v tool)")/planted") 2> /dev/null || true\n'
    )
    git(ledger, "commit", "-q", "-a", "-m", "use the tool")
    trialbook(ledger, "eval", "mini", "--repetitions", "1")
    trials = records(ledger, "trial.json")
    assert trials["first/good/r1"]["outcome"] == "accepted"
    planned = plan(ledger)["tasks"]["first"]["toolchain"]
    assert planned["source"] == f"`sh -c {command}`"
    assert planned["use"]["platform"] == f"linux {os.uname().machine}"
    assert planned["use"]["python"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")
    assert planned["use"]["image"] is None
    assert len(planned["use"]["digest"]) == 64
    assert all(one["toolchain"] == planned["use"] for one in trials.values())
    trialbook(ledger, "verify")
    if trials["first/good/r1"]["isolation"]["isolated"]:
        assert not list(Path(os.environ["TRIALBOOK_CACHE"]).rglob("planted"))
    said = f"linux {os.uname().machine}, sha256 {planned['use']['digest'][:12]}"
    run = plan(ledger)["run"]
    assert said in trialbook(ledger, "show", f"{run}/first/good/r1").stdout
    trialbook(ledger, "site", "build")
    pages = (ledger / "site" / "_build").rglob("*.html")
    assert any("<h3>Toolchain</h3>" in path.read_text() for path in pages)


def test_without_a_toolchain_none_is_recorded(ledger: Path) -> None:
    trialbook(ledger, "eval", "mini", "--repetitions", "1", "--task", "first")
    assert plan(ledger)["tasks"]["first"]["toolchain"] is None
    assert {one["toolchain"] for one in records(ledger, "trial.json").values()} == {None}


def test_what_cannot_be_prepared_makes_environment_failures_with_the_log(ledger: Path) -> None:
    command = "echo the tap is dry >&2; exit 7"
    change(
        ledger,
        "suites/mini/tasks/second/task.yaml",
        f"toolchain: {{prepare: [sh, -c, {json.dumps(command)}]}}\n",
    )
    done = trialbook(ledger, "eval", "mini", "--repetitions", "1")
    assert "the tap is dry" in done.stderr
    assert "trials of second will end as environment failures" in done.stderr
    trials = records(ledger, "trial.json")
    assert trials["first/good/r1"]["outcome"] == "accepted"
    failed = trials["second/good/r1"]
    assert failed["outcome"] == "environment_failure"
    assert "`sh` ended with status 7: the tap is dry" in failed["reason"]
    assert failed["toolchain"] is None
    (log,) = (ledger / "runs" / "mini").glob("*/second/good/r1/toolchain.log")
    assert "the tap is dry" in log.read_text()
    assert failed["artifacts"]["toolchain.log"] == hashlib.sha256(log.read_bytes()).hexdigest()
    planned = plan(ledger)["tasks"]["second"]["toolchain"]
    assert planned["use"] is None
    assert "the tap is dry" in planned["trouble"]
    trialbook(ledger, "verify")
    shown = trialbook(ledger, "show", f"{plan(ledger)['run']}/second/good/r1").stdout
    assert "the tap is dry" in shown
    assert "toolchain.log" in shown


def test_nothing_starts_where_no_task_can_be_run(ledger: Path) -> None:
    change(ledger, SUITE, "toolchain: {prepare: [sh, -c, 'echo no luck; exit 1']}\n")
    done = trialbook(ledger, "eval", "mini", check=2)
    assert "no luck" in done.stderr
    assert ".log" in done.stderr
    assert records(ledger, "plan.json") == {}


def test_a_version_of_python_that_is_not_here_is_refused_before_the_run(ledger: Path) -> None:
    change(ledger, "suites/mini/tasks/second/task.yaml", 'toolchain: {python: "3.99"}\n')
    done = trialbook(ledger, "eval", "mini", check=2)
    assert "there is no Python 3.99 on this machine" in done.stderr
    assert "hint: install it: uv python install 3.99" in done.stderr
    assert records(ledger, "plan.json") == {}


@pytest.fixture
def image(ledger: Path) -> Iterator[str]:
    """The suite's first task runs in an image of its own, and its agent is made for that."""
    able = ContainerSandbox().available(run)
    if not able.ok:
        if os.environ.get("CI"):
            pytest.fail(able.reason)
        pytest.skip(able.reason)
    archive = tiny_image(ledger / "suites/mini/image.tar", {"/opt/greeting": "first from inside\n"})
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    for name, script in (("good", "cat /opt/greeting > answer.txt"), ("bad", ": > other.txt")):
        (ledger / f"suites/mini/configurations/{name}.yaml").write_text(
            f'configuration: {name}\nagent: command\nwith: {{argv: [sh, -c, "{script}"]}}\n'
        )
    change(
        ledger,
        "suites/mini/tasks/first/task.yaml",
        f"toolchain: {{image: {{archive: image.tar, sha256: {digest}}}}}\n",
    )
    yield digest
    for engine in ("podman", "docker"):
        remove = [engine, "image", "rm", "--force", f"localhost/trialbook-image:{digest[:32]}"]
        if shutil.which(engine):
            subprocess.run(remove, capture_output=True, check=False)


@pytest.mark.slow
def test_a_task_with_an_image_runs_in_it_where_containers_work(ledger: Path, image: str) -> None:
    done = trialbook(ledger, "eval", "mini", "--repetitions", "1", "--task", "first")
    assert "sandbox: container" in done.stderr
    trials = records(ledger, "trial.json")
    assert {path: one["outcome"] for path, one in trials.items()} == {
        "first/good/r1": "accepted",
        "first/bad/r1": "rejected",
    }
    use = trials["first/good/r1"]["toolchain"]
    assert use["digest"] == image
    assert use["image"] == f"localhost/trialbook-image:{image[:32]}"
    assert use["python"] is None
    assert plan(ledger)["tasks"]["first"]["toolchain"]["use"] == use
    trialbook(ledger, "verify")


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_elsewhere_it_is_refused_with_the_way_out(sandbox: str, ledger: Path, image: str) -> None:
    done = trialbook(ledger, "eval", "mini", "--sandbox", sandbox, check=2)
    assert "first of mini runs in image image.tar" in done.stderr
    assert f"good in {sandbox}, bad in {sandbox}" in done.stderr
    assert "hint: --sandbox container" in done.stderr
    assert records(ledger, "plan.json") == {}


@pytest.mark.slow
def test_an_image_that_may_not_lead_to_the_proxy_is_warned_of(ledger: Path, image: str) -> None:
    change(ledger, "suites/mini/configurations/good.yaml", "network: {allow: [example.com]}\n")
    done = trialbook(ledger, "eval", "mini", "--dry-run", "--task", "first")
    assert "good allows a list of hosts, and image image.tar has no python3" in done.stderr
    assert records(ledger, "plan.json") == {}
