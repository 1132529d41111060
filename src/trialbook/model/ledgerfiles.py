"""Records that stand in the ledger beside its runs, and are added to only, like those.

| path in the ledger | what it is |
| --- | --- |
| ``rubrics/<rubric>/calibrations/<id>.json`` | a judge compared with people |
| ``rules/<id>.json`` | where something that was sent back became a rule |
| ``alarms/<id>.json`` | whether a gate that failed was right |

An ``<id>`` is made without coordination, as those in runs are.
"""

from __future__ import annotations

import re

from trialbook.model.runfiles import ID_PATTERN

RUBRICS = "rubrics"
CALIBRATIONS = "calibrations"
RULES = "rules"
ALARMS = "alarms"

_NAME = r"[^/]+"
_CALIBRATION = re.compile(rf"({RUBRICS}/{_NAME}/{CALIBRATIONS})/({ID_PATTERN})\.json")
_PLAIN = re.compile(rf"({RULES}|{ALARMS})/({ID_PATTERN})\.json")


def records_folder(path: str) -> str | None:
    """The folder of records that a path of the ledger is in; None for any other path."""
    match = _CALIBRATION.fullmatch(path) or _PLAIN.fullmatch(path)
    return None if match is None else match[1]


def calibrations_folder(rubric: str) -> str:
    """Where the calibrations with a rubric are; ``rubric`` is ``merge@1``, or only ``merge``."""
    return f"{RUBRICS}/{rubric.partition('@')[0]}/{CALIBRATIONS}"


def calibration_path(rubric: str, name: str) -> str:
    """Where a calibration is."""
    return f"{calibrations_folder(rubric)}/{name}.json"


def rule_path(name: str) -> str:
    """Where the record of a rule is."""
    return f"{RULES}/{name}.json"


def alarm_path(name: str) -> str:
    """Where the record is of what a failed gate was."""
    return f"{ALARMS}/{name}.json"
