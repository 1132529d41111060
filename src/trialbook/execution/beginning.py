"""The workspace as a trial begins with it: unpacked from its template, and audited."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.execution.audit import audit
from trialbook.execution.workspace import Template, unpack
from trialbook.model.trial import AuditRow


def lay_baseline(made: Template, workspace: Path, *, links: bool) -> tuple[AuditRow, ...]:
    """Write the workspace into a folder that is not there, and look at it.

    ``links`` says whether the task declares links that leave the folder.
    """
    written = unpack(made, workspace)
    return audit(workspace, made.commit, links_declared=links, written=written)


def need_clean(rows: Iterable[AuditRow]) -> None:
    """Refuse a workspace in which the audit finds something.

    Raises:
        EnvironmentProblem: it does; names the rules.
    """
    if broken := [row for row in rows if not row.ok]:
        told = "; ".join(f"{row.rule}: {row.detail}" for row in broken)
        raise EnvironmentProblem(f"the workspace audit failed: {told}")
