"""A run from plan to results: schedule, commit each trial, close; and the same after a crash.

The one place where execution, grading and the ledger meet. Only the thread that calls touches git.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from trialbook.errors import EnvironmentProblem, Interrupted, Refused, UserError
from trialbook.formats.records import to_json
from trialbook.model.digest import sha256
from trialbook.model.plan import Plan
from trialbook.model.suite import Suite
from trialbook.model.trial import Trial, TrialBundle, TrialSpec
from trialbook.registry import Registry
from trialbook.storage.corrections import standing, standings
from trialbook.storage.ledger import RUN_ATTRIBUTES, Ledger
from trialbook.storage.locks import exclusive_or_none
from trialbook.storage.messages import plan_message, results_message
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rooms import rooms
from trialbook.system import System, timestamp
from trialbook.workflow.clients import need_clients
from trialbook.workflow.interrupt import stop_on_signals
from trialbook.workflow.journal import InFlight, Journal
from trialbook.workflow.landing import Landing
from trialbook.workflow.outages import Outages
from trialbook.workflow.planning import DEFAULT_EXECUTOR, check_secrets, differences
from trialbook.workflow.results import one_corrects, refresh_results, regenerate
from trialbook.workflow.sandboxes import keep_out_of_sight, need_sandboxes
from trialbook.workflow.specs import PlanInUse, may_rerun, reruns_at_once
from trialbook.workflow.withheld import Withheld
from trialbook.workflow.worker import TrialWorker, cut_off

_LOOK_SECONDS = 0.2


class Observer(Protocol):
    """Is told what happens in a run, in the thread that runs it."""

    def began(self, plan: Plan, done: list[Trial]) -> None:
        """The run starts, or goes on after ``done``."""

    def started(self, spec: TrialSpec) -> None:
        """A trial was handed to the executor."""

    def finished(self, trial: Trial) -> None:
        """A trial is in the ledger."""

    def withheld(self, trial: Withheld) -> None:
        """A trial is over, but may not be committed."""

    def tick(self) -> None:
        """Time goes by."""

    def stopping(self, running: int) -> None:
        """The run was told to stop; so many trials are being ended."""

    def say(self, text: str) -> None:
        """Something happened that a person should know of, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How far a run came. ``trials`` are as they count, corrections included.

    ``first`` and ``last`` are the commits before and after it.
    ``withheld`` are trials that are over but may not be in the ledger, now or from earlier on:
    their slots count as not run, and the run is not complete. ``stopped`` says why the run ended
    before it was complete, where it did so by itself; or empty. ``to_close`` is the command
    that closes the incident that it opened, or empty. ``behind`` is the one of the
    warnings that says what keeps the user's work tree or index from showing the run; or empty.
    """

    plan: Plan
    trials: list[Trial]
    withheld: tuple[Withheld, ...]
    complete: bool
    interrupted: bool
    stopped: str
    to_close: str
    first: str | None
    last: str | None
    warnings: tuple[str, ...]
    behind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What every run needs: the ledger's place, plugins, the outside world, somebody to tell."""

    root: Path
    registry: Registry
    system: System
    observer: Observer


def start_run(bench: Bench, suite: Suite, plan: Plan) -> Ending:
    """Commit a plan, then do its trials.

    Raises:
        EnvironmentProblem: the ledger cannot be written.
    """
    ledger = Ledger.open(bench.root, bench.system)
    first = ledger.head()
    base = f"runs/{plan.path}"
    data = to_json(plan)
    commit = ledger.commit(
        {f"{base}/plan.json": data, f"{base}/.gitattributes": RUN_ATTRIBUTES}, plan_message(plan)
    )
    return _Run(bench, ledger, suite, plan, commit, data).go(first)


Choose = Callable[[PlanInUse, Reader], list[TrialSpec]]
"""Picks the trials to do, when that is not simply what the plan's policy has due."""


def resume_run(bench: Bench, suite: Suite, ref: RunRef, choose: Choose | None = None) -> Ending:
    """Go on with a run that was interrupted or killed.

    What was finished but not committed is committed; what was cut off is recorded as cancelled and
    run again, linked to what it replaces.

    Args:
        bench: What every run needs.
        suite: The suite, narrowed to what the plan has of it.
        ref: The run. It may be closed: then results are added for what is new.
        choose: Picks the trials to do; by default what is open and what the policy has due.

    Raises:
        UserError: the suite's files are not what the plan froze, or ``choose`` refuses.
    """
    ledger = Ledger.open(bench.root, bench.system)
    reader = Reader.open(bench.root, ledger.ref)
    data = reader.plan_bytes(ref)
    plan = reader.plan(ref)
    wrong = differences(plan, suite)
    if wrong:
        raise UserError(
            f"the suite is not what the plan of {ref.path} froze:\n  " + "\n  ".join(wrong),
            hint="restore these files to go on, or start a new run with `trialbook eval`",
        )
    commit = reader.commit_of(ref, "plan.json")
    if commit is None:
        raise Refused(f"no commit on this branch adds the plan of {ref.path}")
    return _Run(bench, ledger, suite, plan, commit, data).go(ledger.head(), choose)


def bring_into_step(root: Path, system: System, ref: RunRef) -> None:
    """Let the work tree and the index show a run's commits, where something kept them from it."""
    ledger = Ledger.open(root, system)
    ledger.sync(f"runs/{ref.path}")
    ledger.close()


@contextmanager
def _telling_how_to_go_on(run: str) -> Iterator[None]:
    """Let trouble with disk or git say what to do when it is over, not only what it was."""
    try:
        yield
    except EnvironmentProblem as problem:
        if "trialbook resume" in problem.hint:
            raise
        before = f"{problem.hint}; then " if problem.hint else ""
        hint = f"{before}`trialbook resume {run}` goes on, nothing that was finished is lost"
        raise EnvironmentProblem(problem.message, hint=hint) from problem


class _Run:
    """The state of a run while it is carried out."""

    def __init__(
        self,
        bench: Bench,
        ledger: Ledger,
        suite: Suite,
        plan: Plan,
        commit: str,
        data: bytes,
    ) -> None:
        self._bench = bench
        self._ledger = ledger
        self._plan = plan
        self._journal = Journal(ledger.state_folder(plan.suite, plan.run))
        self._ref = RunRef(suite=plan.suite, run=plan.run)
        self._cancel = threading.Event()
        self._trials: list[Trial] = []
        self._landing = Landing(
            ledger, self._journal, f"runs/{plan.path}", bench.system, bench.observer.finished
        )
        self._outages = Outages(plan, bench.root, ledger, bench.system, bench.observer.say)
        self._use = PlanInUse(
            plan=plan,
            suite=suite,
            commit=commit,
            sha256=sha256(data),
            root=bench.root,
            cache=bench.system.cache_folder(),
            work=bench.system.work_folder(),
        )

    def go(self, first: str | None, choose: Choose | None = None) -> Ending:
        with _telling_how_to_go_on(self._plan.run), exclusive_or_none(self._journal.lock) as held:
            if not held:
                raise UserError(
                    f"run {self._plan.run} is being worked on by another process",
                    hint="wait for it, or stop it with Ctrl-C where it runs",
                )
            self._journal.clear()
            with rooms(self._bench.system) as work:
                self._use = replace(self._use, work=work)
                try:
                    return self._go(first, choose)
                except KeyboardInterrupt:
                    raise Interrupted(self._plan.run) from None

    def _go(self, first: str | None, choose: Choose | None) -> Ending:
        reader = Reader.open(self._bench.root, self._ledger.ref)
        ref = self._ref
        self._ledger.sync(f"runs/{self._plan.path}")
        self._trials = reader.trials(ref)
        self._settle()
        if choose is None:
            due = self._use.due(self._trials)
        else:
            due = choose(self._use, Reader.open(self._bench.root, self._ledger.ref))
        kept_out = {trial.path for trial in self._journal.withheld.all()}
        due = [spec for spec in due if spec.slot.trial_path(spec.rerun) not in kept_out]
        check_secrets([spec.configuration for spec in due], self._bench.system)
        used_sandboxes = {spec.sandbox for spec in due}
        need_sandboxes(used_sandboxes, self._bench.registry)
        keep_out_of_sight(
            used_sandboxes, self._bench.registry, self._bench.root, self._bench.system
        )
        if self._trials:
            used = {spec.configuration.name: spec.configuration for spec in due}
            need_clients(self._plan, used.values(), self._bench.registry)
        self._bench.observer.began(self._plan, list(self._trials))
        with stop_on_signals(self._cancel):
            self._work(due)
        complete = not self._use.due(self._trials)
        if complete:
            self._close()
        self._ledger.sync(f"runs/{self._plan.path}")
        now = standings(Reader.open(self._bench.root, self._ledger.ref), ref)
        return Ending(
            plan=self._plan,
            trials=[one.trial for one in now],
            withheld=tuple(self._journal.withheld.all()),
            complete=complete,
            interrupted=self._cancel.is_set(),
            stopped=self._outages.stopped,
            to_close=self._outages.to_close,
            first=first,
            last=self._ledger.head(),
            warnings=tuple(self._ledger.warnings),
            behind=self._ledger.behind,
        )

    def _settle(self) -> None:
        """Bring what a killed runner left into the ledger."""
        known = {trial.path for trial in self._trials}
        known |= {trial.path for trial in self._journal.withheld.all()}
        spooled = sorted(self._journal.spooled(), key=lambda one: one.record.finished)
        for bundle in spooled:
            if bundle.record.path not in known:
                self._record(bundle)
                known.add(bundle.record.path)
        self._landing.commit()
        for note in self._journal.in_flight():
            if note.path not in known:
                if self._journal.goes_on(note):
                    continue
                self._record(self._cut_off(note))
                self._landing.commit()
            self._journal.committed(note.path)

    def _cut_off(self, note: InFlight) -> TrialBundle:
        slot, rerun = self._use.place(note.path)
        replaced = None
        if rerun:
            reader = Reader.open(self._bench.root, self._ledger.ref)
            replaced = standing(reader, self._ref, slot.trial_path(rerun - 1)).trial
        return cut_off(
            self._use.spec(slot, replaced, note.incident),
            started=note.started,
            finished=timestamp(self._bench.system.now()),
            reason="the runner ended while the trial ran",
        )

    def _work(self, due: Iterable[TrialSpec]) -> None:
        worker = TrialWorker(
            registry=self._bench.registry,
            system=self._bench.system,
            cancel=self._cancel,
            progress=lambda spec: self._journal.series.of_trial(spec.slot.trial_path(spec.rerun)),
        )

        def spooled(spec: TrialSpec) -> TrialBundle:
            bundle = worker(spec)
            self._journal.finished(bundle)
            return bundle

        queue = deque(due)
        running: dict[Future[TrialBundle], TrialSpec] = {}
        told = False
        pool = self._bench.registry.executor(DEFAULT_EXECUTOR).open(spooled, self._plan.jobs)
        try:
            while running or (queue and self._goes_on):
                while queue and len(running) < self._plan.jobs and self._may_start:
                    spec = queue.popleft()
                    path = spec.slot.trial_path(spec.rerun)
                    self._journal.started(path, timestamp(self._bench.system.now()), spec.incident)
                    running[pool.submit(spec)] = spec
                    self._bench.observer.started(spec)
                    self._outages.started(path)
                # While trials run, not between them.
                self._landing.commit_if_due()
                for future in self._ended(running):
                    del running[future]
                    queue.extend(self._finish(future.result()))
                if self._cancel.is_set() and not told:
                    self._bench.observer.stopping(len(running))
                    told = True
                self._bench.observer.tick()
            self._landing.commit()
        except BaseException:
            # The trials that run end at once; what is finished is kept for `resume`.
            self._cancel.set()
            raise
        finally:
            pool.close()

    @property
    def _goes_on(self) -> bool:
        return not (self._cancel.is_set() or self._outages.stopped)

    @property
    def _may_start(self) -> bool:
        return self._goes_on and self._outages.may_start()

    def _ended(self, running: Iterable[Future[TrialBundle]]) -> Iterable[Future[TrialBundle]]:
        """The trials that are over, after a moment in which one of them may end."""
        if not running:
            self._cancel.wait(0 if self._may_start else _LOOK_SECONDS)
            return ()
        return wait(running, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED).done

    def _finish(self, bundle: TrialBundle) -> list[TrialSpec]:
        """Hand a trial to the ledger; gives the rerun that the policy asks for at once, if any."""
        trial = bundle.record
        if bundle.withheld:
            self._journal.committed(trial.path)
            self._outages.ended(trial, self._landing.commit)
            kept = self._journal.withheld.all()
            self._bench.observer.withheld(next(one for one in kept if one.path == trial.path))
            return []
        if self._journal.goes_on(trial):
            return []
        self._record(bundle)
        self._outages.ended(trial, self._landing.commit)
        chain = sorted(
            (other for other in self._trials if other.slot == trial.slot),
            key=lambda other: other.rerun,
        )
        if reruns_at_once(trial.outcome) and may_rerun(self._plan, chain):
            return [self._use.spec(trial.slot, trial)]
        return []

    def _record(self, bundle: TrialBundle) -> None:
        self._trials.append(bundle.record)
        self._landing.add(bundle)

    def _close(self) -> None:
        """Write the results; if that was done before, add to them what they lack."""
        root, base = self._bench.root, f"runs/{self._plan.path}"
        with one_corrects(self._ledger, self._ref):
            reader = Reader.open(root, self._ledger.ref)
            if reader.is_closed(self._ref):
                why = "trials were run again"
                refresh_results(root, self._ledger, self._ref, why, self._bench.system)
                return
            made = regenerate(reader, self._ref)
            trials = [one.trial for one in standings(reader, self._ref)]
            self._ledger.commit(
                {f"{base}/{name}": data for name, data in made.items()},
                results_message(self._plan, trials),
            )
