"""A task of several sessions: what each asks and holds, and what is said of the whole series."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trialbook.model.grader_use import GraderUse

DEFAULT_NOTES = ("NOTES.md", "notes/", "AGENTS.md", "CLAUDE.md")
"""Where the notes of an agent are looked for, where a task names no other places."""

ONLY_SESSION = "1"
"""What the one session of an ordinary task is called, where a name is asked for."""

CONTINUE, END = "continue", "end"
"""What follows a session that failed, ran out of time or left tests red: the next one, or none."""

SKIP, RUN = "skip", "run"
"""What becomes of a session whose regression cannot be had: it is left out, or run without it."""


class RegressionKind(StrEnum):
    """Where the fault of a regression comes from."""

    OWN = "own"
    ENVIRONMENT = "environment"
    PLANTED = "planted"


class Moment(StrEnum):
    """When the checks of a session were asked: before its agent began, or after it ended."""

    START = "start"
    END = "end"


class SessionPart(StrEnum):
    """Which checks of a session: the two kinds that its brief discloses, and the private ones."""

    CHECKS = "checks"
    TESTS = "tests"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Something that is to be so from its session on, with a property that can be observed.

    The property is a file of structural checks (``checks``, relative to the task's folder), or
    ``tests``: ids of the private tests of its session, all of which pass where it holds.
    """

    id: str
    statement: str
    checks: str | None = None
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidIn:
    """A change that the runner commits on top of the agent's work before a session.

    Either a ``patch`` or a folder (``overlay``), relative to the task's folder. ``faulty`` lists
    where a planted fault is, each ``path:line`` or ``path:first-last`` after the change.
    """

    patch: str | None = None
    overlay: str | None = None
    message: str = ""
    faulty: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """What breaks before a session: ids of private tests that report it, and of its siblings.

    The ids are of the session's private tests. One that is the agent's ``own`` is there if a test
    of ``reported`` fails on what the session before left. ``laid_in`` is what is committed before
    the session: the planted change, or what the environment brings. ``key`` is the sealed key, a
    file relative to the task's folder. ``brief`` is the text of its own brief; None where that of
    the session does. ``unless_applies`` is `SKIP` or `RUN`.
    """

    kind: RegressionKind
    reported: tuple[str, ...]
    siblings: tuple[str, ...]
    symptom: str
    laid_in: LaidIn | None = None
    key: str | None = None
    brief: str | None = None
    unless_applies: str = SKIP


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionKey:
    """A sealed key: what the true cause is, and the paths of the component that holds it."""

    component: tuple[str, ...]
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """One session as its task declares it.

    ``brief`` is the text. ``checks`` and ``tests`` are disclosed, and asked at the start and at the
    end; ``private`` are asked at the end. ``conflicts_with`` is the id of a decision of an earlier
    session. ``regressions`` stand in the order of preference: the first that can be had is used.
    ``limits`` are the session's own, within those of the whole series.
    """

    name: str
    brief: str
    checks: GraderUse | None = None
    tests: GraderUse | None = None
    private: GraderUse | None = None
    decisions: tuple[Decision, ...] = ()
    conflicts_with: str | None = None
    regressions: tuple[Regression, ...] = ()
    limits: dict[str, float | None] | None = None

    def uses(self, moment: Moment) -> tuple[tuple[SessionPart, GraderUse], ...]:
        """What is asked at the start of the session, or at its end."""
        parts = [(SessionPart.CHECKS, self.checks), (SessionPart.TESTS, self.tests)]
        if moment is Moment.END:
            parts.append((SessionPart.PRIVATE, self.private))
        return tuple((part, use) for part, use in parts if use is not None)


def joined_briefs(sessions: tuple[SessionPlan, ...]) -> str:
    """The briefs of all sessions as one text, for people who read the task as a whole."""
    return "\n".join(
        f"# Session {number}: {session.name}\n\n{session.brief.strip()}\n"
        for number, session in enumerate(sessions, 1)
    )


class Said(StrEnum):
    """An answer to one question about a series."""

    YES = "yes"
    NO = "no"
    NOT_APPLICABLE = "not_applicable"
    UNKNOWN = "unknown"


class ConflictOutcome(StrEnum):
    """What became of a decision that a later requirement is against."""

    HONOURED = "honoured"
    REVISED_EXPLICITLY = "revised_explicitly"
    PARALLEL_PATH = "parallel_path"
    SILENTLY_CONTRADICTED = "silently_contradicted"


class RepairClass(StrEnum):
    """How far a regression was repaired."""

    ROOT_CAUSE = "root_cause"
    PARTIAL = "partial"
    SYMPTOM_ONLY = "symptom_only"
    NOT_FIXED = "not_fixed"


AUTO, REVIEWER = "auto", "reviewer"
"""Who answers: the program from what is on record, or a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one question, with its evidence.

    ``question`` is ``<rubric>/<question>``. ``evidence`` names places (``path:line@tree``), tests
    and events. ``hint`` is what the program found where only a person may answer.
    """

    question: str
    answer: Said
    evidence: tuple[str, ...] = ()
    by: str = AUTO
    hint: str = ""
