"""A session of a task as plans and locks freeze it: by digest, so that nothing private is told."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from trialbook.model.digest import sha256
from trialbook.model.series import SessionPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSession:
    """One session as it was fixed beforehand.

    ``brief_sha256`` is the digest of its brief, ``regression_briefs`` those of the briefs of single
    regressions, in the order of ``regressions``, which are told by their kinds; empty where the
    session's own is used. ``graders`` maps a part of its checks to the grader with its parameters.
    ``decisions`` are ids. ``digest`` covers all that the task says of the session; its files are
    among those of the task.
    """

    name: str
    brief_sha256: str
    digest: str
    graders: dict[str, dict[str, Any]] = field(default_factory=dict)
    decisions: tuple[str, ...] = ()
    conflicts_with: str | None = None
    regressions: tuple[str, ...] = ()
    regression_briefs: tuple[str, ...] = ()
    limits: dict[str, float | None] = field(default_factory=dict)

    @property
    def briefs(self) -> frozenset[str]:
        """The digests of every brief that its agent may have got."""
        return frozenset({self.brief_sha256, *filter(None, self.regression_briefs)})


def planned_session(session: SessionPlan) -> PlannedSession:
    """A session as it is frozen."""
    parts = {"checks": session.checks, "tests": session.tests, "private": session.private}
    said = json.dumps(_without_empty(asdict(session)), sort_keys=True, ensure_ascii=False)
    return PlannedSession(
        name=session.name,
        brief_sha256=sha256(session.brief.encode()),
        digest=sha256(said.encode()),
        graders={
            part: {use.grader: use.parameters} for part, use in parts.items() if use is not None
        },
        decisions=tuple(one.id for one in session.decisions),
        conflicts_with=session.conflicts_with,
        regressions=tuple(one.kind.value for one in session.regressions),
        regression_briefs=tuple(
            "" if one.brief is None else sha256(one.brief.encode()) for one in session.regressions
        ),
        limits=session.limits or {},
    )


def _without_empty(value: Any) -> Any:  # noqa: ANN401 - plain values
    """The same without what says nothing: a later version may know more that a task can say."""
    if isinstance(value, dict):
        pairs = ((key, _without_empty(item)) for key, item in value.items())
        return {key: item for key, item in pairs if item not in (None, "", (), [], {}, False)}
    if isinstance(value, list | tuple):
        return [_without_empty(item) for item in value]
    return value
