"""Assignments with a workspace of their own, and a real way to start processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trialbook.api import Assignment, Limits
from trialbook.model.process import Desk
from trialbook.process import run
from trialbook.supervision.stopping import stoppable

Assign = Callable[..., Assignment]


@pytest.fixture
def assign(tmp_path: Path) -> Assign:
    """Makes an assignment below the test's folder; ``start`` runs for real."""

    def make(prompt: str = "Do it.\n", **more: Any) -> Assignment:
        folders = {name: tmp_path / name for name in ("workspace", "home", "output")}
        for folder in folders.values():
            folder.mkdir(exist_ok=True)
        prompt_file = tmp_path / "prompt.md"
        prompt_file.write_text(prompt, encoding="utf-8", newline="")
        limits = Limits(minutes=1, grace_seconds=0.3)

        desk = Desk(
            cwd=folders["workspace"],
            environment={"PATH": "/usr/bin:/bin"},
            output=folders["output"],
        )
        fields: dict[str, Any] = {
            "task": "negative-amount",
            "repetition": 2,
            **folders,
            "prompt": prompt,
            "prompt_file": prompt_file,
            "files": None,
            "model": None,
            "reasoning": None,
            "approval": None,
            "parameters": {},
            "limits": limits,
            "start": desk.start(
                lambda command, stop: stoppable(
                    lambda cancel: run(command, more.get("limits", limits), cancel=cancel), stop
                )
            ),
        }
        return Assignment(**{**fields, **more})

    return make
