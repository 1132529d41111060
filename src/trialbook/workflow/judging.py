"""Has a judge read the stored diffs of a run, for every configuration alike.

The grades are a generation, committed whole like any other. What was judged before an interruption
is kept in the run's private notes, and the same command goes on from there.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from trialbook import __version__
from trialbook.errors import UserError
from trialbook.execution.asking import configuration_of
from trialbook.execution.room import secrets_of
from trialbook.grading.judge_diff import show_diff
from trialbook.grading.judge_grade import Panel, grade_of, refused, with_trust
from trialbook.grading.judge_planted import planted_in
from trialbook.grading.judge_vote import Cancelled, Case, vote
from trialbook.model.digest import sha256
from trialbook.model.family import same_family
from trialbook.model.generation import Generation
from trialbook.model.grade import Grade, GradeStatus
from trialbook.model.judge import DEFAULT_RUBRIC, judge_grader
from trialbook.model.judgement import Trusted
from trialbook.model.plan import Plan
from trialbook.model.regrade import LeftOut, Regrade, UsedGrader
from trialbook.model.runfiles import PATCH, attempt_folder
from trialbook.model.standing import Standing
from trialbook.model.suite import ArtifactPolicy
from trialbook.storage.corrections import before_people, regrades
from trialbook.storage.corrections import grades as standing_grades
from trialbook.storage.ledger import Ledger
from trialbook.storage.locks import exclusive_or_none
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rooms import rooms
from trialbook.storage.scanner import Scanner, installed_scanner
from trialbook.storage.trust import trust_of
from trialbook.system import timestamp
from trialbook.workflow.authorship import author_of
from trialbook.workflow.grade_again import JUDGED, GradingBench
from trialbook.workflow.grade_differences import Again, PlacedGrade, differences, settled
from trialbook.workflow.interrupt import stop_on_signals
from trialbook.workflow.journal import Journal
from trialbook.workflow.judge_setup import ReadyJudge, ready_judge, used_rubric
from trialbook.workflow.judged_so_far import JudgedSoFar
from trialbook.workflow.keeping import Keeper
from trialbook.workflow.new_grades import Graded, commit_grades, regraded_trial
from trialbook.workflow.results import one_corrects, refresh_results

_KILOBYTE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """What to have judged: by which judge and rubric, ``jobs`` diffs at once.

    Without ``rubric``, the one that the run's plan names. With ``again``, verdicts that the same
    judge gave before are not taken over.
    """

    judge: str
    rubric: str | None = None
    jobs: int = 1
    author: str | None = None
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """What came of it. ``commit`` is None if there was nothing new to add.

    ``taken_over`` of the ``grades`` were given before, by the very same judge.
    """

    ready: ReadyJudge
    trusted: Trusted
    regrade: Regrade
    grades: dict[str, Grade]
    taken_over: int
    commit: str | None
    generation: Generation | None
    warnings: tuple[str, ...]


def usual_rubric(plan: Plan) -> str:
    """The rubric that a run's trials are judged by, where nothing else is said."""
    return DEFAULT_RUBRIC if plan.judgement is None else plan.judgement.rubric


def judge_run(bench: GradingBench, run: RunRef, request: JudgeRequest) -> JudgedRun:
    """Have the diffs of a run judged and commit the grades as a new generation.

    Raises:
        UserError: the run is being worked on, has nothing to judge, or judge or rubric have
            mistakes.
        EnvironmentProblem: the judge cannot be asked; what it had judged is kept.
    """
    ledger = Ledger.open(bench.root, bench.system)
    folder = ledger.state_folder(run.suite, run.run)
    with exclusive_or_none(Journal(folder).lock) as held:
        if not held:
            raise UserError(
                f"run {run.run} is being worked on by another process", hint="wait for it"
            )
        so_far = JudgedSoFar(folder)
        so_far.clear()
        reader = Reader.open(bench.root, ledger.ref)
        graded = Graded(ledger=ledger, reader=reader, run=run, plan=reader.plan(run))
        return _Judging(bench, graded, request, so_far).go()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """A trial as it lies in the ledger."""

    standing: Standing
    old: tuple[PlacedGrade, ...]
    patch: bytes
    brief: str
    because: str = ""


class _Judging:
    """The state of judging one run."""

    def __init__(
        self, bench: GradingBench, graded: Graded, request: JudgeRequest, so_far: JudgedSoFar
    ) -> None:
        self._bench = bench
        self._graded = graded
        self._request = request
        self._so_far = so_far
        self._cancel = threading.Event()
        # Of this moment is how far the judge is trusted, so the record is of it, too.
        self._now = bench.system.now()
        self._taken: set[str] = set()
        self._briefs: dict[str, str | None] = {}

    def go(self) -> JudgedRun:
        graded = self._graded
        author = author_of(graded.ledger, self._request.author)
        reference = self._request.rubric or usual_rubric(graded.plan)
        rubric = used_rubric(self._bench.root, reference, graded.reader)
        grader = judge_grader(self._request.judge, rubric.reference, usual_rubric(graded.plan))
        todo = [one for one in before_people(graded.reader, graded.run) if one.record.grades]
        if not todo:
            raise UserError(f"no trial of {graded.run.path} was graded, so there is none to judge")
        with rooms(self._bench.system) as work:
            ready = ready_judge(self._bench, self._request.judge, rubric, work, self._cancel)
            trusted = trust_of(
                self._bench.root, graded.reader, ready.identity, rubric.reference, self._now
            )
            panel = Panel(
                grader=grader,
                asked=ready.asked,
                identity=ready.identity,
                trust=trusted,
                votes=ready.judge.votes,
                isolated=ready.isolated,
            )
            again = self._all(ready, panel, [self._stored(one) for one in todo])
        regrade = self._regrade(ready, panel, again, author)
        commit = generation = None
        if self._anything_new(again):
            with one_corrects(graded.ledger, graded.run):
                commit = commit_grades(graded, regrade, again)
                generation = refresh_results(
                    self._bench.root,
                    graded.ledger,
                    graded.run,
                    f"judge {regrade.id}",
                    self._bench.system,
                )
        self._so_far.committed()
        return JudgedRun(
            ready=ready,
            trusted=trusted,
            regrade=regrade,
            grades={one.path: one.new[0] for one in again if one.new and not one.because},
            taken_over=len(self._taken),
            commit=commit,
            generation=generation,
            warnings=tuple(graded.ledger.warnings),
        )

    # --- what there is -----------------------------------------------------------------------

    def _stored(self, standing: Standing) -> _Stored:
        graded, record = self._graded, standing.record
        folder = record.path
        grades = standing_grades(graded.reader, graded.run, standing)
        patch = graded.reader.file(graded.run, f"{folder}/{PATCH}")
        if record.task not in self._briefs:
            self._briefs[record.task] = self._brief(record.task)
        brief = self._briefs[record.task]
        old = tuple(
            PlacedGrade(
                grade=grade,
                file=file,
                sha256=sha256(graded.reader.file(graded.run, f"{folder}/{file}") or b""),
            )
            for grade, file in zip(grades, standing.grade_files, strict=True)
        )
        because = _unjudgeable(standing, patch)
        if not because and brief is None:
            because = "its brief is not on record as it was planned"
        return _Stored(
            standing=standing, old=old, patch=patch or b"", brief=brief or "", because=because
        )

    def _brief(self, task: str) -> str | None:
        """The brief as every configuration was given it; None if no trial kept it so."""
        graded = self._graded
        planned = graded.plan.tasks.get(task)
        for trial in graded.reader.trials(graded.run):
            if trial.task == task and planned is not None:
                path = f"{trial.path}/{attempt_folder(1, 1)}/prompt.md"
                data = graded.reader.file(graded.run, path)
                if data is not None and sha256(data) == planned.brief_sha256:
                    return data.decode("utf-8", "replace")
        return None

    # --- judging -----------------------------------------------------------------------------

    def _all(self, ready: ReadyJudge, panel: Panel, stored: Sequence[_Stored]) -> list[Again]:
        """Judge all of them, some at once; whatever ends it, the finished ones are kept."""
        found: list[Again] = []
        pool = ThreadPoolExecutor(self._request.jobs)
        try:
            with stop_on_signals(self._cancel):
                judged = pool.map(lambda one: self._one(ready, panel, one), stored)
                for number, one in enumerate(judged, 1):
                    found.append(one)
                    self._bench.tell(f"[{number}/{len(stored)}] {one.path}: {_summed_up(one)}")
        except BaseException:
            self._cancel.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return found

    def _one(self, ready: ReadyJudge, panel: Panel, stored: _Stored) -> Again:
        again = Again(standing=stored.standing, old=stored.old, because=stored.because)
        if stored.because:
            return again
        before = self._before(panel, stored)
        if before is not None:
            self._taken.add(again.path)
            return settled(replace(again, new=(before,)))
        key = (
            panel.identity.sha256,
            panel.grader,
            again.path,
            sha256(stored.patch),
            sha256(stored.brief.encode()),
        )
        grade = self._so_far.grade(*key)
        if grade is None:
            if self._cancel.is_set():
                raise Cancelled
            grade, problem = self._clean(ready, self._judged(ready, panel, stored))
            if problem:
                return replace(again, because=problem)
            self._so_far.keep(grade, *key)
        return settled(replace(again, new=(with_trust(grade, panel.trust),)))

    def _before(self, panel: Panel, stored: _Stored) -> Grade | None:
        """The grade that the very same judge gave this trial before, if it may be taken over."""
        if self._request.again:
            return None
        for one in stored.old:
            judgement = one.grade.judgement
            if one.grade.grader != panel.grader or judgement is None:
                continue
            if one.grade.status is GradeStatus.GRADED and (
                judgement.identity.sha256 == panel.identity.sha256
            ):
                return with_trust(one.grade, panel.trust)
        return None

    def _judged(self, ready: ReadyJudge, panel: Panel, stored: _Stored) -> Grade:
        diff = show_diff(stored.patch)
        size = len(diff.text.encode())
        if size > ready.judge.diff_kb * _KILOBYTE:
            because = (
                f"the diff has {size / _KILOBYTE:.0f} kB, and {ready.judge.diff_kb:g} kB is the "
                "most that this judge is shown"
            )
            return refused(panel, diff, because)
        case = Case(
            asked=panel.asked, brief=stored.brief, diff=diff, token=self._bench.system.token
        )
        votes = [vote(case, ready.asker.ask) for _ in range(panel.votes)]
        record = stored.standing.record
        model = record.agent.model if record.agent is not None else None
        alike = same_family(ready.judge.model, model)
        return grade_of(panel, votes, diff, planted_in(stored.patch), same_family=alike)

    def _clean(self, ready: ReadyJudge, grade: Grade) -> tuple[Grade, str]:
        """The grade without anything secret in it, or why it cannot be kept."""
        system = self._bench.system
        secrets = secrets_of(configuration_of(ready.judge), system.environ)
        cache = system.cache_folder() / "scanner"
        scan = Scanner(cache) if installed_scanner() else None
        kept = Keeper(secrets, ArtifactPolicy(), scan).keep({}, None, [grade])
        return kept.grades[0], "; ".join(kept.problems)

    # --- what it comes to --------------------------------------------------------------------

    def _anything_new(self, again: Sequence[Again]) -> bool:
        """Whether anything differs from the grades that stand, trust in the judge included."""
        counted = [one for one in again if not one.because]
        return any(one.first or any(old != new for old, new in one.pairs) for one in counted)

    def _regrade(
        self, ready: ReadyJudge, panel: Panel, again: Sequence[Again], author: str
    ) -> Regrade:
        graded, system = self._graded, self._bench.system
        name = system.unique_name()
        tasks = {task: planned.digest for task, planned in graded.plan.tasks.items()}
        for earlier in regrades(graded.reader, graded.run):
            tasks = dict(earlier.tasks)  # the other graders' grades are still by these
        return Regrade(
            id=name,
            run=graded.run.path,
            created=timestamp(self._now),
            author=author,
            reason=f"judged by {ready.judge.name} with {panel.asked.rubric.reference}",
            trialbook=__version__,
            graders=(
                UsedGrader(
                    grader=panel.grader,
                    version=panel.identity.short,
                    distribution=ready.distribution,
                ),
            ),
            tasks=tasks,
            differences=tuple(one for each in again for one in differences(each, same_files=True)),
            left_out=tuple(
                LeftOut(trial=one.path, because=one.because) for one in again if one.because
            ),
            trials=tuple(regraded_trial(graded, name, one) for one in again if not one.because),
        )


def _unjudgeable(standing: Standing, patch: bytes | None) -> str:
    """Why a trial's diff cannot be judged as it was; empty if it can."""
    record = standing.record
    change = record.change
    if record.outcome not in JUDGED:
        return f"it ended as {record.outcome.value}, whatever anybody says of its diff"
    if change is None or not patch:
        return "there is no diff to judge"
    if change.redacted:
        return "something secret was taken out of its diff"
    if change.omitted:
        return f"its diff does not hold every file: {change.omitted[0].path}"
    if sha256(patch) != change.patch_sha256:
        return "its diff is not the one that its record names"
    return ""


def _summed_up(again: Again) -> str:
    if again.because:
        return f"left out: {again.because}"
    return again.new[0].message
