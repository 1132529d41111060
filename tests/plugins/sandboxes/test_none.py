"""The sandbox that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbook.api import Command, Ended, Limits, Policy, ProcessResult
from trialbook.process import run
from trialbook.testing import check_sandbox
from trialbook_sandboxes.none import NoSandbox


@pytest.mark.slow
def test_it_conforms(tmp_path: Path) -> None:
    check_sandbox(NoSandbox(), tmp_path)


def test_it_claims_no_isolation_and_only_limits_that_are_enforced() -> None:
    able = NoSandbox().available(run)
    assert able.ok
    assert not able.isolated
    assert not able.network
    assert able.limits == ("minutes", "output_mb")
    assert "no isolation" in able.reason


def test_it_hands_the_command_to_the_host_as_it_is(tmp_path: Path) -> None:
    command = Command(
        argv=("agent", "x"),
        cwd=tmp_path,
        environment={"A": "b"},
        stdout=tmp_path / "out",
        stderr=tmp_path / "err",
    )
    limits = Limits(minutes=3.0)
    handed: list[tuple[Command, Limits]] = []

    def spawn(command: Command, limits: Limits) -> ProcessResult:
        handed.append((command, limits))
        return ProcessResult(ended=Ended.EXITED, exit_code=0)

    assert NoSandbox().start(command, Policy(limits=limits), spawn).ok
    assert handed == [(command, limits)]
