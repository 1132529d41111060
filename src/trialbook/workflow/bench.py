"""A place to ask graders and tests about any tree of a task, not only about a trial's final one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from trialbook.api import Check, Grade, GradeStatus
from trialbook.execution.change import difference_of
from trialbook.grading.grade import StartInSandbox, Subject, grade_artifacts
from trialbook.model.grader_use import GraderUse
from trialbook.model.series import Decision, SessionPlan
from trialbook.model.series_record import PropertyAnswer, TreeTests
from trialbook.model.suite import Limits, Task
from trialbook.registry import Registry
from trialbook.storage.repository import Store

_LONGEST = 300
_MOST = 10
_NOT_TOLD = "the property could not be asked for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What is needed to ask about trees: a task, its folder, and how graders run.

    ``baseline`` is the tree that changes are seen against.
    """

    task: Task
    task_folder: Path
    baseline: str
    store: Store
    registry: Registry
    start: StartInSandbox
    work: Path
    python: str
    limits: Limits
    _known: dict[tuple[str, str, str], Grade] = field(default_factory=dict)

    def grade(self, use: GraderUse, tree: str) -> Grade:
        """What one grader says of a tree; it is asked once."""
        key = (use.grader, repr(sorted(use.parameters.items())), tree)
        if key not in self._known:
            self._known[key] = self._grade(use, tree)
        return self._known[key]

    def _grade(self, use: GraderUse, tree: str) -> Grade:
        patch, changed = difference_of(self.store, self.baseline, tree, work=self.work)
        subject = Subject(
            task=replace(self.task, graders=(use,)),
            task_folder=self.task_folder,
            baseline_tree=self.baseline,
            candidate_tree=tree,
            patch=patch,
            changed=changed,
            python=self.python,
            limits=self.limits,
        )
        (found,) = grade_artifacts(
            subject, store=self.store, registry=self.registry, start=self.start, work=self.work
        )
        return found

    def tests(self, use: GraderUse | None, tree: str) -> TreeTests:
        """How the tests of a grader end on a tree."""
        if use is None:
            return TreeTests(tree=tree, trouble="the session has no private tests")
        grade = self.grade(use, tree)
        if grade.status is GradeStatus.FAILED:
            return TreeTests(tree=tree, trouble=grade.message[:_LONGEST])
        return TreeTests(tree=tree, tests={one.id: one.passed for one in grade.checks})

    def holds(
        self, decision: Decision, session: tuple[int, SessionPlan], at: int, tree: str
    ) -> PropertyAnswer:
        """Whether the property of a decision holds on what a session left.

        Args:
            decision: The decision.
            session: The session that it is of, with its number.
            at: The session that left the tree.
            tree: The tree.
        """
        if decision.checks is not None:
            grade = self.grade(
                GraderUse(grader="checks", parameters={"file": decision.checks}), tree
            )
            said, wanted = grade, None
        elif session[1].private is not None:
            said, wanted = self.grade(session[1].private, tree), frozenset(decision.tests)
        else:
            return _untold(decision, at, tree, _NOT_TOLD)
        if said.status is GradeStatus.FAILED:
            return _untold(decision, at, tree, said.message)
        asked = [one for one in said.checks if wanted is None or one.id in wanted]
        if wanted is not None and {one.id for one in asked} != wanted:
            return _untold(decision, at, tree, "its tests were not all run")
        against = [one for one in asked if one.passed is not True]
        shown = against or asked
        places = tuple(
            (
                f"{found.file}:{found.line}@{tree[:12]}"
                if found.line
                else f"{found.file}@{tree[:12]}"
            )
            for one in shown
            for found in one.evidence
            if found.file and self.store.lookup(found.file.encode(), tree) is not None
        )
        told = tuple(_told(one) for one in shown)
        return PropertyAnswer(
            decision=decision.id,
            session=at,
            tree=tree,
            holds=None if any(one.passed is None for one in asked) else not against,
            evidence=(*told[:_MOST], *places[:_MOST]),
        )


def _told(check: Check) -> str:
    """What a check says, in one line: what was asked, and the end of what it points at."""
    answer = "yes" if check.passed else "no" if check.passed is False else "not known"
    asked = check.question or check.message
    last = [line for one in check.evidence[:1] for line in one.text.split("\n") if line.strip()]
    shown = f" ({last[-1].strip()})" if last and check.passed is False else ""
    return f"{check.id}: {answer}, {' '.join(asked.split())}{shown}"[:_LONGEST]


def _untold(decision: Decision, at: int, tree: str, why: str) -> PropertyAnswer:
    return PropertyAnswer(
        decision=decision.id, session=at, tree=tree, holds=None, evidence=(why[:_LONGEST],)
    )
