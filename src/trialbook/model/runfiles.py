"""Which files may stand in a run's folder: every name, and what it means.

The one place that knows. Writer, reader, verification and site share it; a file that `place_of`
does not know is none of the program's.

| path in the run's folder | what it is |
| --- | --- |
| ``plan.json`` ``.gitattributes`` | the plan; in the run's first commit |
| ``<trial>/trial.json`` | a trial's record |
| ``<trial>/...`` | the trial's artifacts: those that its record lists, in the record's own commit |
| ``<trial>/sessions/<n>/`` | one session of the trial: artifacts, as those below |
| ``.../attempt-<m>/...`` | what one attempt was given, said and left |
| ``.../handover.json`` | for a task of several sessions: what the session began with and left |
| ``.../change.patch`` ``notes.patch`` | what it changed, and what became of the notes before it |
| ``.../planted.patch`` | what was laid in before it; nothing for reviewers until answers are in |
| ``.../grades/<part>.<moment>.json`` | what the checks said at its ``start`` or ``end`` |
| ``<trial>/own.patch`` | the change of a series without what was laid in between its sessions |
| ``<trial>/series.json`` | what is said of the sessions together |
| ``<trial>/amendments/<id>.json`` | a correction of the trial by a person; any time later |
| ``<trial>/regrades/<id>/<grader>.json`` | a later grade; in the commit of ``regrades/<id>.json`` |
| ``<trial>/reviews/<reviewer>.yaml`` | a person's review |
| ``<trial>/reconciliations/<id>.yaml`` | what reviewers made of where they did not agree |
| ``reviews/<reviewer>/<packet>.yaml`` | a person's review of a packet; it names no trial |
| ``regrades/<id>.json`` | what grading again came to, for the whole run |
| ``incidents/<id>.yaml`` | an incident, as opened |
| ``incidents/<id>.closed-<n>.yaml`` | how it was closed, ``<n>`` being six hexadecimal digits |
| ``results.csv`` ``report.md`` | the first results; written when the run closes |
| ``results/<id>/results.csv`` ``report.md`` ``generation.json`` | later results of a closed run |

A ``<trial>`` is ``<task>/<configuration>/r<k>``; a rerun's ends in ``.rerun<j>``. An ``<id>`` is
made without coordination (see `System.unique_name`), so that two clones that both correct a run
merge without a conflict. Nothing is ever edited: what comes later is a file more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

PLAN = "plan.json"
ATTRIBUTES = ".gitattributes"
RESULTS = "results.csv"
REPORT = "report.md"
TRIAL = "trial.json"
PATCH = "change.patch"
OWN_PATCH = "own.patch"
EGRESS_LOG = "egress.jsonl"
TRAJECTORY = "trajectory.json"
TOOLCHAIN_LOG = "toolchain.log"
SESSIONS = "sessions"
HANDOVER = "handover.json"
NOTES_PATCH = "notes.patch"
PLANTED_PATCH = "planted.patch"
SERIES = "series.json"
AMENDMENTS = "amendments"
REGRADES = "regrades"
INCIDENTS = "incidents"
REVIEWS = "reviews"
RECONCILIATIONS = "reconciliations"
GENERATIONS = "results"
GENERATION = "generation.json"

ID_PATTERN = r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}"
"""A name that is unique without coordination, and sorts by time to the second."""

REVIEWER_PATTERN = r"[a-z0-9][a-z0-9_-]{0,39}"
"""What a reviewer may be called."""

PACKET_PATTERN = r"[0-9a-f]{12}"
"""The name of a packet."""

_NAME = r"[^/]+"
_TRIAL = rf"(?P<trial>{_NAME}/{_NAME}/r[1-9][0-9]*(?:\.rerun[1-9][0-9]*)?)"
_ID = rf"(?P<id>{ID_PATTERN})"
_TRIAL_NAME = re.compile(r"r([1-9][0-9]*)(?:\.rerun([1-9][0-9]*))?")


class FileKind(StrEnum):
    """What a file of a run's folder is."""

    PLAN = "plan"
    ATTRIBUTES = "attributes"
    TRIAL = "trial"
    ARTIFACT = "artifact"
    AMENDMENT = "amendment"
    REVIEW = "review"
    PACKET_REVIEW = "packet_review"
    RECONCILIATION = "reconciliation"
    REGRADED_GRADE = "regraded_grade"
    REGRADE = "regrade"
    INCIDENT = "incident"
    INCIDENT_CLOSING = "incident_closing"
    RESULTS = "results"
    GENERATION = "generation"

    @property
    def derived(self) -> bool:
        """Whether it follows from the records, and can be made again byte for byte."""
        return self is FileKind.RESULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A known path: what it is, and the parts of its name that mean something.

    ``trial`` is the trial's folder in the run; ``id`` that of a correction, or a packet's; ``name``
    a grader, a reviewer or an artifact's path in the trial's folder. What does not apply is empty.
    """

    kind: FileKind
    trial: str = ""
    id: str = ""
    name: str = ""


# The first that fits says what a path is; an artifact is whatever else lies in a trial's folder.
_PLACES = tuple(
    (kind, re.compile(pattern, re.DOTALL))
    for kind, pattern in (
        (FileKind.PLAN, r"plan\.json"),
        (FileKind.ATTRIBUTES, r"\.gitattributes"),
        (FileKind.RESULTS, r"(?P<name>results\.csv|report\.md)"),
        (FileKind.RESULTS, rf"results/{_ID}/(?P<name>results\.csv|report\.md)"),
        (FileKind.GENERATION, rf"results/{_ID}/generation\.json"),
        (FileKind.REGRADE, rf"regrades/{_ID}\.json"),
        (FileKind.INCIDENT, rf"incidents/{_ID}\.yaml"),
        (FileKind.INCIDENT_CLOSING, rf"incidents/{_ID}\.closed-[0-9a-f]{{6}}\.yaml"),
        (FileKind.TRIAL, rf"{_TRIAL}/trial\.json"),
        (FileKind.AMENDMENT, rf"{_TRIAL}/amendments/{_ID}\.json"),
        (FileKind.REVIEW, rf"{_TRIAL}/reviews/(?P<name>{_NAME})\.yaml"),
        (
            FileKind.PACKET_REVIEW,
            rf"reviews/(?P<name>{REVIEWER_PATTERN})/(?P<id>{PACKET_PATTERN})\.yaml",
        ),
        (FileKind.RECONCILIATION, rf"{_TRIAL}/reconciliations/{_ID}\.yaml"),
        (FileKind.REGRADED_GRADE, rf"{_TRIAL}/regrades/{_ID}/(?P<name>{_NAME})\.json"),
        (
            FileKind.ARTIFACT,
            rf"{_TRIAL}/(?!amendments/|regrades/|reviews/|reconciliations/)(?P<name>.+)",
        ),
    )
)


def place_of(path: str) -> Place | None:
    """What a file of a run's folder is, by its path in that folder; None for none of ours.

    An artifact is only one if the trial's record lists it: that is for the caller to see.
    """
    for kind, pattern in _PLACES:
        if match := pattern.fullmatch(path):
            return Place(kind=kind, **match.groupdict())
    return None


def rerun_of(folder_name: str) -> tuple[int, int] | None:
    """Repetition and rerun of a trial's folder name (``r2.rerun1``: 2 and 1), or None."""
    match = _TRIAL_NAME.fullmatch(folder_name)
    return None if match is None else (int(match[1]), int(match[2] or 0))


def session_folder(session: int) -> str:
    """Where the files of a session are, in the trial's folder."""
    return f"{SESSIONS}/{session}"


def session_patch(session: int) -> str:
    """Where the patch is that turns what a session began with into what it left."""
    return f"{session_folder(session)}/{PATCH}"


def handover_path(session: int) -> str:
    """Where the record is of what a session began with and left."""
    return f"{session_folder(session)}/{HANDOVER}"


def notes_patch(session: int) -> str:
    """Where the patch is of the notes of a session against those of the one before."""
    return f"{session_folder(session)}/{NOTES_PATCH}"


def planted_patch(session: int) -> str:
    """Where the patch is of what was laid in between the session before and this one."""
    return f"{session_folder(session)}/{PLANTED_PATCH}"


def session_grade(session: int, part: str, moment: str) -> str:
    """Where the answers are that one part of a session's checks gave at one moment."""
    return f"{session_folder(session)}/grades/{part}.{moment}.json"


def attempt_folder(session: int, attempt: int) -> str:
    """Where the files of an attempt are, in the trial's folder."""
    return f"{session_folder(session)}/attempt-{attempt}"


def visible_grade(folder: str, grader: str) -> str:
    """Where the answers of a grader with visible checks are, in an attempt's folder."""
    # No folder of its own: an agent may have left a file of that name.
    return f"{folder}/checks-{grader}.json"


def amendment_path(trial: str, name: str) -> str:
    """Where an amendment of a trial is."""
    return f"{trial}/{AMENDMENTS}/{name}.json"


def regrade_path(name: str) -> str:
    """Where the record of grading a run again is."""
    return f"{REGRADES}/{name}.json"


def regraded_grade(name: str, grader: str) -> str:
    """Where a later grade is, in the trial's folder."""
    return f"{REGRADES}/{name}/{grader}.json"


def review_path(reviewer: str, packet: str) -> str:
    """Where a person's review of a packet is."""
    return f"{REVIEWS}/{reviewer}/{packet}.yaml"


def reconciliation_path(trial: str, name: str) -> str:
    """Where a reconciliation of a trial's reviews is."""
    return f"{trial}/{RECONCILIATIONS}/{name}.yaml"


def incident_path(name: str) -> str:
    """Where an incident is, as it was opened."""
    return f"{INCIDENTS}/{name}.yaml"


def closing_path(name: str, token: str) -> str:
    """Where an incident's closing is; ``token`` is six hexadecimal digits."""
    return f"{INCIDENTS}/{name}.closed-{token}.yaml"


def generation_folder(name: str) -> str:
    """The folder of a later generation of results."""
    return f"{GENERATIONS}/{name}"
