"""The pages of a task."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from trialbook.api import Page
from trialbook.model.lock import Lock
from trialbook.reporting.protocols import protocol_changes
from trialbook.site.addresses import suite_page, task_page
from trialbook.site.ledger_view import LedgerView
from trialbook.site.paging import paged
from trialbook.site.task.asked import asked_now, asked_then, is_private
from trialbook.site.task.trials import list_of, said_of, strip_of, trials_of
from trialbook.site.units import TaskRef

_DETAILS = 40


def task_pages(view: LedgerView, ref: TaskRef) -> Iterator[Page]:
    """The page of a task, and where it has more trials than one page bears, those of its list."""
    suite, task = ref
    found = trials_of(view, suite, task)
    folder = f"suites/{suite}/tasks/{task}"
    context = {
        "suite": {"name": suite, "page": suite_page(suite)},
        "task": task,
        **_asked(view, ref),
        "said": said_of(found),
        "strip": strip_of(view, found) if found else None,
        "versions": _versions([stored.lock for stored in view.locks(suite)], task),
        "commands": [
            f"git log --oneline -- {shlex.quote(folder)}",
            f"git log --oneline -- {shlex.quote(f'runs/{suite}/*/{task}')}",
        ],
    }
    for part in paged(list_of(found), task_page(suite, task), "trial"):
        title = task if part.number == 1 else f"{task}, trials, page {part.number}"
        shown = {**context, "paged": part, "whole": part.number == 1}
        yield Page(path=part.path, template="task.html", title=title, context=shown)


def _asked(view: LedgerView, ref: TaskRef) -> dict[str, Any]:
    """What the task is by its files, or by the newest plan that has it."""
    authored = view.authored(ref.suite)
    for task in authored.tasks if authored is not None else ():
        if authored is not None and task.name == ref.task:
            return {"there": True, "asked": asked_now(view.root, authored, task)}
    for run in reversed(view.runs_of(ref.suite)):
        planned = view.plan(run).tasks.get(ref.task)
        if planned is not None:
            return {"there": False, "asked": asked_then(planned)}
    return {"there": False, "asked": None}


def _versions(locks: Sequence[Lock], task: str) -> list[dict[str, Any]]:
    """The protocol versions in which the task came, went, or is not what it was."""
    found: list[dict[str, Any]] = [
        {"protocol": lock.protocol, "how": "there from then on", "details": []}
        for lock in locks[:1]
        if task in lock.tasks
    ]
    for before, after in pairwise(locks):
        for change in protocol_changes(before, after):
            if change.kind == "task" and change.name == task:
                details = [one for one in change.details if not is_private(_path(one))]
                hidden = len(change.details) - len(details)
                if hidden:
                    details.append("and what is kept from agents")
                found.append(
                    {"protocol": after.protocol, "how": change.how, "details": details[:_DETAILS]}
                )
    return found[::-1]


def _path(detail: str) -> str:
    """The path that a detail of a change begins with, if it does."""
    return detail.strip().partition(":")[0].strip("`")
