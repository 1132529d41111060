"""What a session found out that an earlier one had known: hints about what was not handed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialbook.model.trajectory import Event, EventKind
from trialbook.stats.shell import writes_files

_MOST = 20
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Something that a session did as an earlier one had: what, and where it did, by event."""

    what: str
    first_session: int
    first_event: int
    event: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rediscovered:
    """What one session did again.

    ``files`` were read by an earlier session and have not changed since. ``commands`` are the same
    words, ``dead_ends`` those of them that failed both times. Each thing counts once; lists are
    cut, the counts are not.
    """

    session: int
    files: tuple[Again, ...] = ()
    commands: tuple[Again, ...] = ()
    dead_ends: tuple[Again, ...] = ()
    files_count: int = 0
    commands_count: int = 0
    dead_ends_count: int = 0


@dataclass(slots=True)
class _Seen:
    """The first that did something, and whether it failed."""

    session: int
    event: int
    failed: bool


def rediscovered(
    sessions: Sequence[tuple[int, Iterable[Event]]], changed: Mapping[int, frozenset[str]]
) -> list[Rediscovered]:
    """What each session did again, the first one left out.

    Args:
        sessions: The events of every session that has a trajectory, in order.
        changed: The paths that each session changed, and that were laid in before it.
    """
    reads: dict[str, _Seen] = {}
    commands: dict[str, _Seen] = {}
    found = []
    for place, (session, given) in enumerate(sessions):
        events = list(given)
        if place:
            found.append(_again(session, events, reads, commands))
        for path in changed.get(session, ()):
            # What it read of these is not what a later session finds.
            reads.pop(path, None)
        _learn(session, events, reads, commands, changed.get(session, frozenset()))
    return found


def _again(
    session: int, events: Sequence[Event], reads: Mapping[str, _Seen], commands: Mapping[str, _Seen]
) -> Rediscovered:
    files = _distinct(_again_of(_reads(events), reads))
    same = _distinct(_again_of(_commands(events), commands))
    failed = {
        words
        for words, event in _commands(events)
        if _failed(event) and words in commands and commands[words].failed
    }
    dead = [one for one in same if one.what in {words[:_LONGEST] for words in failed}]
    return Rediscovered(
        session=session,
        files=tuple(files[:_MOST]),
        commands=tuple(same[:_MOST]),
        dead_ends=tuple(dead[:_MOST]),
        files_count=len(files),
        commands_count=len(same),
        dead_ends_count=len(dead),
    )


def _learn(
    session: int,
    events: Sequence[Event],
    reads: dict[str, _Seen],
    commands: dict[str, _Seen],
    changed: frozenset[str],
) -> None:
    for path, event in _reads(events):
        if path not in changed:
            reads.setdefault(path, _Seen(session, event.number, failed=False))
    for words, event in _commands(events):
        seen = commands.setdefault(words, _Seen(session, event.number, failed=False))
        seen.failed = seen.failed or (seen.session == session and _failed(event))


def _again_of(
    done: Iterable[tuple[str, Event]], known: Mapping[str, _Seen]
) -> Iterator[tuple[str, Again]]:
    for what, event in done:
        if what in known:
            seen = known[what]
            yield (
                what,
                Again(
                    what=what[:_LONGEST],
                    first_session=seen.session,
                    first_event=seen.event,
                    event=event.number,
                ),
            )


def _distinct(found: Iterable[tuple[str, Again]]) -> list[Again]:
    first: dict[str, Again] = {}
    for what, again in found:
        first.setdefault(what, again)
    return list(first.values())


def _reads(events: Iterable[Event]) -> Iterator[tuple[str, Event]]:
    for event in events:
        done = not event.denied and event.ok is not False
        if event.kind is EventKind.READ and event.path and done:
            yield event.path.removeprefix("./"), event


def _commands(events: Iterable[Event]) -> Iterator[tuple[str, Event]]:
    """Commands that look or try; those that write files are work, and not found out again."""
    for event in events:
        words = (event.command or "").strip()
        looks = event.kind is EventKind.COMMAND and not event.denied
        if looks and words and not writes_files(words):
            yield words, event


def _failed(event: Event) -> bool:
    return event.exit_code not in (None, 0) or event.ok is False
