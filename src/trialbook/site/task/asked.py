"""What a task asks and by what it is judged, without anything that is kept from agents.

Only what is named here gets onto a page: the brief, where the snapshot comes from, the questions of
checks that are not private, limits. Tests, references, expected ids and wrong answers are not even
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from trialbook.errors import TrialbookError
from trialbook.formats.authored import read_document
from trialbook.model.grader_use import GraderUse
from trialbook.model.plan import PlannedTask
from trialbook.model.suite import Limits, Snapshot, Suite, Task, merge_limits
from trialbook.reporting.wording import words

_PRIVATE = "private"
_CHECKS = "checks"
_MOST = 200


def asked_now(root: Path, suite: Suite, task: Task) -> dict[str, Any]:
    """What the suite's files say of a task."""
    return {
        "brief": task.brief,
        "category": task.category,
        "split": task.split.value,
        "contamination": words(task.contamination.value),
        "snapshot": list(_snapshot(task.snapshot)),
        "sessions": [session.name for session in task.sessions],
        "chips": [
            *(["no change expected"] if task.no_change_expected else []),
            *(["must hand back"] if task.must_escalate else []),
        ],
        "graders": [_grader(root / task.folder, use) for use in task.graders],
        "limits": _limits(merge_limits(suite.limits, task.limits)),
        "has_reference": task.reference is not None,
    }


def asked_then(task: PlannedTask) -> dict[str, Any]:
    """What a plan has of a task whose files are not there any more, or cannot be read."""
    return {
        "brief": "",
        "category": task.category,
        "split": task.split,
        "contamination": words(task.contamination),
        "snapshot": [["From", task.source], ["Tree", task.tree]],
        "sessions": [session.name for session in task.sessions],
        "chips": [
            *(["no change expected"] if task.no_change_expected else []),
            *(["must hand back"] if task.must_escalate else []),
        ],
        "graders": [
            {
                "name": str(grader.get("grader", "")),
                "visible": grader.get("grader") in task.visible,
                "checks": [],
                "said": "",
            }
            for grader in task.graders
        ],
        "limits": _limits(task.limits),
        "has_reference": None,
    }


def is_private(path: str) -> bool:
    """Whether a path is in a folder that is kept from agents."""
    return _PRIVATE in PurePosixPath(path).parts


def _snapshot(snapshot: Snapshot) -> Iterator[list[str]]:
    yield ["From", f"{snapshot.kind.value} {snapshot.location}"]
    if snapshot.revision:
        yield ["Revision", snapshot.revision]
    if snapshot.sha256:
        yield ["sha256", snapshot.sha256]
    if snapshot.path != ".":
        yield ["Folder in it", snapshot.path]
    if snapshot.remove:
        yield ["Without", ", ".join(snapshot.remove)]


def _grader(folder: Path, use: GraderUse) -> dict[str, Any]:
    checks, said = [], ""
    name = use.parameters.get("file")
    if use.grader == _CHECKS and isinstance(name, str):
        if is_private(name) or PurePosixPath(name).is_absolute() or ".." in name.split("/"):
            said = "Its questions are kept from agents, and from this page."
        else:
            checks = list(_questions(folder / name, name))
    elif not use.visible:
        said = "What it looks at is kept from agents, and from this page; the brief tells what for."
    return {"name": use.grader, "visible": use.visible, "checks": checks[:_MOST], "said": said}


def _questions(path: Path, shown: str) -> Iterator[dict[str, str]]:
    """The questions of a file of checks; what it looks for is not told."""
    try:
        document, _ = read_document(path, shown)
    except (TrialbookError, OSError):
        return
    data = document.data if document is not None else None
    entries = data.get("checks") if isinstance(data, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping):
            yield {
                "id": str(entry.get("id", "")),
                "question": str(entry.get("question") or entry.get("description") or ""),
                "severity": str(entry.get("severity", "high")),
            }


def _limits(limits: Limits) -> list[list[str]]:
    units = {
        "minutes": ("Time", "minutes"),
        "grace_seconds": ("Time to end", "seconds"),
        "output_mb": ("Output", "MB"),
        "file_mb": ("A file", "MB"),
        "usd": ("Cost", "US dollars"),
        "turns": ("Turns", ""),
        "tokens": ("Tokens", ""),
        "memory_mb": ("Memory", "MB"),
        "processes": ("Processes", ""),
        "workspace_mb": ("Workspace", "MB"),
    }
    return [
        [label, f"{value:,} {unit}".rstrip()]
        for name, (label, unit) in units.items()
        if (value := getattr(limits, name)) is not None
    ]
