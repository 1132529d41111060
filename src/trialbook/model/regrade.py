"""A later generation of grades: the same artifacts judged again, for every configuration alike.

Rules, for everybody who reads or checks one:

- ``regrades/<id>.json`` in the run's folder and all grades that it speaks of
  (``<trial>/regrades/<id>/<grader>.json``) come in one commit: a generation is there whole, or not.
- Each trial that had grades is in ``trials`` or in ``left_out``. A trial that is left out keeps the
  grades that it had.
- ``trials[].grades`` are the grades that stand from then on; ``file`` says where each is in the
  trial's folder (an earlier one for graders that were not run again), ``sha256`` is its digest.
- ``trials[].outcome`` follows from these grades by the plan's acceptance policy.
- The newest generation by ``created`` and ``id`` that has a trial stands for it. Amendments of the
  outcome stand above any.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from trialbook.model.grade import GradeSummary
from trialbook.model.outcome import Outcome
from trialbook.model.trust import TrustLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class RegradedGrade:
    """A grade in one line. ``file`` is its path in the trial's folder.

    ``verdict`` and ``trust`` are a judge's; None in the grade of any other grader.
    """

    grader: str
    version: str
    status: str
    accepted: bool | None
    passed: int
    total: int
    sha256: str
    file: str
    verdict: str | None = None
    trust: TrustLevel | None = None

    @property
    def summary(self) -> GradeSummary:
        """The same as a trial's record has it."""
        return GradeSummary(
            grader=self.grader,
            status=self.status,
            accepted=self.accepted,
            passed=self.passed,
            total=self.total,
            sha256=self.sha256,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegradedTrial:
    """What a trial came to. ``was`` is the outcome by the grades before."""

    trial: str
    was: Outcome
    outcome: Outcome
    reason: str
    grades: tuple[RegradedGrade, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A trial that could not be graded again, and why."""

    trial: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeDifference:
    """A grade that says something else than before.

    ``checks`` are the ids of the checks whose answer differs. It is ``flaky`` if the grader and the
    files it was given are the same as before: then the same question got two answers.
    """

    trial: str
    grader: str
    was: str
    now: str
    checks: tuple[str, ...]
    flaky: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedGrader:
    """A grader that was run, and where it came from."""

    grader: str
    version: str
    distribution: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Regrade:
    """One generation of grades. ``run`` is ``<suite>/<run>``.

    ``tasks`` maps each task to the digest of the files it was graded with; ``changed_files`` says
    which of them are not those that the plan froze. ``trialbook`` is the program's version.
    """

    schema: str = "trialbook/regrade/1"
    id: str
    run: str
    created: str
    author: str
    reason: str
    trialbook: str
    graders: tuple[UsedGrader, ...]
    tasks: dict[str, str] = field(default_factory=dict)
    changed_files: tuple[str, ...] = ()
    differences: tuple[GradeDifference, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    trials: tuple[RegradedTrial, ...] = ()
