"""Everything that pages are made from, asked of one object that answers when it is asked.

What follows from the tree of a run is known by that tree's id and kept in the reader's cache; what
people wrote is read from the work tree. The keys say what an answer depends on, without reading it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import cast

from trialbook.errors import Problem, UserError
from trialbook.model.ledgerfiles import ALARMS, RUBRICS, RULES
from trialbook.model.plan import Plan
from trialbook.model.rubric import Rubric
from trialbook.model.suite import Suite
from trialbook.registry import Registry
from trialbook.reporting.brief import RunBrief, brief
from trialbook.reporting.facts_by_outcome import Measured, conduct_by_outcome, last_conduct
from trialbook.reporting.findings import Findings, findings, sent_back
from trialbook.reporting.gates import GateEntry, gates
from trialbook.reporting.results import RunResults, load_results
from trialbook.reporting.trial_facts import TrialFacts, load_facts
from trialbook.site.authored_files import digest_of_authored
from trialbook.site.keys import key_of
from trialbook.site.units import ConfigurationRef, TaskRef, TrialRef
from trialbook.stats.conduct import Conduct
from trialbook.storage.lock import StoredLock, locked_protocols, read_lock
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rows import TrialRow, rows
from trialbook.storage.rubrics import readable_rubrics
from trialbook.storage.suite_configurations import configuration_files
from trialbook.storage.suite_tasks import task_folders
from trialbook.storage.suites import load_suite, suite_names

_RESULTS = 2
"""How many runs' results are held at once: those of a large run are large."""

_DERIVED = frozenset({"results.csv", "report.md", ".gitattributes"})


class LedgerView:
    """One commit of a ledger, and the authored files beside it. One per process.

    Attributes:
        root: The ledger's root.
        reader: The ledger in git.
        registry: The plugins that there are.
    """

    def __init__(self, root: Path, reader: Reader, registry: Registry) -> None:
        self.root = root
        self.reader = reader
        self.registry = registry
        self._results: dict[RunRef, RunResults] = {}
        self._rows: dict[RunRef, Sequence[TrialRow]] = {}
        self._by_task: dict[RunRef, dict[str, list[TrialRow]]] = {}
        self._briefs: dict[RunRef, RunBrief] = {}
        self._facts: dict[TrialRef, TrialFacts] = {}
        self._suites: dict[str, tuple[Suite | None, tuple[Problem, ...]]] = {}
        self._authored: dict[str, str] = {}
        self._beside: dict[RunRef, str] = {}

    # --- what there is ---------------------------------------------------------------------------

    @cached_property
    def runs(self) -> tuple[RunRef, ...]:
        """Every run, in the order of time."""
        return tuple(sorted(self.reader.runs(), key=lambda run: (run.run, run.suite)))

    @cached_property
    def suites(self) -> tuple[str, ...]:
        """Every suite that has files or runs, by name."""
        return tuple(sorted({*suite_names(self.root), *(run.suite for run in self.runs)}))

    def runs_of(self, suite: str) -> tuple[RunRef, ...]:
        """The runs of a suite, in the order of time."""
        return tuple(run for run in self.runs if run.suite == suite)

    def trials(self, run: RunRef) -> tuple[TrialRef, ...]:
        """The trials of a run, in the order of their names; none is read for it."""
        return tuple(TrialRef(run, path) for path in sorted(self.reader.trial_paths(run)))

    def tasks(self, suite: str) -> tuple[TaskRef, ...]:
        """The tasks of a suite, by name: those on disk, and those of any run."""
        on_disk = {folder.name for folder in task_folders(self._folder(suite))}
        planned = {task for run in self.runs_of(suite) for task in self.brief(run).tasks}
        return tuple(TaskRef(suite, name) for name in sorted(on_disk | planned))

    def configurations(self, suite: str) -> tuple[ConfigurationRef, ...]:
        """The configurations of a suite, by name: those on disk, and those of any run."""
        on_disk = {file.stem for file in configuration_files(self._folder(suite))}
        planned = {
            one.name for run in self.runs_of(suite) for one in self.brief(run).configurations
        }
        return tuple(ConfigurationRef(suite, name) for name in sorted(on_disk | planned))

    # --- runs ------------------------------------------------------------------------------------

    def plan(self, run: RunRef) -> Plan:
        """The plan of a run."""
        return self.reader.plan(run)

    def brief(self, run: RunRef) -> RunBrief:
        """A run in short, for lists; cheap."""
        if run not in self._briefs:
            self._briefs[run] = self.reader.answer(
                run, "brief", RunBrief, lambda: brief(self.results(run), self.reader.is_closed(run))
            )
        return self._briefs[run]

    def briefs(self, suite: str | None = None) -> list[RunBrief]:
        """All runs in short, or those of a suite, in the order of time."""
        return [self.brief(run) for run in self.runs if suite in (None, run.suite)]

    def rows(self, run: RunRef) -> Sequence[TrialRow]:
        """Every trial of a run in one short row, as it counts now; cheap."""
        if run not in self._rows:
            known = self._results.get(run)
            standings = None if known is None else known.standings.values()
            self._rows[run] = rows(self.reader, run, standings)
        return self._rows[run]

    def rows_of_task(self, run: RunRef, task: str) -> Sequence[TrialRow]:
        """The same, of one task."""
        if run not in self._by_task:
            by_task: dict[str, list[TrialRow]] = {}
            for row in self.rows(run):
                by_task.setdefault(row.task, []).append(row)
            self._by_task[run] = by_task
        return self._by_task[run].get(task, ())

    def all_rows(self, suite: str | None = None) -> Iterator[tuple[RunRef, TrialRow]]:
        """The rows of all runs, or of those of a suite, in the order of time."""
        for run in self.runs:
            if suite in (None, run.suite):
                yield from ((run, row) for row in self.rows(run))

    def results(self, run: RunRef) -> RunResults:
        """The whole of a run: every trial, its corrections, its grades when they are asked for.

        Dear: for pages of that run and its trials. Only the last few are held.
        """
        if run not in self._results:
            while len(self._results) >= _RESULTS:
                del self._results[next(iter(self._results))]
            self._results[run] = load_results(self.reader, run)
        return self._results[run]

    def facts(self, trial: TrialRef) -> TrialFacts:
        """How the agent worked in a trial, and what its change is like."""
        run, path = trial
        if trial not in self._facts:
            if self._facts and next(iter(self._facts)).run != run:
                self._facts.clear()
            results = self.results(run)
            standing = results.standings[path]
            self._facts[trial] = load_facts(self.reader, run, results.plan, standing.trial)
        return self._facts[trial]

    def worked(self, run: RunRef) -> tuple[Measured, ...]:
        """How agents worked in a run, by configuration and by whether they were accepted."""
        return self.reader.answer(run, "worked", tuple[Measured, ...], lambda: self._worked(run))

    def _worked(self, run: RunRef) -> tuple[Measured, ...]:
        conducts = self.reader.answer_each(
            run, "conduct", cast("type[Conduct | None]", Conduct | None), self._conduct_in(run)
        )
        return conduct_by_outcome(self.results(run).trials, conducts)

    def _conduct_in(self, run: RunRef) -> Callable[[str], Conduct | None]:
        return lambda path: last_conduct(self.facts(TrialRef(run, path)))

    def prime(self, run: RunRef) -> None:
        """Keep in the cache what pages above runs will ask of it, while it is at hand."""
        self.brief(run)
        self.rows(run)
        sent_back(self.reader, run, self.results(run).standings)

    def forget(self) -> None:
        """Free what was read of single trials; what is known of whole runs stays."""
        self.reader.forget()
        self._facts.clear()

    @cached_property
    def findings(self) -> Findings:
        """What is sent back in the ledger; each run is read once while it stays as it is."""
        return findings(self.reader)

    @cached_property
    def gates(self) -> Sequence[GateEntry]:
        """Every gate of the ledger, oldest first; each is worked out once while its runs stay."""
        return gates(self.reader, self.runs)

    # --- what people wrote -----------------------------------------------------------------------

    def authored(self, suite: str) -> Suite | None:
        """A suite as it is on disk; None if it is not there or has mistakes (`faults`)."""
        return self._suite(suite)[0]

    def faults(self, suite: str) -> tuple[Problem, ...]:
        """The mistakes in the files of a suite; none of one that is not there."""
        return self._suite(suite)[1]

    def locks(self, suite: str) -> list[StoredLock]:
        """The locks of a suite on disk, by number; those that cannot be read are left out."""
        found = []
        for protocol in locked_protocols(self.root, suite):
            try:
                stored = read_lock(self.root, suite, protocol)
            except UserError:
                continue  # `suite lock` and verification say what is wrong with it.
            if stored is not None:
                found.append(stored)
        return found

    @property
    def rubrics(self) -> Sequence[Rubric]:
        """Every version of a rubric that can be read, by name and number."""
        return self._all_rubrics[0]

    @property
    def faulty_rubrics(self) -> Sequence[Problem]:
        """The mistakes of the others."""
        return self._all_rubrics[1]

    @cached_property
    def _all_rubrics(self) -> tuple[list[Rubric], list[Problem]]:
        return readable_rubrics(self.root)

    def _suite(self, suite: str) -> tuple[Suite | None, tuple[Problem, ...]]:
        if suite not in self._suites:
            self._suites[suite] = (None, ())
            if suite in suite_names(self.root):
                try:
                    self._suites[suite] = (load_suite(self.root, suite, self.registry), ())
                except UserError as error:
                    self._suites[suite] = (None, tuple(error.problems))
        return self._suites[suite]

    def _folder(self, suite: str) -> Path:
        return self.root / "suites" / suite

    # --- keys ------------------------------------------------------------------------------------

    @cached_property
    def runs_key(self) -> str:
        """All runs of the ledger, and what is recorded beside them (calibrations, rules)."""
        return " ".join(str(self.reader.object_id(name)) for name in ("runs", RUBRICS, RULES))

    @cached_property
    def alarms_key(self) -> str:
        """What people found out about gates."""
        return self.reader.object_id(ALARMS) or ""

    @cached_property
    def rubrics_key(self) -> str:
        """The rubrics on disk."""
        return digest_of_authored(self.root / RUBRICS)

    def run_key(self, run: RunRef) -> str:
        """The whole folder of a run."""
        return self.reader.object_id(f"runs/{run.path}") or ""

    def authored_key(self, suite: str) -> str:
        """The files of a suite on disk."""
        if suite not in self._authored:
            self._authored[suite] = digest_of_authored(self._folder(suite))
        return self._authored[suite]

    def suite_key(self, suite: str) -> object:
        """All runs of a suite and its files on disk."""
        return (self.reader.object_id(f"runs/{suite}"), self.authored_key(suite))

    def plan_key(self, run: RunRef) -> str:
        """The plan of a run."""
        return self.reader.object_id(f"runs/{run.path}/plan.json") or ""

    def beside_key(self, run: RunRef) -> str:
        """What a run's folder holds beside trials: plan, incidents, later grades and reviews."""
        if run not in self._beside:
            folder = f"runs/{run.path}"
            skipped = {*self.plan(run).tasks, *_DERIVED}
            names = [name for name in self.reader.ledger_names(folder) if name not in skipped]
            parts = [(name, self.reader.object_id(f"{folder}/{name}")) for name in names]
            self._beside[run] = key_of(tuple(parts))
        return self._beside[run]

    def task_key(self, task: TaskRef) -> object:
        """A task in all runs: its trials, the plans, and what the runs have beside trials."""
        parts = tuple(
            (run.run, self.reader.object_id(f"runs/{run.path}/{task.task}"), self.beside_key(run))
            for run in self.runs_of(task.suite)
        )
        return (parts, self.authored_key(task.suite))

    def trial_key(self, trial: TrialRef) -> object:
        """A trial among those of its task in its run, and what the run has beside trials.

        Where people are asked, every trial of the run: one may open what others keep sealed.
        """
        run, path = trial
        if self.plan(run).judgement is not None:
            return self.run_key(run)
        task = path.partition("/")[0]
        return (self.reader.object_id(f"runs/{run.path}/{task}"), self.beside_key(run))

    @cached_property
    def site_key(self) -> object:
        """Everything: all runs and all authored files."""
        files = [(suite, self.authored_key(suite)) for suite in self.suites]
        return (self.runs_key, self.rubrics_key, tuple(files))
