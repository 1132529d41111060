"""What changed between two runs of a suite: which tasks moved, counted only, without a verdict.

Counts of two runs of one configuration differ by chance too. Whether a difference is more than that
is for `comparison`; this says where to look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trialbook.reporting.comparability import obstacles
from trialbook.reporting.wording import number_of, ratio
from trialbook.stats.views import Tally, chains, count
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rows import TrialRow

Rows = Sequence[TrialRow]
"""The trials of one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A task of one configuration of which more or fewer valid executions were accepted."""

    task: str
    configuration: str
    before: Tally
    after: Tally

    @property
    def up(self) -> bool:
        """Whether a larger share is accepted than before."""
        return _share(self.after) > _share(self.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """The last two runs of a suite that compare.

    ``configurations`` are those that both have, ``changed`` those of them that are not what they
    were. ``moved`` are the tasks whose share differs, ``same`` counts the others.
    """

    before: RunRef
    after: RunRef
    configurations: tuple[str, ...]
    changed: tuple[str, ...]
    moved: tuple[Moved, ...]
    same: int


def since(reader: Reader, before: RunRef, after: RunRef, rows: Mapping[RunRef, Rows]) -> Since:
    """Compare the counts of two runs, task by task, for the configurations that both have."""
    one, other = reader.plan(before).configurations, reader.plan(after).configurations
    shared = tuple(name for name in other if name in one)
    was, now = _tallies(rows[before]), _tallies(rows[after])
    pairs = [key for key in now if key in was and key[1] in shared]
    moved = [
        Moved(task=task, configuration=name, before=was[task, name], after=now[task, name])
        for task, name in pairs
        if _share(was[task, name]) != _share(now[task, name])
    ]
    return Since(
        before=before,
        after=after,
        configurations=shared,
        changed=tuple(name for name in shared if one[name].digest != other[name].digest),
        moved=tuple(sorted(moved, key=lambda one: (one.up, one.task, one.configuration))),
        same=len(pairs) - len(moved),
    )


def last_two(reader: Reader, runs: Sequence[RunRef], most: int) -> tuple[RunRef, RunRef] | None:
    """The newest closed run and the newest earlier one of the same rules and a configuration of it.

    None if there are no such two among the last ``most``.
    """
    recent = [run for run in reversed(runs[-most:]) if reader.is_closed(run)]
    plans = {run: reader.plan(run) for run in recent}
    for index, after in enumerate(recent):
        for before in recent[index + 1 :]:
            shared = plans[after].configurations.keys() & plans[before].configurations.keys()
            if shared and not obstacles([plans[before], plans[after]]):
                return before, after
    return None


def moved_said(found: Since) -> str:
    """What changed, in one sentence."""
    up = sum(one.up for one in found.moved)
    down = len(found.moved) - up
    if not found.moved:
        return f"Nothing moved: {number_of(found.same, 'result')} as before."
    parts = [
        f"{number} {word}" for number, word in ((down, "went down"), (up, "went up")) if number
    ]
    return f"{' and '.join(parts)} of {number_of(len(found.moved) + found.same, 'result')}."


def tally_said(one: Moved) -> str:
    """``3/3 to 1/3``."""
    return f"{ratio(one.before)} to {ratio(one.after)}"


def _tallies(rows: Rows) -> dict[tuple[str, str], Tally]:
    groups: dict[tuple[str, str], list[TrialRow]] = {}
    for row in rows:
        groups.setdefault((row.task, row.configuration), []).append(row)
    tallies = {key: _valid(group) for key, group in groups.items()}
    return {key: tally for key, tally in tallies.items() if tally.slots}


def _valid(rows: Iterable[TrialRow]) -> Tally:
    ended = [(row.slot, row.rerun, row.outcome) for row in rows]
    slots = dict.fromkeys(slot for slot, _, _ in ended)
    return count(chains(slots, ended)).valid_execution


def _share(tally: Tally) -> Fraction:
    return tally.rate or Fraction(0)
