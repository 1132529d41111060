"""Assignments with a workspace of their own, and a real way to start processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from trialbook import process
from trialbook.api import Assignment, Command, Limits, ProcessResult

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

        def start(
            argv: Sequence[str],
            *,
            stdin: Path | None = None,
            environment: Mapping[str, str] | None = None,
            name: str = "",
        ) -> ProcessResult:
            prefix = f"{name}." if name else ""
            command = Command(
                argv=tuple(argv),
                cwd=folders["workspace"],
                environment={"PATH": "/usr/bin:/bin", **(environment or {})},
                stdin=stdin,
                stdout=folders["output"] / f"{prefix}stdout.txt",
                stderr=folders["output"] / f"{prefix}stderr.txt",
            )
            return process.run(command, more.get("limits", limits))

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
            "start": start,
        }
        return Assignment(**{**fields, **more})

    return make
