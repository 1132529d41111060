"""What was tried over a whole series when it was over, as its trial keeps it in ``series.json``.

Answers about a series are made from this and the trial's other files whenever they are looked at,
so that everybody gets the same ones from a clone. Only what has to be run, or needs trees that the
ledger does not hold, is here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from trialbook.model.series import RegressionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A decision that is to hold from a session on. ``conflict`` is the session that is against it.

    ``conflict`` is null where none is.
    """

    id: str
    statement: str
    session: int
    conflict: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyAnswer:
    """Whether the property of a decision holds on what a session left; null: it could not be told.

    ``evidence`` names checks and tests with what they said.
    """

    decision: str
    session: int
    tree: str
    holds: bool | None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeTests:
    """How tests ended on one tree, by their ids: passed or not, or null where that is not known.

    ``trouble`` says why nothing is known, where nothing is.
    """

    tree: str
    tests: dict[str, bool | None] = field(default_factory=dict)
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierTests:
    """The private tests of an earlier session, before a repair and after it."""

    session: int
    before: TreeTests
    after: TreeTests


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRecord:
    """What was tried about the repair of a regression.

    ``before`` is the tree that the session before left, ``start`` the one that the repair began
    with, ``end`` what it left. ``own_before`` and ``own_after`` are the agent's own new tests on
    ``start`` and on ``end``. ``keyed`` are places of the repair that hold a value which only the
    report has, ``in_component`` those in the component that the sealed key names; null where there
    is no key. ``key_sha256`` is that of the key.
    """

    session: int
    kind: RegressionKind
    reported: tuple[str, ...]
    siblings: tuple[str, ...]
    before: str
    start: str
    end: str
    earlier: tuple[EarlierTests, ...] = ()
    own_before: TreeTests | None = None
    own_after: TreeTests | None = None
    keyed: tuple[str, ...] = ()
    in_component: tuple[str, ...] | None = None
    key_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeChange:
    """Where to look in all that a series changed: hints, no answers.

    ``clones`` are pairs of places with the same lines, ``cloned_lines`` how many of the
    ``added_lines`` stand in one. ``unused`` are added functions and classes that nothing names,
    ``dependencies`` added lines of files that declare dependencies. ``trouble`` says what could not
    be looked at. ``base`` is what it is seen against: the baseline with what was laid in between
    sessions, so that only the agent's own work counts. Empty in records of older versions.
    """

    tree: str
    clones: tuple[tuple[str, str], ...] = ()
    cloned_lines: int = 0
    added_lines: int = 0
    unused: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    trouble: str = ""
    base: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRecord:
    """Everything that was tried. ``repair`` is null where no session had a regression to repair."""

    schema: str = "trialbook/series/1"
    decisions: tuple[Stated, ...]
    properties: tuple[PropertyAnswer, ...]
    repair: RepairRecord | None
    change: WholeChange
