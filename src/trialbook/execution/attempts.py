"""The attempts of a trial: the first one, and the second where the configuration escalates.

Whether there is a second one follows from what the first one left and how it ended, in the words
that the configuration declared. Nothing of the task that is private takes part in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from trialbook.api import AgentEnd, Grade, GradeStatus
from trialbook.errors import EnvironmentProblem
from trialbook.execution.allowance import allowance
from trialbook.execution.attempt import AttemptRunner, Ground, in_bytes
from trialbook.execution.change import capture
from trialbook.execution.classify import class_of
from trialbook.execution.findings import Findings, GradeTrial
from trialbook.execution.planted import planted_git
from trialbook.execution.subject import subject_of
from trialbook.execution.told import with_checks
from trialbook.execution.workspace import TemplateObjects
from trialbook.model.change import AttemptChange
from trialbook.model.escalation import FRESH, TELL_CHECKS, Condition, conditions_held
from trialbook.model.evidence import violations, with_severities
from trialbook.model.runfiles import attempt_folder
from trialbook.model.suite import Escalation
from trialbook.model.trial import AfterAttempt, Isolation, TrialSpec
from trialbook.storage.files import fresh_folder, remove_tree

GRADABLE = frozenset({AgentEnd.FINISHED, AgentEnd.TIMED_OUT, AgentEnd.BUDGET})
"""Ends after which what was left is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Does all attempts of one trial. ``check`` answers the visible checks, and no others."""

    runner: AttemptRunner
    check: GradeTrial
    spec: TrialSpec
    ground: Ground
    found: Findings

    def make(self) -> None:
        """Make the first attempt, and a second one if what is declared holds.

        Raises:
            TrialbookError: something on our side is in the way.
        """
        escalation = self.spec.configuration.escalation
        own = None if escalation is None else escalation.first_limits
        first = replace(self.spec, limits=allowance(self.spec.limits, own, ()).limits)
        self._attempt(first)
        if escalation is None:
            return
        second = self._second(escalation)
        if second is not None:
            self._set_aside()
            self._make_ready(escalation, second.task.brief)
            self._attempt(second)

    def _attempt(self, spec: TrialSpec) -> None:
        """Let an agent work, and see what it left."""
        found, launcher = self.found, self.runner.launcher
        with found.stage("agent", self.runner.system) as stage:
            isolation = launcher.isolation(spec)
            found.isolation = both_isolations(found.isolation, isolation)
            made = self.runner.run(spec, self.ground, len(found.attempts) + 1)
        found.result, found.agent = made.result, made.agent
        found.attempts.append(replace(made.record, started=stage.started, seconds=stage.seconds()))
        escalation = self.spec.configuration.escalation
        if escalation is not None:
            later = escalation.workspace if len(found.attempts) > 1 else None
            self._say(configuration=spec.configuration.name, agent=made.agent, workspace=later)
        found.files |= made.files
        found.secrets.append(made.secrets)
        if made.sightings:
            found.see(made.sightings)
        with found.stage("capture", self.runner.system):
            found.change = capture(
                self.ground.room.workspace,
                spec.workspace_tree,
                self.ground.supplies.store,
                file_limit_bytes=in_bytes(spec.limits.file_mb),
                work=Path(spec.work),
                there=self.ground.made.objects,
            )
            planted = planted_git(self.ground.room.workspace)
            # What was carried over was seen already.
            found.see([one for one in planted if one not in (found.sightings or ())])
        changed = found.change.anything
        self._say(outcome=class_of(made.result, spec.task, changed=changed))

    def _say(self, **facts: object) -> None:
        self.found.attempts[-1] = replace(self.found.attempts[-1], **facts)  # type: ignore[arg-type]

    def _second(self, escalation: Escalation) -> TrialSpec | None:
        """The spec of the second attempt, or None; why is in the record either way."""
        found = self.found
        grades = self._checks(escalation)
        outcome = found.attempts[-1].outcome
        held = conditions_held(escalation.when, outcome, [grade.accepted for grade in grades])
        allowed = allowance(self.spec.limits, escalation.to.limits, found.attempts)
        stopped = self.runner.launcher.cancel.is_set()
        open_yet = outcome is None or bool(conditions_held(Condition, outcome, ()))
        found.cut_short = stopped and open_yet
        unanswered = next((one for one in grades if one.status is GradeStatus.FAILED), None)
        broken = self._rules_broken
        lost = unanswered is not None and not held
        reasons = (
            (stopped, "the run was stopped before it was decided"),
            (broken, "rules were broken, and nothing is tried after that"),
            (lost, f"the visible checks gave no answer: {_message(unanswered)}"),
            (not held, f"none of what was declared holds: {_ended(found, grades)}"),
            (bool(allowed.used_up), f"{_said(held)}, but {allowed.used_up}"),
        )
        because = next((text for holds, text in reasons if holds), "")
        after = AfterAttempt(escalated=not because, held=held, reason=because or _said(held))
        self._say(after=after)
        if lost and not stopped and not broken:
            # Without an answer the workflow is not what was declared, whatever graders would say.
            raise EnvironmentProblem(f"whether to escalate is not known: {because}")
        if because:
            return None
        if found.isolation is not None:
            found.isolation = without_limits(found.isolation, allowed.unknown)
        brief = self.spec.task.brief
        if escalation.tell == TELL_CHECKS:
            brief = with_checks(brief, grades, escalation.workspace)
        return replace(
            self.spec,
            task=replace(self.spec.task, brief=brief),
            configuration=escalation.to,
            limits=allowed.limits,
        )

    def _checks(self, escalation: Escalation) -> tuple[Grade, ...]:
        """What the visible checks say of what was left, if they are asked and there is anything."""
        found = self.found
        asked = Condition.CHECKS_FAIL in escalation.when and not self._rules_broken
        if not asked or not to_be_judged(self.spec, found, self.runner.launcher.cancel.is_set):
            return ()
        with (
            found.stage("check", self.runner.system),
            fresh_folder(Path(self.spec.work)) as work,
        ):
            assert found.change is not None  # noqa: S101 - see `to_be_judged`
            subject = subject_of(
                self.spec,
                found.change,
                work,
                objects=TemplateObjects(self.ground.made, self.ground.supplies.store),
                python=self.ground.graders_python,
                launcher=self.runner.launcher,
            )
            grades = self.check(subject)
        folder = attempt_folder(self.ground.session, len(found.attempts))
        found.visible[folder] = grades
        return grades

    @property
    def _rules_broken(self) -> bool:
        seen = self.found.sightings or ()
        return bool(violations(with_severities(seen, self.spec.severities)))

    def _set_aside(self) -> None:
        """Keep what the first attempt left with its files: the trial's is that of the last one."""
        change = self.found.change
        if change is not None:
            folder = attempt_folder(self.ground.session, len(self.found.attempts))
            self.found.patches[folder] = change.patch
            self._say(
                change=AttemptChange(
                    tree=change.tree,
                    files=len(change.changed),
                    insertions=change.insertions,
                    deletions=change.deletions,
                    omitted=len(change.omitted),
                )
            )
        self.found.change = self.found.result = None

    def _make_ready(self, escalation: Escalation, prompt: str) -> None:
        """Fresh folders for the second attempt, and the workspace as it is declared."""
        room = self.ground.room
        with self.found.stage("prepare", self.runner.system):
            if escalation.workspace == FRESH:
                remove_tree(room.workspace)
                self.ground.lay(room.workspace)
            elif room.workspace.is_symlink() or not room.workspace.is_dir():
                # An agent may remove or replace the very folder it was given.
                remove_tree(room.workspace)
                room.workspace.mkdir()
            for path in (room.home, room.temporary, room.output, room.files, room.prompt_file):
                remove_tree(path)
            room.make(prompt)


def to_be_judged(spec: TrialSpec, found: Findings, stopped: Callable[[], bool]) -> bool:
    """Whether graders have anything to look at: an end that counts, and something that was left."""
    if found.result is None or found.change is None or stopped():
        return False
    something = found.anything or spec.task.no_change_expected
    return something and found.result.end in GRADABLE


def both_isolations(before: Isolation | None, now: Isolation) -> Isolation:
    """What was enforced in every attempt so far."""
    if before is None:
        return now
    kept = tuple(dict.fromkeys((*before.limits_enforced, *now.limits_enforced)))
    return without_limits(replace(now, limits_enforced=kept), before.limits_not_enforced)


def without_limits(isolation: Isolation, names: tuple[str, ...]) -> Isolation:
    """The same, with limits that were not held after all."""
    loose = tuple(dict.fromkeys((*isolation.limits_not_enforced, *names)))
    kept = tuple(name for name in isolation.limits_enforced if name not in loose)
    return replace(isolation, limits_enforced=kept, limits_not_enforced=loose)


def _message(grade: Grade | None) -> str:
    return "" if grade is None else f"{grade.grader}: {grade.message}"


def _said(held: tuple[Condition, ...]) -> str:
    return " and ".join(one.words for one in held)


def _ended(found: Findings, grades: tuple[Grade, ...]) -> str:
    """How the first attempt ended, in a few words."""
    outcome = found.attempts[-1].outcome
    if outcome is not None:
        return f"it ended as {outcome.value.replace('_', ' ')}"
    if not grades:
        return "it came to its end"
    passed, total = sum(one.passed for one in grades), sum(one.total for one in grades)
    return f"{passed} of {total} visible checks pass"
