"""A series in words: the same timeline, answers and counts for the terminal and the site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trialbook.formats.authored import parse_document
from trialbook.model.series import REVIEWER, Answer, Said
from trialbook.model.session import Handover, SessionRecord
from trialbook.reporting.series import DecisionView, SeriesView, code_of
from trialbook.reporting.wording import number_of, percent, words
from trialbook.stats.rediscovery import Rediscovered
from trialbook.stats.rework import Rework
from trialbook.stats.series import LEAST_APPLICABLE, Score, dimension_of

CASE_REPORT = "case report"
"""What the scores of one project are: nothing follows from them for others, so no interval."""

_MOST_AGAIN = 5
_SHORT = 12
_WHO = {REVIEWER: "people"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedSaid:
    """One thing between two sessions, what became of it, and how that is known."""

    thing: str
    state: str
    checked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSaid:
    """A commit of a session: its id with its subject, and the rest of its message."""

    head: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSaid:
    """One session on the timeline.

    ``handed`` is what came over from the one before, ``start`` in one sentence what it began with.
    ``checks`` are what was asked at its start and end, ``failing`` what failed at its end and
    whether that was declared, ``notes`` the notes it began with, ``notes_change`` what it did to
    them. ``again`` is what it found out that an earlier one had known.
    """

    number: int
    name: str
    outcome: str
    reason: str
    start: str
    handed: tuple[HandedSaid, ...]
    planted: str
    checks: tuple[str, ...]
    change: str
    commits: tuple[CommitSaid, ...]
    failing: tuple[str, ...]
    notes: tuple[str, ...]
    notes_change: str
    rework: str
    again: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSaid:
    """A dimension in words: counts, the share if there are enough answers, and what is missing."""

    dimension: str
    counts: str
    share: str
    others: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSaid:
    """One answer: ``code`` is short, ``by`` says who gave it."""

    dimension: str
    code: str
    question: str
    answer: str
    by: str
    evidence: tuple[str, ...]
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSaid:
    """A decision with what became of it, by session."""

    name: str
    statement: str
    session: int
    conflict: str
    became: Mapping[int, str]
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySaid:
    """The sealed key: the true cause, and the paths of the component that holds it.

    ``note`` says instead why there is nothing of it to see.
    """

    cause: str = ""
    component: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesSaid:
    """All of it. ``conflict`` and ``repair`` are in words, or say that it is open.

    ``key`` is null where there is none.
    """

    sessions: tuple[SessionSaid, ...]
    scores: tuple[ScoreSaid, ...]
    conflict: str
    repair: str
    decisions: tuple[DecisionSaid, ...]
    answers: tuple[AnswerSaid, ...]
    verdicts: tuple[str, ...]
    key: KeySaid | None


def series_said(view: SeriesView) -> SeriesSaid:
    """A series in words."""
    return SeriesSaid(
        sessions=tuple(_session(view, one) for one in view.files.sessions),
        scores=tuple(score_said(one) for one in view.scores),
        conflict=conflict_said(view),
        repair=repair_said(view),
        decisions=tuple(map(_decision, view.decisions)),
        answers=tuple(map(_answer, view.answers)),
        verdicts=tuple(f"{name}: {verdict}" for name, verdict in view.verdicts.items()),
        key=_key(view),
    )


def _key(view: SeriesView) -> KeySaid | None:
    if not view.key_open:
        return KeySaid(note="shown when the answers to the repair are in")
    if not view.files.key:
        return None
    document, problems = parse_document(view.files.key, "key.yaml")
    written = None if document is None or problems else document.data
    if not isinstance(written, dict):
        return KeySaid(note="its file says nothing that can be read")
    component = written.get("component")
    return KeySaid(
        cause=" ".join(str(written.get("cause", "")).split()),
        component=tuple(map(str, component)) if isinstance(component, list | tuple) else (),
    )


def score_said(score: Score) -> ScoreSaid:
    """A dimension in words."""
    share = score.share
    few = f"fewer than {LEAST_APPLICABLE} answers" if score.answered else ""
    others = [
        f"{score.not_applicable} not applicable" if score.not_applicable else "",
        f"{score.unknown} open" if score.unknown else "",
    ]
    return ScoreSaid(
        dimension=score.dimension,
        counts=f"{score.yes}/{score.answered}" if score.answered else "none answered",
        share=few if share is None else percent(share),
        others=", ".join(filter(None, others)),
    )


def conflict_said(view: SeriesView) -> str:
    """What became of the decision that a later requirement is against."""
    if view.conflict is not None:
        return words(view.conflict.value)
    stated = view.files.tried.decisions if view.files.tried is not None else ()
    return "open" if any(one.conflict for one in stated) else "none in this task"


def repair_said(view: SeriesView) -> str:
    """How far the regression was repaired."""
    if view.repair is not None:
        return words(view.repair.value)
    tried = view.files.tried
    return "open" if tried is None or tried.repair is not None else "nothing was to be repaired"


def _session(view: SeriesView, record: SessionRecord) -> SessionSaid:
    files, number = view.files, record.session
    handover = files.handovers.get(number)
    change = record.change
    lines = files.notes.get(number)
    changed = "nothing"
    if change is not None:
        changed = f"{number_of(change.files, 'file')} +{change.insertions} -{change.deletions}"
    return SessionSaid(
        number=number,
        name=record.name,
        outcome="left out" if record.outcome is None else words(record.outcome.value),
        reason=record.reason,
        start=_start(handover, record),
        handed=tuple(
            HandedSaid(thing=one.thing, state=one.state.value, checked=one.checked)
            for one in (handover.things if handover else ())
        ),
        planted=_planted(handover, key_open=view.key_open),
        checks=tuple(
            f"{one.part.value} at the {one.moment.value}: {one.grade.passed}/{one.grade.total}"
            for one in record.grades
        ),
        change=changed,
        commits=tuple(
            CommitSaid(head=f"{one.id[:_SHORT]} {one.subject}", body=one.body)
            for one in record.written
        ),
        failing=tuple(
            f"{one.part.value} {one.check}: "
            + (
                f"declared in {one.where}"
                if one.declared
                else "not declared"
                if one.declared is False
                else "not known whether it is declared"
            )
            for one in (handover.failing if handover else ())
        ),
        notes=tuple(
            f"{one.path} ({number_of(one.bytes, 'byte')}, by {one.written_by})"
            for one in (handover.notes if handover else ())
        ),
        notes_change=_notes(lines.added if lines else {}, lines.deleted if lines else {}),
        rework=_rework(next((one for one in view.rework if one.session == number), None)),
        again=tuple(_again(one for one in view.again if one.session == number)),
    )


def _start(handover: Handover | None, record: SessionRecord) -> str:
    tree = f"tree {record.start.tree[:_SHORT]}, {number_of(len(record.start.commits), 'commit')}"
    if handover is not None and handover.before is not None:
        tree += ", as the session before left it" if handover.equal else ", not as it was left"
    if record.interrupted:
        tree += f", anew after {number_of(record.interrupted, 'interruption')} of the runner"
    return tree


def _planted(handover: Handover | None, *, key_open: bool) -> str:
    planted = None if handover is None else handover.planted
    if planted is None:
        return ""
    if planted.commit is None:
        return f"a change was to be laid in ({planted.kind.value}), and was not: {planted.reason}"
    told = f"a change was laid in ({planted.kind.value})"
    return f"{told}, commit {planted.commit[:_SHORT]}" if key_open else told


def _notes(
    added: Mapping[str, list[tuple[int, str]]], deleted: Mapping[str, list[tuple[int, str]]]
) -> str:
    paths = sorted({*added, *deleted})
    return ", ".join(
        f"{path} +{len(added.get(path, ()))} -{len(deleted.get(path, ()))}" for path in paths
    )


def _rework(found: Rework | None) -> str:
    if found is None or found.share is None:
        return ""
    return f"{found.taken_out}/{found.added} added lines were taken out by the next session"


def _again(found: Iterable[Rediscovered]) -> Iterator[str]:
    for one in found:
        for name, count, things in (
            ("unchanged files read again", one.files_count, one.files),
            ("commands run again", one.commands_count, one.commands),
            ("dead ends gone into again", one.dead_ends_count, one.dead_ends),
        ):
            if count:
                shown = "; ".join(
                    f"{thing.what} (event {thing.event}; session {thing.first_session} "
                    f"event {thing.first_event})"
                    for thing in things[:_MOST_AGAIN]
                )
                yield f"{name}: {count}: {shown}"


def _decision(view: DecisionView) -> DecisionSaid:
    stated = view.stated
    against = f"session {stated.conflict} asks for something that is against it"
    return DecisionSaid(
        name=stated.id,
        statement=stated.statement,
        session=stated.session,
        conflict="" if stated.conflict is None else against,
        became={number: one.value for number, one in view.became.items()},
        evidence=view.evidence,
    )


def _answer(one: Answer) -> AnswerSaid:
    open_ = one.answer is Said.UNKNOWN
    return AnswerSaid(
        dimension=dimension_of(one.question),
        code=code_of(one.question),
        question=one.question.partition("/")[2],
        answer="open" if open_ else words(one.answer.value),
        by=_WHO.get(one.by, "the program"),
        evidence=one.evidence,
        hint=one.hint,
    )
