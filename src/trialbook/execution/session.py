"""One session of a series: a fresh room with the repository as it was left, an agent, its checks.

The same attempts as in an ordinary trial are made in it. What is private is only ever asked where
no agent can see it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trialbook.execution.allowance import Allowance, allowance
from trialbook.execution.attempt import Ground
from trialbook.execution.attempts import Attempts, without_limits
from trialbook.execution.beginning import lay_baseline, need_clean
from trialbook.execution.carry import left_repository
from trialbook.execution.findings import Findings
from trialbook.execution.handover import Cleared, look_at
from trialbook.execution.relay import lay_repository
from trialbook.execution.room import Room
from trialbook.execution.session_checks import SessionChecks
from trialbook.execution.session_done import DoneSession
from trialbook.execution.session_record import Recording
from trialbook.execution.session_start import Beginning, beginning
from trialbook.execution.setting import Setting
from trialbook.model.series import Moment, Regression, SessionPart, SessionPlan
from trialbook.model.session import RepositoryState
from trialbook.model.trial import TrialSpec
from trialbook.storage.files import fresh_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session while it runs. ``before`` are those that are done, in their order.

    ``interrupted`` is how often it was begun before, by runners that ended. What is found goes to
    ``found``.
    """

    setting: Setting
    number: int
    plan: SessionPlan
    before: Sequence[DoneSession]
    interrupted: int
    found: Findings

    def run(self) -> DoneSession | None:
        """Do the session; None if it was stopped before it was over.

        Raises:
            TrialbookError: something on our side is in the way.
        """
        setting, found = self.setting, self.found
        checks = SessionChecks(setting=setting, plan=self.plan, found=found)
        with found.stage("handover", setting.runner.system):
            begun = beginning(setting, self.plan, self._left, self._fails(checks))
        allowed = self._allowed()
        recording = Recording(
            setting=setting,
            number=self.number,
            plan=self.plan,
            before=self.before,
            interrupted=self.interrupted,
            begun=begun,
        )
        if because := begun.left_out or allowed.used_up:
            return recording.left_out(found, because)
        with fresh_folder(setting.work) as root:
            room = Room(root=root)
            cleared = self._make_ready(room, begun)
            checks.ask(Moment.START, begun.before.tree, begun.state.tree)
            self._work(self._spec(begun, allowed), room, begun.state)
            if found.isolation is not None:
                found.isolation = without_limits(found.isolation, allowed.unknown)
            end = self._left_in(room.workspace)
        if end is None or setting.is_stopped():
            return None
        checks.ask(Moment.END, begun.state.tree, end.tree)
        return None if setting.is_stopped() else recording.done(found, end, cleared, checks.given)

    @property
    def _left(self) -> RepositoryState:
        return self.before[-1].record.end if self.before else self.setting.first_state

    def _fails(self, checks: SessionChecks) -> Callable[[Regression, str], bool]:
        def fails(regression: Regression, tree: str) -> bool:
            if self.plan.private is None:
                return False
            given = checks.answer(SessionPart.PRIVATE, Moment.START, tree, tree)
            failed = {one.id for one in given.grade.checks if one.passed is False}
            return not failed.isdisjoint(regression.reported)

        return fails

    def _allowed(self) -> Allowance:
        earlier = [one for done in self.before for one in done.attempts]
        return allowance(self.setting.spec.limits, self.plan.limits, earlier)

    def _spec(self, begun: Beginning, allowed: Allowance) -> TrialSpec:
        visible = () if self.plan.checks is None else (self.plan.checks,)
        spec = self.setting.spec
        return replace(
            spec,
            task=replace(spec.task, brief=begun.brief, graders=visible),
            workspace_tree=begun.state.tree,
            limits=allowed.limits,
        )

    def _make_ready(self, room: Room, begun: Beginning) -> Cleared:
        with self.found.stage("prepare", self.setting.runner.system):
            self._lay(begun.state, room.workspace)
            room.make(begun.brief)
            return look_at(room)

    def _lay(self, state: RepositoryState, workspace: Path) -> None:
        setting = self.setting
        if state == setting.first_state:
            links = setting.spec.task.snapshot.links
            need_clean(lay_baseline(setting.made, workspace, links=links))
        else:
            lay_repository(setting.store, state, setting.made.commit, workspace)

    def _work(self, spec: TrialSpec, room: Room, state: RepositoryState) -> None:
        setting, found = self.setting, self.found
        with setting.open_access(spec, room, setting.python, found) as access:
            ground = Ground(
                room=room,
                made=setting.made,
                lay=lambda workspace: self._lay(state, workspace),
                supplies=setting.supplies,
                python=setting.python,
                graders_python=setting.graders_python,
                access=access,
                session=self.number,
                session_name=self.plan.name,
            )
            Attempts(
                runner=setting.runner, check=setting.check, spec=spec, ground=ground, found=found
            ).make()

    def _left_in(self, workspace: Path) -> RepositoryState | None:
        """The repository as the agent left it; None if that was not looked at."""
        setting, change = self.setting, self.found.change
        if change is None:
            return None
        with self.found.stage("capture", setting.runner.system):
            baseline, store = setting.made.commit, setting.store
            return left_repository(workspace, change.tree, baseline, store, setting.work)
