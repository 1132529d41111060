"""The offline adapter: repeats what was recorded once. No model and no command runs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trialbook.api import (
    AgentEnd,
    AgentResult,
    Assignment,
    EnvironmentProblem,
    TrialbookError,
    Usage,
    apply_patch_to_folder,
)
from trialbook_agents.overlay import delete, lay_over

PARTS = ("change.patch", "overlay", "delete.txt", "stdout.txt", "usage.json")
"""What a recording may have, any part of it, in the order in which it is replayed."""


class ReplayAgent:
    """Replays the recording in the agent's ``files`` folder: patch, overlay, deletions, output."""

    name = "replay"
    parameters: Mapping[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {},
    }

    def version(self) -> str:
        """The version of this adapter."""
        return "1"

    def run(self, assignment: Assignment) -> AgentResult:
        """Change the workspace as recorded, and repeat the recorded output."""
        try:
            recording = _recording(assignment)
            usage = _usage(recording)
            done = _change(recording, assignment.workspace)
            output = _read(recording / "stdout.txt") or b""
            (assignment.output / "stdout.txt").write_bytes(output)
        except TrialbookError as problem:
            return _unusable(problem.message)
        except OSError as problem:
            return _unusable(problem.strerror or str(problem))
        except ValueError as problem:
            return _unusable(str(problem))
        return AgentResult(
            end=AgentEnd.FINISHED,
            message=f"replayed a recording, no agent ran: {done}",
            usage=usage,
        )


def _recording(assignment: Assignment) -> Path:
    wanted = f"task {assignment.task}, repetition {assignment.repetition}"
    looked_for = f"a folder with any of {', '.join(PARTS)}"
    folder = assignment.files
    if folder is None:
        raise EnvironmentProblem(
            f"there is none for {wanted}: looked for {looked_for}, but the configuration names no "
            "folder in `files`"
        )
    if not folder.is_dir():
        raise EnvironmentProblem(
            f"there is none for {wanted}: looked for {looked_for}, but what `files` names is not "
            "there"
        )
    # An empty recording changes nothing: the right answer to some tasks.
    if strange := sorted(path.name for path in folder.iterdir() if path.name not in PARTS):
        raise EnvironmentProblem(
            f"the one for {wanted} has {', '.join(strange)}; a recording is {looked_for}"
        )
    return folder


def _change(recording: Path, workspace: Path) -> str:
    done = []
    patch = _read(recording / "change.patch")
    if patch is not None:
        done.append(f"patched {_count(len(apply_patch_to_folder(workspace, patch)), 'file')}")
    if (recording / "overlay").is_dir():
        done.append(f"laid {_count(lay_over(recording / 'overlay', workspace), 'file')} over")
    listed = _read(recording / "delete.txt")
    if listed is not None:
        done.append(f"deleted {_count(delete(listed, workspace), 'path')}")
    return ", ".join(done) or "it changes nothing"


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _usage(recording: Path) -> Usage:
    text = _read(recording / "usage.json")
    if text is None:
        return Usage()
    said = json.loads(text)
    names = [field.name for field in dataclasses.fields(Usage) if field.name != "basis"]
    if not isinstance(said, dict):
        raise EnvironmentProblem("usage.json of the recording is no JSON object")
    for name, value in said.items():
        kind = str if name == "cost_usd" else int
        if name not in names:
            raise EnvironmentProblem(
                f"usage.json of the recording has {name!r}; known are {', '.join(names)}"
            )
        if value is not None and type(value) is not kind:
            raise EnvironmentProblem(
                f"usage.json of the recording: {name} is no {'text' if kind is str else 'integer'}"
            )
    return Usage(**said, basis="recorded")


def _unusable(why: str) -> AgentResult:
    return AgentResult(end=AgentEnd.ENVIRONMENT, message=f"the recording cannot be replayed: {why}")
