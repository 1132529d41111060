"""The look for a task's answer before each of its trials: by digests alone, so that it is cheap.

What is thorough is done once, when a suite is locked. Here the files of the reference are looked
for in the workspace and in what is shown beside it, and newer releases of the project by name.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from trialbook.errors import EnvironmentProblem, TrialbookError
from trialbook.execution.answer import Answer, answer_of
from trialbook.execution.candidate import answer_tree
from trialbook.execution.leaks import Search
from trialbook.execution.prepare import Supplies
from trialbook.execution.reachable import Place
from trialbook.model.evidence import Sighting, SightingSeverity, violations
from trialbook.model.suite import Reference
from trialbook.model.trial import AuditRow, TrialSpec

RULE = "answer"
"""The row of a workspace's audit that says what was looked for, and how it went."""

_TOLD = 3


class Look(NamedTuple):
    """What a look gave: a row for the audit (None without a reference), and what was seen."""

    row: AuditRow | None
    sightings: tuple[Sighting, ...]

    def refuse(self) -> None:
        """Let no agent start that could read the answer.

        Raises:
            EnvironmentProblem: it could; names the first places.
        """
        leaks = violations(self.sightings)
        if leaks:
            listed = "; ".join(str(one) for one in leaks[:_TOLD])
            more = f"; and {len(leaks) - _TOLD} more" if len(leaks) > _TOLD else ""
            raise EnvironmentProblem(
                f"an agent could read the answer: {listed}{more}",
                hint="take it away, or waive the row `leak` of the task in suite.yaml",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAnswers:
    """The answers of tasks, each made once in a process, and looked for before every trial."""

    _answers: dict[tuple[str, ...], Answer] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def look(
        self, spec: TrialSpec, places: Iterable[Place], supplies: Supplies, oids: AbstractSet[str]
    ) -> Look:
        """Look for the answer of a trial's task.

        Args:
            spec: The trial.
            places: The folders that its agent can read, besides its own.
            supplies: Where the reference comes from.
            oids: Everything that the object store of its workspace holds.

        Raises:
            EnvironmentProblem: a place cannot be looked at.
        """
        reference = spec.task.reference
        if reference is None:
            return Look(None, ())
        try:
            answer = self._answer(spec, reference, supplies)
        except (TrialbookError, KeyError) as error:
            detail = f"the reference cannot be had, so that it was not looked for: {error}"
            unknown = Sighting(kind="answer_unknown", severity=SightingSeverity.FLAG, detail=detail)
            return Look(AuditRow(rule=RULE, ok=True, detail=detail), (unknown,))
        search = Search(answers=[answer], lines=False)
        search.ids("the workspace", oids, [answer.task])
        for place in places:
            search.folder(place)
        seen = tuple(search.sightings(answer))
        leaks = violations(seen)
        if spec.leaks_allowed:
            seen = tuple(map(_allowed, seen))
        said = f"the answer's files ({len(answer.blobs)}), looked for in {search.files} files: "
        said += "found" if leaks else "not found"
        if leaks and spec.leaks_allowed:
            said += f", and allowed: {spec.leaks_allowed}"
        return Look(AuditRow(rule=RULE, ok=not violations(seen), detail=said), seen)

    def _answer(self, spec: TrialSpec, reference: Reference, supplies: Supplies) -> Answer:
        task = spec.task
        key = (
            str(supplies.suite_folder),
            task.name,
            spec.snapshot_tree,
            repr((reference, task.files)),
        )
        with self._lock:
            known = self._answers.get(key)
            if known is None:
                tree = answer_tree(task, reference, spec.snapshot_tree, supplies)
                known = answer_of(task, spec.snapshot_tree, tree, supplies.store, lines=False)
                self._answers[key] = known
            return known


def _allowed(sighting: Sighting) -> Sighting:
    """A leak as a flag; the row of the audit says why."""
    if sighting.severity is SightingSeverity.FLAG:
        return sighting
    detail = f"{sighting.detail} (allowed)"
    return replace(sighting, severity=SightingSeverity.FLAG, detail=detail)
