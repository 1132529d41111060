"""Sessions of a series on record: how each began and ended, and what was handed over to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from trialbook.model.change import AttemptChange
from trialbook.model.grade import GradeSummary
from trialbook.model.outcome import Outcome
from trialbook.model.series import Moment, RegressionKind, SessionPart
from trialbook.model.usage import Usage

LONGEST_SUBJECT, LONGEST_BODY, MOST_BODIES = 200, 4_000, 200_000
"""How many characters are kept of a commit's subject, of its body, and of all bodies together."""

CUT = "…"
"""Ends a text of which not all is kept."""


class HandedOver(StrEnum):
    """What became of something between two sessions."""

    CLEARED = "cleared"
    CARRIED = "carried"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit of the agent's, or of the runner's: id, tree, and its message.

    ``subject`` is the first line of the message, and ``body`` the rest; what is too long of either
    is cut (see `commits_of`). A record of an older version has no bodies.
    """

    id: str
    tree: str
    subject: str
    body: str = ""


def commits_of(found: Iterable[tuple[str, str, str]]) -> tuple[Commit, ...]:
    """Commits as they are on record, from id, tree and message of each, the oldest first."""
    made: list[Commit] = []
    left = MOST_BODIES
    for name, tree, message in found:
        subject, _, rest = message.strip().partition("\n")
        body = _shortened(rest.strip(), min(LONGEST_BODY, left))
        left = max(0, left - len(body))
        subject = _shortened(subject.strip(), LONGEST_SUBJECT)
        made.append(Commit(id=name, tree=tree, subject=subject, body=body))
    return tuple(made)


def _shortened(text: str, most: int) -> str:
    """The beginning of a text; never a part of a word, which might be a part of a secret."""
    if len(text) <= most:
        return text
    end = next((n for n in range(most, 0, -1) if text[n].isspace()), 0)
    return text[:end].rstrip() + CUT


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryState:
    """The repository at one moment: the tree of its files, and the commits since the baseline.

    ``head`` is the newest commit; its tree is another one than ``tree`` where the files hold work
    that is not committed. ``branch`` is the agent's own name of where it was; null if it had none.
    ``commits`` begins with the oldest, ``branches`` are the others, by name. ``tags`` are by name
    too, each with the id of its commit or of its own object. ``lost`` says what of the history
    could not be carried, and why; empty if nothing was lost.
    """

    tree: str
    head: str
    branch: str | None
    commits: tuple[Commit, ...] = ()
    branches: dict[str, str] = field(default_factory=dict)
    lost: str = ""
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionGrade:
    """Answers that were given at one moment of a session; they are in its ``grades`` folder."""

    part: SessionPart
    moment: Moment
    grade: GradeSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedChange:
    """A change that was to be laid in before a session.

    ``sha256`` is that of the patch or of the folder's files. ``commit`` is null where it did not
    apply to what the agent had left; ``reason`` then says why.
    """

    kind: RegressionKind
    sha256: str
    commit: str | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A file of notes at the start of a session, and who wrote it as it is."""

    path: str
    sha256: str
    bytes: int
    written_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One thing that a session may take over from the one before, and how that was checked."""

    thing: str
    state: HandedOver
    checked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFailure:
    """A disclosed check that answers no at the end of a session.

    ``declared`` says whether the agent says so, and ``where``: a note, or a commit. Null where the
    answer is not known.
    """

    part: SessionPart
    check: str
    declared: bool | None
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """What a session began with and left, as in its ``handover.json``.

    ``before`` is the repository at the end of the session before; null in the first. ``equal`` says
    whether ``start`` is the same. ``planted`` is what was laid in between. ``failing`` are the
    disclosed checks that fail at the session's end. ``interventions`` counts what people did.
    """

    schema: str = "trialbook/handover/1"
    session: int
    name: str
    before: RepositoryState | None
    start: RepositoryState
    equal: bool
    planted: PlantedChange | None
    brief_sha256: str
    notes: tuple[Note, ...]
    things: tuple[Thing, ...]
    failing: tuple[OpenFailure, ...] = ()
    interventions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """One session of a trial; its files are in ``sessions/<session>/``.

    ``outcome`` is what this session came to by its own checks and evidence; null where it was left
    out (``reason`` says why). ``change`` is what it changed from its start to its end. ``usage`` is
    that of its attempts. ``regression`` counts the one that was used, from 1 in the order of the
    task; null for none. ``interrupted`` counts how often the runner ended while the session ran and
    it was begun anew; what was used then is not known, and so ``usage`` is not.
    """

    session: int
    name: str
    brief_sha256: str
    started: str
    finished: str
    outcome: Outcome | None
    reason: str
    start: RepositoryState
    end: RepositoryState
    change: AttemptChange | None
    usage: Usage
    grades: tuple[SessionGrade, ...] = ()
    regression: int | None = None
    interrupted: int = 0

    @property
    def written(self) -> tuple[Commit, ...]:
        """The commits that it began without, the oldest first."""
        known = {one.id for one in self.start.commits}
        return tuple(one for one in self.end.commits if one.id not in known)
