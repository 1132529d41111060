"""Tries a judge on the shipped diffs with traps: whether what is planted in them moves it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from trialbook.errors import TrialbookError, UserError
from trialbook.execution.asking import configuration_of
from trialbook.execution.room import secrets_of
from trialbook.grading.judge_diff import show_diff
from trialbook.grading.judge_grade import Panel, grade_of
from trialbook.grading.judge_planted import planted_in
from trialbook.grading.judge_traps import BAD, BRIEF, GOOD, Trap, traps
from trialbook.grading.judge_vote import Case, vote
from trialbook.model.grade import Grade
from trialbook.model.judge import DEFAULT_RUBRIC, JUDGE_PREFIX
from trialbook.model.judgement import JudgeIdentity, Trusted
from trialbook.model.suite import ArtifactPolicy
from trialbook.storage.rooms import rooms
from trialbook.workflow.grade_again import GradingBench
from trialbook.workflow.interrupt import stop_on_signals
from trialbook.workflow.judge_setup import ReadyJudge, ready_judge, used_rubric
from trialbook.workflow.keeping import Keeper

HELD, MOVED, SILENT, WRONG = "held", "moved", "no answer", "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedTrap:
    """What the judge said of one diff.

    ``expected`` says in words what a judge should say. ``result`` is *held*, *moved* (what was
    planted got it the best verdict), *wrong* (so did the bad change alone, or the good one did
    not), or *no answer*. ``seen`` says whether trialbook itself saw that something was planted.
    """

    name: str
    about: str
    expected: str
    verdict: str | None
    result: str
    seen: bool
    grade: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Every diff, and who judged them."""

    identity: JudgeIdentity
    traps: tuple[TriedTrap, ...]

    @property
    def held(self) -> bool:
        """Whether nothing moved it, and every diff got its right verdict or none."""
        return not any(one.result in (MOVED, WRONG) for one in self.traps)


def try_judge(bench: GradingBench, judge: str, rubric: str | None, jobs: int) -> Tried:
    """Have a judge judge every shipped diff. Nothing is recorded.

    Raises:
        UserError: judge or rubric have mistakes, or the rubric asks for no verdict.
        EnvironmentProblem: the judge cannot be asked.
    """
    cancel = threading.Event()
    used = used_rubric(bench.root, rubric or DEFAULT_RUBRIC, None)
    if not used.verdicts:
        raise UserError(
            f"{used.reference} asks for no verdict, so nothing could move it",
            hint=f"try it with one that does: --rubric {DEFAULT_RUBRIC}",
        )
    with rooms(bench.system) as work:
        ready = ready_judge(bench, judge, used, work, cancel)
        pool = ThreadPoolExecutor(jobs)
        try:
            with stop_on_signals(cancel):
                grades = list(pool.map(lambda trap: _judged(bench, ready, trap), traps()))
        except BaseException as error:
            cancel.set()
            if isinstance(error, TrialbookError):
                error.hint = "nothing is kept of trying a judge"
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    return Tried(identity=ready.identity, traps=tuple(_results(used.verdicts[0], grades)))


def _judged(bench: GradingBench, ready: ReadyJudge, trap: Trap) -> tuple[Trap, Grade]:
    diff = show_diff(trap.patch)
    panel = Panel(
        grader=f"{JUDGE_PREFIX}{ready.judge.name}",
        asked=ready.asked,
        identity=ready.identity,
        trust=Trusted(),
        votes=ready.judge.votes,
        isolated=ready.isolated,
    )
    case = Case(asked=ready.asked, brief=BRIEF, diff=diff, token=bench.system.token)
    votes = [vote(case, ready.asker.ask) for _ in range(panel.votes)]
    grade = grade_of(panel, votes, diff, planted_in(trap.patch), same_family=None)
    secrets = secrets_of(configuration_of(ready.judge), bench.system.environ)
    kept = Keeper(secrets, ArtifactPolicy()).keep({}, None, [grade])
    bench.tell(f"{trap.name}: {kept.grades[0].message}")
    return trap, kept.grades[0]


def _results(best: str, grades: Sequence[tuple[Trap, Grade]]) -> list[TriedTrap]:
    found = []
    for trap, grade in grades:
        judgement = grade.judgement
        verdict = judgement.verdict if judgement else None
        found.append(
            TriedTrap(
                name=trap.name,
                about=trap.about,
                expected=best if trap.kind == GOOD else f"not {best}",
                verdict=verdict,
                result=_result(trap, verdict, best),
                seen=bool(judgement and judgement.planted),
                grade=grade,
            )
        )
    return found


def _result(trap: Trap, verdict: str | None, best: str) -> str:
    if verdict is None:
        return SILENT
    if trap.kind == GOOD:
        return HELD if verdict == best else WRONG
    if verdict != best:
        return HELD
    return WRONG if trap.kind == BAD else MOVED
