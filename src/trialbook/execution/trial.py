"""One trial, stage by stage: prepare, run the agent, capture the change, have it graded.

The stages are data passed on. Grading comes in as a function, so that this room needs no grader;
nothing here knows the ledger.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from trialbook.errors import EnvironmentProblem, TrialbookError
from trialbook.execution.attempt import AttemptRunner, Ground
from trialbook.execution.attempts import Attempts, to_be_judged
from trialbook.execution.beginning import lay_baseline, need_clean
from trialbook.execution.findings import Findings, GradeTrial, TrySeries
from trialbook.execution.known_answers import KnownAnswers
from trialbook.execution.launch import Launcher
from trialbook.execution.network import Access, access_to, record_of, sightings_of
from trialbook.execution.prepare import Supplies, starting_point
from trialbook.execution.reachable import package_places, shown_places
from trialbook.execution.room import Room
from trialbook.execution.series import Series
from trialbook.execution.session_done import NoProgress, Progress
from trialbook.execution.setting import Setting
from trialbook.execution.shown import shown_to
from trialbook.execution.toolchain import ToolchainFailure, Toolchains, bare_python
from trialbook.execution.workspace import Template, template
from trialbook.model.runfiles import EGRESS_LOG, TOOLCHAIN_LOG
from trialbook.model.trial import TrialSpec, WorkspaceRecord
from trialbook.storage.files import fresh_folder, remove_tree
from trialbook.storage.repository import Store
from trialbook.system import System, timestamp

_NOTHING = NoProgress()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRunner:
    """Does trials with one launcher and one system; threads may share it.

    ``grade`` judges what a trial left; ``check`` answers those checks that agents may know;
    ``try_series`` finds out what can be over all sessions of a series.
    """

    launcher: Launcher
    system: System
    grade: GradeTrial
    check: GradeTrial
    try_series: TrySeries
    answers: KnownAnswers = field(default_factory=KnownAnswers)

    def findings(self, spec: TrialSpec, progress: Progress = _NOTHING) -> Findings:
        """Go through the stages as far as they can be gone through.

        ``progress`` keeps the sessions of a series that are over.

        Trouble on our side ends the trial and is told in ``trouble``; it never counts as a result.
        """
        found = Findings(started=timestamp(self.system.now()))
        try:
            with fresh_folder(Path(spec.work)) as root:
                self._stages(spec, Room(root=root), found, progress)
        except (TrialbookError, OSError) as error:
            hint = getattr(error, "hint", "")
            found.trouble = f"{error}" + (f" ({hint})" if hint else "")
        except Exception as error:  # noqa: BLE001 - an unknown error is never a valid result
            found.trouble = f"unexpected {type(error).__name__}: {error}"
            found.files["runner-error.txt"] = traceback.format_exc().encode()
        return found

    def _stages(self, spec: TrialSpec, room: Room, found: Findings, progress: Progress) -> None:
        cache = Path(spec.cache)
        supplies = Supplies(
            suite_folder=Path(spec.suite_folder), store=Store.at(cache / "objects"), cache=cache
        )
        with found.stage("prepare", self.system):
            made = self._prepare(spec, room, supplies, found)
            python = self._toolchain(spec, supplies, found)
            self._look_for_answer(spec, python, supplies, made, found)
        own = python if spec.task.toolchain else bare_python()
        setting = Setting(
            runner=AttemptRunner(launcher=self.launcher, system=self.system),
            check=self.check,
            grade=self.grade,
            spec=spec,
            made=made,
            supplies=supplies,
            python=own,
            graders_python=python,
            open_access=self._access,
        )
        if spec.task.sessions:
            remove_tree(room.workspace)  # Each session has a room of its own.
            Series(setting=setting, found=found, progress=progress).make()
        else:
            self._one_session(setting, room, found)
        if to_be_judged(spec, found, self.launcher.cancel.is_set) and not found.cut_short:
            assert found.change is not None  # noqa: S101 - see `to_be_judged`
            with found.stage("grade", self.system), fresh_folder(Path(spec.work)) as work:
                found.grades = self.grade(setting.subject(spec, found.change, work))
        self._look_back(setting, found)

    def _look_back(self, setting: Setting, found: Findings) -> None:
        """Find out over a whole series what can be; nothing stands for a part of it."""
        spec = setting.spec
        if not found.sessions or found.change is None:
            return
        if not setting.is_stopped():
            records = [one.record for one in found.sessions]
            with found.stage("look back", self.system), fresh_folder(Path(spec.work)) as work:
                found.series = self.try_series(setting.subject(spec, found.change, work), records)
        if setting.is_stopped():
            found.series, found.cut_short = None, True

    def _one_session(self, setting: Setting, room: Room, found: Findings) -> None:
        """The attempts of an ordinary task."""
        spec, made = setting.spec, setting.made
        room.make(spec.task.brief)

        def lay(workspace: Path) -> None:
            need_clean(lay_baseline(made, workspace, links=spec.task.snapshot.links))

        with self._access(spec, room, setting.python, found) as access:
            ground = Ground(
                room=room,
                made=made,
                lay=lay,
                supplies=setting.supplies,
                python=setting.python,
                graders_python=setting.graders_python,
                access=access,
            )
            Attempts(
                runner=setting.runner, check=self.check, spec=spec, ground=ground, found=found
            ).make()

    def _toolchain(self, spec: TrialSpec, supplies: Supplies, found: Findings) -> str:
        """What the task needs to run is made ready; gives its interpreter."""
        if spec.task.toolchain is None:
            return sys.executable
        toolchains = Toolchains(
            suite_folder=supplies.suite_folder,
            cache=supplies.cache,
            system=self.system,
            registry=self.launcher.registry,
        )
        try:
            made = toolchains.prepared(spec.task.toolchain, spec.sandbox, turn=spec.rerun)
        except ToolchainFailure as failure:
            found.files[TOOLCHAIN_LOG] = failure.log
            raise
        found.toolchain = made.use
        return made.interpreter

    def _prepare(
        self, spec: TrialSpec, room: Room, supplies: Supplies, found: Findings
    ) -> Template:
        if spec.workspace_tree not in supplies.store:
            again = starting_point(spec.task, spec.configuration, supplies)
            if again.workspace_tree != spec.workspace_tree:
                raise EnvironmentProblem(
                    f"the snapshot of {spec.task.name} is not what the plan froze: tree "
                    f"{again.workspace_tree}, planned {spec.workspace_tree}",
                    hint="restore the snapshot's source, or start a new run",
                )
        made = template(supplies.store, spec.workspace_tree, supplies.cache)
        found.workspace = WorkspaceRecord(
            source=spec.source,
            snapshot_tree=spec.snapshot_tree,
            baseline_tree=spec.workspace_tree,
            baseline_commit=made.commit,
            files=made.files,
            audit=lay_baseline(made, room.workspace, links=spec.task.snapshot.links),
        )
        need_clean(found.workspace.audit)
        return made

    def _look_for_answer(
        self, spec: TrialSpec, python: str, supplies: Supplies, made: Template, found: Findings
    ) -> None:
        if spec.task.reference is None:
            return
        toolchain = spec.task.toolchain
        home, agents = self.system.home(), self.launcher.registry.agent
        specs = [replace(spec, configuration=stage) for stage in spec.configuration.stages]
        shown = [
            path for one in specs for path in shown_to(agents(one.configuration.agent), one, home)
        ]
        places = shown_places(list(dict.fromkeys(shown)))
        if toolchain is None or toolchain.image is None:
            places += package_places(python if toolchain else bare_python())
        look = self.answers.look(spec, places, supplies, made.objects)
        if look.row is not None and found.workspace is not None:
            rows = (*found.workspace.audit, look.row)
            found.workspace = replace(found.workspace, audit=rows)
            found.see(look.sightings)
        look.refuse()

    @contextmanager
    def _access(
        self, spec: TrialSpec, room: Room, python: str, found: Findings
    ) -> Iterator[Access]:
        """The agent's network while it works; afterwards what was seen of it is in the findings."""
        network = spec.configuration.network
        found.isolation = self.launcher.isolation(spec)
        held = found.isolation.network_enforced
        way = None
        toolchain = spec.task.toolchain
        # On this host it is a bare one; an image may have no other than its own.
        inside = python if toolchain is not None and toolchain.image is not None else None
        try:
            with access_to(network, room, self.system.now, held=held, python=inside) as access:
                way = access.way
                yield access
        finally:
            if way is not None:
                found.egress = record_of(way.log)
                found.see(sightings_of(way.log, network))
                if lines := way.log.lines():
                    found.files[EGRESS_LOG] = lines
