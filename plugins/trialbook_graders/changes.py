"""Answers about the change: which paths it touches, and how much."""

from __future__ import annotations

import os

from trialbook.api import ChangedFile, Evidence, Finding, text_to_path
from trialbook_graders.answer import Answer, no, unknown, yes
from trialbook_graders.globs import covers
from trialbook_graders.structural import ChangedOnly, MaxChanged, NotChanged


def changed(rule: ChangedOnly | NotChanged | MaxChanged, evidence: Evidence) -> Answer:
    """Whether the change keeps to the rule; unknown where there is no change to look at."""
    if evidence.baseline is None:
        return unknown("needs a change to look at; a folder that is graded as it is has none")
    if isinstance(rule, MaxChanged):
        return _amount(rule, evidence.changed)
    only = isinstance(rule, ChangedOnly)
    wrong = [
        Finding(text=f"{file.status}: {path}", file=path)
        for file in evidence.changed
        for path in (file.old_path, file.path)
        if path is not None and _covered(path, rule.paths) is not only
    ]
    where = ", ".join(rule.paths)
    if not wrong:
        return yes(f"every changed path is inside {where}" if only else f"{where} did not change")
    many = "1 changed path is" if len(wrong) == 1 else f"{len(wrong)} changed paths are"
    return no(f"{many} {'outside' if only else 'inside'} {where}", *wrong)


def _amount(rule: MaxChanged, files: tuple[ChangedFile, ...]) -> Answer:
    note = ""
    count = len(files)
    if rule.what == "lines":
        count = sum(map(_lines, files))
        binary = sum(file.insertions is None for file in files)
        note = f"; {binary} binary files have no lines to count" if binary else ""
    message = f"{count} {rule.what} changed, {rule.count} allowed{note}"
    if count <= rule.count:
        return yes(message)
    largest = sorted(files, key=lambda file: (-_lines(file), file.path))
    return no(message, *(Finding(text=_told(file), file=file.path) for file in largest))


def _covered(path: str, patterns: tuple[str, ...]) -> bool:
    raw = os.fsdecode(text_to_path(path))
    return any(covers(pattern, raw) for pattern in patterns)


def _lines(file: ChangedFile) -> int:
    return (file.insertions or 0) + (file.deletions or 0)


def _told(file: ChangedFile) -> str:
    if file.insertions is None:
        return f"{file.status}: binary"
    return f"{file.status}: +{file.insertions} -{file.deletions or 0}"
