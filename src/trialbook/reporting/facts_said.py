"""The facts of a trial in words: the same rows for the terminal and the site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trialbook.model.trial import Trial
from trialbook.reporting.results import grades_line
from trialbook.reporting.trial_facts import AttemptFacts, ChangeFacts, TrialFacts
from trialbook.reporting.wording import duration, number_of, percent, words
from trialbook.stats.conduct import Conduct

UNKNOWN = "unknown"
_MOST_NAMED = 5
_NOTABLE_RUN = 3
_NOTABLE_READS = 4
_LONGEST = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One row: what, how much of it, and more about it. ``notable`` asks for a look at it."""

    name: str
    value: str
    more: str = ""
    notable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FactGroup:
    """Rows that belong together."""

    title: str
    facts: tuple[Fact, ...]
    note: str = ""


def facts_said(trial: Trial, facts: TrialFacts) -> list[FactGroup]:
    """The groups of rows: one for each attempt, one for the change; nothing where nothing is."""
    if not facts.anything:
        return []
    groups = [
        group for one in facts.attempts if (group := _attempt(one, trial, len(facts.attempts)))
    ]
    rows = tuple(_change(facts.change, facts.tests))
    return [*groups, FactGroup(title="The change", facts=rows)] if rows else groups


def _attempt(attempt: AttemptFacts, trial: Trial, of: int) -> FactGroup | None:
    rows: list[Fact] = []
    note = attempt.unreadable
    if attempt.conduct is not None:
        rows += _conduct(attempt.conduct)
        if not attempt.conduct.whole:
            note = "The events are not all there: the counts are of those that are."
    rows += _claims(attempt, trial)
    if not rows and not note:
        return None
    place = f" (session {attempt.session}, attempt {attempt.attempt})" if of > 1 else ""
    return FactGroup(title=f"How the agent worked{place}", facts=tuple(rows), note=note)


def _conduct(made: Conduct) -> Iterator[Fact]:
    yield Fact(name="events", value=str(made.events))
    again = ", ".join(f"{one.times} x {_short(one.command)}" for one in made.repeated)
    yield Fact(
        name="commands repeated",
        value=_share(made.commands - made.distinct_commands, made.commands),
        more=again,
    )
    yield Fact(
        name="same failure in a row",
        value=_number(made.failing_run),
        more=_short(made.failing_command or ""),
        notable=(made.failing_run or 0) >= _NOTABLE_RUN,
    )
    most = f"one part of a file {made.most_reads} times" if made.rereads else ""
    yield Fact(
        name="unchanged files read again",
        value=f"{made.rereads}/{made.reads}",
        more=most,
        notable=made.most_reads >= _NOTABLE_READS,
    )
    shell = f"and {number_of(made.shell_edits, 'command')} that changed files"
    yield Fact(name="edits", value=str(made.edits), more=shell if made.shell_edits else "")
    yield Fact(name="edits taken back", value=_number(made.reverted_edits))
    yield Fact(name="events before the first edit", value=_number(made.events_before_edit))
    took = UNKNOWN if made.seconds_after_edit is None else duration(made.seconds_after_edit)
    tokens = UNKNOWN if made.tokens_after_edit is None else f"{made.tokens_after_edit:,}"
    yield Fact(name="after the last useful edit", value=took, more=f"tokens: {tokens}")
    listed = "; ".join(
        f"{', '.join(one.risks)}{' (not permitted)' if one.denied else ''}: {_short(one.command)}"
        for one in made.risky[:_MOST_NAMED]
    )
    yield Fact(
        name="risky commands",
        value=str(made.risky_commands),
        more=listed,
        notable=made.risky_commands > 0,
    )
    yield Fact(name="not permitted", value=str(made.denied))


def _claims(attempt: AttemptFacts, trial: Trial) -> Iterator[Fact]:
    """What the agent says about tests, its own last run of them, and what the graders say."""
    if not attempt.claims:
        return
    last = attempt.claims[-1]
    told = [f"“{_short(last.text)}”"]
    ran = None if attempt.conduct is None else attempt.conduct.last_tests
    if ran is not None:
        ended = {True: "passed", False: "failed", None: "ended in an unknown way"}[ran.passed]
        since = ", files were changed since" if ran.edited_since else ""
        told.append(f"its last run of tests {ended}{since}: {_short(ran.command)}")
    elif attempt.conduct is not None:
        told.append("no run of tests was seen")
    if trial.grades:
        told.append(f"graders: {grades_line(trial)}")
    yield Fact(
        name="says of tests",
        value=words(last.kind.value).removeprefix("tests "),
        more="; ".join(told),
        notable=attempt.claim_holds is False,
    )


def _change(change: ChangeFacts | None, tests: dict[str, int] | None) -> Iterator[Fact]:
    if change is None and tests is None:
        return
    value = UNKNOWN if tests is None else str(sum(tests.values()))
    kinds = ", ".join(f"{words(kind)}: {count}" for kind, count in (tests or {}).items())
    yield Fact(name="tests gone or weakened", value=value, more=kinds, notable=bool(tests))
    if change is None:
        return
    if change.outside_lines is not None:
        yield Fact(
            name="lines outside the scope",
            value=_share(change.outside_lines, change.changed_lines),
            more=_named(change.outside),
            notable=change.outside_lines > 0,
        )
    most = change.rewrites[0] if change.rewrites else None
    yield Fact(
        name="files rewritten",
        value=UNKNOWN if change.rewritten is None else str(len(change.rewritten)),
        more=f"at most {_share(most.deleted, most.lines)} of {most.path}" if most else "",
        notable=bool(change.rewritten),
    )


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({percent(Fraction(part, whole))})" if whole else f"{part}/{whole}"


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(paths[:_MOST_NAMED]) + more


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
