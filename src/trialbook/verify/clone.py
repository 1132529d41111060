"""Whether a clone shows its true objects and all of its history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings

_REPLACE = "refs/replace/"


def check_clone(git_folder: Path, findings: Findings) -> None:
    """Refuse what makes git show other objects, other parents, or only the end of history.

    ``git_folder`` is the one that all work trees share.
    """
    for name in sorted(set(_replace_refs(git_folder))):
        detail = f"git shows another object than {name.removeprefix(_REPLACE)}"
        findings.fault(Code.REPLACE_REF, detail, path=name)
    lines = _lines(git_folder / "info" / "grafts")
    if lines:
        detail = f"{len(lines)} commits are given other parents"
        findings.fault(Code.GRAFTS, detail, path="info/grafts")
    lines = _lines(git_folder / "shallow")
    if lines:
        detail = f"history ends at {len(lines)} commits, the first is {lines[0]}"
        findings.fault(Code.SHALLOW, detail, path="shallow")


def _replace_refs(git_folder: Path) -> Iterator[str]:
    top = git_folder / _REPLACE
    for path in sorted(top.rglob("*")):
        if path.is_file() and not path.name.endswith(".lock"):
            yield path.relative_to(git_folder).as_posix()
    for line in _lines(git_folder / "packed-refs"):
        name = line.partition(" ")[2]
        if name.startswith(_REPLACE):
            yield name


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
