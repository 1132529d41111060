"""What is said of continuity from what is on record: the answers that need nobody, and hints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import pairwise

from trialbook.model.series import Answer, Said
from trialbook.model.series_questions import CONTINUITY
from trialbook.model.series_record import PropertyAnswer, SeriesRecord, Stated
from trialbook.model.session import Commit
from trialbook.reporting.series_files import SeriesFiles
from trialbook.reporting.series_words import HintGiven, answered, some
from trialbook.stats.rework import Rework, rework

_LINE = 200
_WORD = re.compile(r"[a-z]{5,}")
_DOCUMENT = re.compile(r"(?:.*/)?(?:[^/]*\.(?:md|rst|txt|adoc)|(?:docs?|notes)/.*)", re.IGNORECASE)


def continuity_answers(files: SeriesFiles) -> list[Answer]:
    """The answers of the program about continuity."""
    found = [_decisions(files), _declared(files)]
    if conflict_of(files.tried) is None and files.tried is not None:
        why = "no later requirement is against an earlier decision"
        found += [
            answered(CONTINUITY, name, Said.NOT_APPLICABLE, hint=why)
            for name in ("changes-named", "one-path")
        ]
    if not any(one.notes for one in files.handovers.values()) and not files.notes_written:
        why = "no notes were left"
        found.append(answered(CONTINUITY, "notes-true", Said.NOT_APPLICABLE, hint=why))
    return found


def continuity_hints(files: SeriesFiles) -> dict[str, HintGiven]:
    """Where to look for what people answer about continuity, by question."""
    hints = {}
    taken = [one for one in reworks(files) if one.taken_out]
    if taken:
        text = "; ".join(
            f"session {one.session + 1} took out {one.taken_out} of the {one.added} lines that "
            f"session {one.session} added"
            for one in taken
        )
        hints["nothing-rebuilt"] = HintGiven(text, tuple(p for one in taken for p in one.places))
    else:
        hints["nothing-rebuilt"] = HintGiven("no session took out lines that the one before added")
    decision = conflict_of(files.tried)
    if decision is not None and decision.conflict is not None:
        places = some(_named(files, decision, decision.conflict))
        text = f"session {decision.conflict} writes nothing with words of the decision"
        if places:
            text = f"what session {decision.conflict} writes has words of the decision"
        hints["changes-named"] = HintGiven(text, places)
        hints["one-path"] = _paths(files, decision.conflict)
    return hints


def conflict_of(tried: SeriesRecord | None) -> Stated | None:
    """The decision that a later requirement is against; None if there is none."""
    stated = () if tried is None else tried.decisions
    return next((one for one in stated if one.conflict is not None), None)


def holds_at(tried: SeriesRecord | None, decision: str, session: int) -> PropertyAnswer | None:
    """Whether a decision's property holds at the end of a session; None if it was not asked."""
    asked = () if tried is None else tried.properties
    return next((one for one in asked if (one.decision, one.session) == (decision, session)), None)


def reworks(files: SeriesFiles) -> list[Rework]:
    """How much of what each session added the one after it took out again."""
    ran = [one.session for one in files.ran]
    return [
        rework(session, files.changes[session].added, files.changes[after].deleted)
        for session, after in pairwise(ran)
        if session in files.changes and after in files.changes
    ]


def _decisions(files: SeriesFiles) -> Answer:
    """Whether the decisions hold at the end that nothing is against: those before the conflict."""
    name = "decisions-hold"
    if files.tried is None or not files.ran:
        why = "what was tried over the series is not on record"
        return answered(CONTINUITY, name, Said.UNKNOWN, hint=why)
    last = files.ran[-1].session
    conflicts = [one.conflict for one in files.tried.decisions if one.conflict is not None]
    until = min([last, *conflicts])
    asked = [
        found
        for one in files.tried.decisions
        if one.conflict is None and one.session < until
        for found in (holds_at(files.tried, one.id, last),)
        if found is not None
    ]
    against = [one for one in asked if one.holds is False]
    unknown = [one for one in asked if one.holds is None]
    if not asked:
        why = "no decision of an earlier session is without a conflict"
        return answered(CONTINUITY, name, Said.NOT_APPLICABLE, hint=why)
    shown = against or unknown or asked
    said = Said.NO if against else Said.UNKNOWN if unknown else Said.YES
    return answered(CONTINUITY, name, said, some(place for one in shown for place in _shown(one)))


def _shown(one: PropertyAnswer) -> Iterator[str]:
    for place in one.evidence or (f"@{one.tree[:12]}",):
        yield f"{one.decision}: {place}" + ("" if "@" in place else f" @{one.tree[:12]}")


def _declared(files: SeriesFiles) -> Answer:
    """Whether every disclosed check that fails at the end of a session is declared."""
    name = "state-declared"
    failing = [
        (number, one) for number, each in sorted(files.handovers.items()) for one in each.failing
    ]
    silent = [(number, one) for number, one in failing if one.declared is False]
    unknown = [(number, one) for number, one in failing if one.declared is None]
    if not failing:
        known = len(files.handovers) == len(files.sessions)
        why = "no disclosed check fails at the end of a session" if known else "records are missing"
        said = Said.NOT_APPLICABLE if known else Said.UNKNOWN
        return answered(CONTINUITY, name, said, hint=why)
    shown = silent or unknown or failing
    said = Said.NO if silent else Said.UNKNOWN if unknown else Said.YES
    told = (
        f"session {number}: {one.check} fails, "
        + (f"declared in {one.where}" if one.declared else "and nothing says so")
        for number, one in shown
    )
    return answered(CONTINUITY, name, said, some(told))


def _named(files: SeriesFiles, decision: Stated, session: int) -> Iterator[str]:
    """Commits, notes and documents of a session that have words of the decision."""
    wanted = set(_WORD.findall(f"{decision.statement} {decision.id.replace('-', ' ')}".lower()))
    record = next((one for one in files.sessions if one.session == session), None)
    if record is None:
        return
    for commit in record.written:
        if wanted & set(_WORD.findall(f"{commit.subject}\n{commit.body}".lower())):
            yield said_in(commit, wanted)
    for lines in (files.changes.get(session), files.notes.get(session)):
        for path, added in sorted(lines.added.items()) if lines is not None else ():
            for number, text in added if _DOCUMENT.fullmatch(path) else ():
                if wanted & set(_WORD.findall(text.lower())):
                    yield f"{path}:{number}@{record.end.tree[:12]}"
                    break


def said_in(commit: Commit, wanted: AbstractSet[str] = frozenset()) -> str:
    """A commit as evidence: its subject, and the first line of its body that has a wanted word."""
    told = f"commit {commit.id[:12]} “{commit.subject}”"
    lines = [line.strip() for line in commit.body.splitlines() if line.strip()]
    fitting = (line for line in lines if not wanted or wanted & set(_WORD.findall(line.lower())))
    line = next(fitting, "")
    return f"{told}: “{line[:_LINE]}”" if line else told


def _paths(files: SeriesFiles, session: int) -> HintGiven:
    """What the decisions of the session that changes the behaviour say of it at its end."""
    stated = () if files.tried is None else files.tried.decisions
    asked = [
        found
        for one in stated
        if one.session == session
        for found in (holds_at(files.tried, one.id, session),)
        if found is not None
    ]
    against = [one for one in asked if one.holds is False]
    if against:
        names = ", ".join(one.decision for one in against)
        places = tuple(place for one in against for place in one.evidence)
        return HintGiven(f"what session {session} was to decide does not hold ({names})", places)
    if asked:
        names = ", ".join(one.decision for one in asked)
        return HintGiven(f"what session {session} was to decide holds ({names})")
    return HintGiven("no property of the task asks for one way only")
