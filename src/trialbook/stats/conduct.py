"""Facts about how an agent worked, counted from its trajectory: hints for reviewers, no scores.

Everything follows from the events alone. What they do not tell is None, never a guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from trialbook.model.trajectory import CallUsage, Event, EventKind, Trajectory
from trialbook.stats.edits import Edits
from trialbook.stats.shell import ends_in_tests, restored_paths, risks, runs_tests, writes_files

_MOST_RISKS = 20
_MOST_REPEATED = 5
_LONGEST_SHOWN = 300
_LAST_WORDS = 1_000
_SOME_FAILED = re.compile(r"\b[1-9]\d* (?:failed|failures?|errors?)\b|\bFAILED\b")
_SOME_PASSED = re.compile(r"\b[1-9]\d* pass(?:ed|ing)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskyCommand:
    """A command that may do harm: the event's number, what is risky about it, and its words.

    ``denied`` says that it was not permitted, and so did not happen.
    """

    event: int
    risks: tuple[str, ...]
    command: str
    denied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """A command that was run more than once, word for word."""

    command: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """A command of the agent that ran tests; ``passed`` is None where its end is not known.

    ``edited_since`` says that the agent changed a file after it.
    """

    event: int
    command: str
    passed: bool | None
    edited_since: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """How an agent worked in one attempt.

    ``events`` counts all of them, also those that a long trajectory leaves out. ``whole`` says that
    nothing is missing; where it is false, the counts are of what is there. ``repeat_ratio`` is
    1 - distinct/all commands, ``repeated`` has the most frequent ones. ``failing_run`` is the
    longest run of the same command that failed each time with no edit between; ``failing_command``
    is that command. ``rereads`` counts reads of the same part of a file that had not changed since
    it was last read; ``most_reads`` is the largest number of reads of one such part. ``edits``
    counts edits by tools, ``shell_edits`` commands that change files by their words.
    ``reverted_edits`` counts how often a file went back to an earlier state; it is None if no edit
    tells what it wrote, and counts only those that do. ``events_before_edit`` counts what came
    before the first edit of either kind, the prompt left out.

    ``seconds_after_edit`` and ``tokens_after_edit`` are from the last useful edit to the end: the
    last one of a file that the change has, or of any file where the change is not known.
    """

    events: int
    whole: bool
    commands: int
    distinct_commands: int
    repeat_ratio: float | None
    repeated: tuple[Repeated, ...]
    failing_run: int | None
    failing_command: str | None
    reads: int
    rereads: int
    most_reads: int
    edits: int
    shell_edits: int
    reverted_edits: int | None
    events_before_edit: int | None
    seconds_after_edit: float | None
    tokens_after_edit: int | None
    risky: tuple[RiskyCommand, ...]
    risky_commands: int
    denied: int
    test_runs: int
    last_tests: TestRun | None


def conduct(trajectory: Trajectory, changed: Collection[str] | None = None) -> Conduct:
    """The facts of one attempt.

    Args:
        trajectory: What the agent did.
        changed: The paths that the change has, relative to the workspace; None if not known.
    """
    events = trajectory.events
    commands = [one for one in events if one.kind is EventKind.COMMAND and command_of(one)]
    done = [one for one in commands if not one.denied]
    texts = [command_of(one) for one in done]
    distinct = len(set(texts))
    failing, command = _failing_run(events)
    reads, rereads, most = _reads(events)
    edits = [one for one in events if is_edit(one)]
    shell = [one for one in done if writes_files(command_of(one))]
    risky = [(one, found) for one in commands if (found := risks(command_of(one)))]
    places = [place for place, one in enumerate(events) if is_edit(one) or _edits_by_shell(one)]
    last = _last_useful(events, places, changed)
    return Conduct(
        events=len(events) + max(0, trajectory.omitted_events),
        whole=not (trajectory.truncated or trajectory.omitted_events or trajectory.unknown_events),
        commands=len(texts),
        distinct_commands=distinct,
        repeat_ratio=1 - distinct / len(texts) if texts else None,
        repeated=_repeated(texts),
        failing_run=failing,
        failing_command=command,
        reads=reads,
        rereads=rereads,
        most_reads=most,
        edits=len(edits),
        shell_edits=len(shell),
        reverted_edits=_reverted(events, len(edits)),
        events_before_edit=_before(events, places, trajectory.omitted_events),
        seconds_after_edit=_seconds_after(events, last),
        tokens_after_edit=_tokens_after(events, last),
        risky=tuple(_risky(one, found) for one, found in risky[:_MOST_RISKS]),
        risky_commands=len(risky),
        denied=sum(one.denied for one in events),
        test_runs=sum(runs_tests(text) for text in texts),
        last_tests=_last_tests(events, places),
    )


def command_of(event: Event) -> str:
    """The words of a command; empty where there are none."""
    return (event.command or "").strip()


def is_edit(event: Event) -> bool:
    """Whether a tool changed a file, as far as is known."""
    return event.kind is EventKind.WRITE and not event.denied and event.ok is not False


def _edits_by_shell(event: Event) -> bool:
    return event.kind is EventKind.COMMAND and not event.denied and writes_files(command_of(event))


def failed(event: Event) -> bool | None:
    """Whether it ended badly; None if that is not known."""
    if event.exit_code is not None:
        return event.exit_code != 0
    return None if event.ok is None else not event.ok


def _failing_run(events: Sequence[Event]) -> tuple[int | None, str | None]:
    """Length and words of the longest run."""
    best, words = 0, None
    for place, count in failing_commands(events):
        if count > best:
            best, words = count, command_of(events[place])[:_LONGEST_SHOWN]
    known = any(
        one.kind is EventKind.COMMAND
        and not one.denied
        and command_of(one)
        and failed(one) is not None
        for one in events
    )
    return (best, words) if known else (None, None)


def failing_commands(events: Iterable[Event]) -> Iterator[tuple[int, int]]:
    """The place of each command, with how often it has failed in a row by now, no edit between.

    Per agent, since sub-agents work side by side.
    """
    runs: dict[str | None, tuple[str, int]] = {}
    for place, event in enumerate(events):
        if is_edit(event):
            # Whoever edits may change what the others' commands come to.
            runs.clear()
        if event.kind is not EventKind.COMMAND or event.denied or not command_of(event):
            continue
        before, count = runs.get(event.agent, ("", 0))
        again = count + 1 if before == command_of(event) else 1
        count = again if failed(event) else 0
        runs[event.agent] = (command_of(event), count)
        yield place, count


def _reads(events: Iterable[Event]) -> tuple[int, int, int]:
    """All reads of files, those of an unchanged part again, and the most reads of one part."""
    counts = [count for _, count in reads_of_parts(events)]
    return len(counts), sum(count > 1 for count in counts), max(counts, default=0)


def reads_of_parts(events: Iterable[Event]) -> Iterator[tuple[int, int]]:
    """The place of each read, with how often that part was read by now, unchanged; 0: not known."""
    last: dict[str, tuple[int, str | None, int]] = {}
    edited: dict[str, int] = {}
    commands = -1
    for place, event in enumerate(events):
        if event.kind is EventKind.COMMAND and not event.denied:
            commands = place
        if is_edit(event):
            edited[event.path or ""] = place
        if event.kind is not EventKind.READ or event.denied or event.ok is False:
            continue
        if not event.path:
            yield place, 0
            continue
        key = f"{event.agent}\0{event.path}\0{event.arguments}"
        before, output, count = last.get(key, (-1, None, 0))
        untouched = before >= 0 and edited.get(event.path, -1) < before
        if output is not None and event.output is not None:
            same = untouched and output == event.output
        else:
            same = untouched and commands < before
        count = count + 1 if same else 1
        yield place, count
        last[key] = (place, event.output, count)


class Followed:
    """The files that were edited so far, event by event."""

    def __init__(self) -> None:
        self.edits = Edits()

    def takes_back(self, event: Event) -> bool:
        """Take in an event; whether a file went back to an earlier state by it."""
        before = self.edits.reverted
        if is_edit(event):
            self.edits.edit(event)
        elif event.kind is EventKind.COMMAND and not event.denied and failed(event) is not True:
            for path in restored_paths(command_of(event)):
                self.edits.restore(path)
        return self.edits.reverted > before


def _reverted(events: Iterable[Event], count: int) -> int | None:
    followed = Followed()
    for event in events:
        followed.takes_back(event)
    edits = followed.edits
    return None if count and edits.unread == count else edits.reverted


def _before(events: Sequence[Event], places: Sequence[int], omitted: int) -> int | None:
    """How much came before the first edit; None if there was none, or one may be missing."""
    if not places:
        return None
    earlier = events[: places[0]]
    if omitted and _gap(events[: places[0] + 1]):
        return None
    return sum(one.kind is not EventKind.PROMPT for one in earlier)


def _gap(events: Sequence[Event]) -> int:
    """The place of the first event after the last ones that are missing; 0 if none are."""
    places = range(len(events) - 1, 0, -1)
    return next((at for at in places if events[at].number != events[at - 1].number + 1), 0)


def _last_useful(
    events: Sequence[Event], places: Sequence[int], changed: Collection[str] | None
) -> int | None:
    """The place of the last edit that the change still has; None if there is none."""
    gap = _gap(events)
    for place in reversed(places):
        if place < gap:
            return None
        path = (events[place].path or "").removeprefix("./")
        if events[place].kind is EventKind.COMMAND or changed is None or path in changed:
            return place
    return None


def _seconds_after(events: Sequence[Event], last: int | None) -> float | None:
    if last is None:
        return None
    times = [_moment(one.at) for one in events[last:]]
    began, rest = times[0], [time for time in times if time is not None]
    if began is None:
        return None
    return round(max(0.0, (max(rest) - began).total_seconds()), 3)


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _tokens_after(events: Sequence[Event], last: int | None) -> int | None:
    """What later calls of the model read and wrote; None if one of them does not tell."""
    if last is None or not any(one.usage is not None for one in events):
        return None
    begun = {one.turn for one in events[: last + 1]}
    total = 0
    waiting: set[int] = set()
    for event in events[last + 1 :]:
        if event.turn is None or event.turn in begun:
            continue
        waiting.add(event.turn)
        if event.usage is not None:
            used = _whole_of(event.usage)
            if used is None:
                return None
            total += used
            begun.add(event.turn)
            waiting.discard(event.turn)
    return None if waiting else total


def _whole_of(usage: CallUsage) -> int | None:
    """All that a call read and wrote. Not every provider tells of a cache that it has not."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    return usage.input_tokens + usage.output_tokens + cached


def _risky(event: Event, found: tuple[str, ...]) -> RiskyCommand:
    return RiskyCommand(
        event=event.number,
        risks=found,
        command=command_of(event)[:_LONGEST_SHOWN],
        denied=event.denied,
    )


def _last_tests(events: Sequence[Event], places: Sequence[int]) -> TestRun | None:
    for place in range(len(events) - 1, -1, -1):
        event = events[place]
        if event.kind is EventKind.COMMAND and not event.denied and runs_tests(command_of(event)):
            return TestRun(
                event=event.number,
                command=command_of(event)[:_LONGEST_SHOWN],
                passed=passed(event),
                edited_since=bool(places) and places[-1] > place,
            )
    return None


def passed(event: Event) -> bool | None:
    """Whether tests passed: by the command's end where that is theirs, else by their last lines."""
    bad = failed(event)
    if bad is not None and ends_in_tests(command_of(event)):
        return not bad
    said = (event.output or "")[-_LAST_WORDS:]
    if _SOME_FAILED.search(said):
        return False
    return True if _SOME_PASSED.search(said) else None


def _repeated(texts: Sequence[str]) -> tuple[Repeated, ...]:
    return tuple(
        Repeated(command=text[:_LONGEST_SHOWN], times=times)
        for text, times in Counter(texts).most_common(_MOST_REPEATED)
        if times > 1
    )
