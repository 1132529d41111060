"""Where in a repository the parts of a ledger stand: what a folder in a folder is."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from trialbook.model.ledgerfiles import ALARMS, CALIBRATIONS, RUBRICS, RULES
from trialbook.model.runfiles import GENERATIONS, INCIDENTS, REGRADES, REVIEWS, rerun_of


class Level(IntEnum):
    """Where in the ledger a tree stands. From RUN on, everything is a record."""

    ABOVE = 0
    ROOT = 1
    RUNS = 2
    SUITE = 3
    SUITES = 4
    SUITE_SOURCE = 5
    LOCKS = 6
    RUBRICS = 7
    RUBRIC = 8
    RECORDS = 9
    RUN = 10
    TASK = 11
    CONFIGURATION = 12
    TRIAL = 13
    INSIDE = 14


_NO_TASKS = frozenset(name.encode() for name in (GENERATIONS, INCIDENTS, REGRADES, REVIEWS))


_TOP = {
    b"runs": Level.RUNS,
    b"suites": Level.SUITES,
    RUBRICS.encode(): Level.RUBRICS,
    RULES.encode(): Level.RECORDS,
    ALARMS.encode(): Level.RECORDS,
}


def _below_root(name: bytes) -> Level | None:
    return _TOP.get(name)


def _below_suite(name: bytes) -> Level | None:
    return Level.LOCKS if name == b"locks" else None


def _below_rubric(name: bytes) -> Level | None:
    return Level.RECORDS if name == CALIBRATIONS.encode() else None


def _below_run(name: bytes) -> Level:
    return Level.INSIDE if name in _NO_TASKS else Level.TASK


def _below_configuration(name: bytes) -> Level:
    return Level.TRIAL if rerun_of(name.decode("utf-8", "replace")) else Level.INSIDE


BELOW: dict[Level, Level | Callable[[bytes], Level | None]] = {
    Level.ROOT: _below_root,
    Level.RUNS: Level.SUITE,
    Level.SUITE: Level.RUN,
    Level.SUITES: Level.SUITE_SOURCE,
    Level.SUITE_SOURCE: _below_suite,
    Level.LOCKS: Level.INSIDE,
    Level.RUBRICS: Level.RUBRIC,
    Level.RUBRIC: _below_rubric,
    Level.RECORDS: Level.INSIDE,
    Level.RUN: _below_run,
    Level.TASK: Level.CONFIGURATION,
    Level.CONFIGURATION: _below_configuration,
    Level.TRIAL: Level.INSIDE,
    Level.INSIDE: Level.INSIDE,
}
"""What a folder in a folder of each level is; None is not opened."""
