"""Asks the checks of a session, where no agent can see them: at its start and at its end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trialbook.execution.change import change_between
from trialbook.execution.findings import Findings
from trialbook.execution.session_done import GivenGrade
from trialbook.execution.setting import Setting
from trialbook.model.series import Moment, SessionPart, SessionPlan
from trialbook.storage.files import fresh_folder
from trialbook.storage.trees import FolderTree


@dataclass(slots=True, kw_only=True)
class SessionChecks:
    """The checks of one session; ``given`` are the answers so far."""

    setting: Setting
    plan: SessionPlan
    found: Findings
    given: list[GivenGrade] = field(default_factory=list)
    _known: dict[tuple[SessionPart, Moment, str], GivenGrade] = field(default_factory=dict)

    def ask(self, moment: Moment, start: str, tree: str) -> None:
        """Ask all that is asked at that moment, as long as nobody ends the run.

        Args:
            moment: The start or the end.
            start: The tree that the session began with.
            tree: The tree that is looked at.
        """
        parts = [part for part, _ in self.plan.uses(moment)]
        if moment is Moment.START and self.plan.regressions and self.plan.private is not None:
            # What is broken is known before anybody repairs it.
            parts.append(SessionPart.PRIVATE)
        with self.found.stage("grade", self.setting.runner.system):
            for part in parts:
                if not self.setting.is_stopped():
                    self.given.append(self.answer(part, moment, start, tree))

    def answer(self, part: SessionPart, moment: Moment, start: str, tree: str) -> GivenGrade:
        """What one part of the checks says of a tree.

        Structural checks look at what the session changed. Tests look at the whole series, so that
        what they protect is taken from the task's own starting tree. What was answered already is
        not asked again.
        """
        key = (part, moment, tree)
        if key not in self._known:
            self._known[key] = self._answer(part, moment, start, tree)
        return self._known[key]

    def _answer(self, part: SessionPart, moment: Moment, start: str, tree: str) -> GivenGrade:
        setting = self.setting
        use = dict(self.plan.uses(Moment.END))[part]
        base = start if part is SessionPart.CHECKS else setting.made.tree
        final = FolderTree(tree=tree, omitted=())
        spec = replace(
            setting.spec,
            task=replace(setting.spec.task, brief=self.plan.brief, graders=(use,)),
            workspace_tree=base,
        )
        with fresh_folder(setting.work) as work:
            change = change_between(setting.store, base, final, work=work)
            (grade,) = setting.grade(setting.subject(spec, change, work))
        return GivenGrade(part=part, moment=moment, grade=grade)
