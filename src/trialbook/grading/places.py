"""Takes out of grades where on this host they came to be: it says nothing to anybody else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from trialbook.api import Evidence, Grade
from trialbook.formats.records import from_json, to_json

TOOLCHAIN = "toolchain"
"""What stands for the folder of the interpreter that a task's commands run with."""


def without_places(grade: Grade, places: Mapping[str, str]) -> Grade:
    """The grade with other words for places, in every text that it has."""
    text = before = to_json(grade).decode()
    for place, word in places.items():
        text = text.replace(json.dumps(place, ensure_ascii=False)[1:-1], word)
    return grade if text == before else from_json(Grade, text.encode(), "the grade")


def places_of(evidence: Evidence) -> dict[str, str]:
    """The folders that graders worked in, and the toolchain that they worked with.

    An interpreter that is part of the system is in the same place everywhere, and stays.
    """
    toolchain = Path(evidence.python).parent.parent
    found = {f"{evidence.scratch}/": "", f"{evidence.scratch.parent}/": ""}
    own = toolchain.is_absolute() and (toolchain / "pyvenv.cfg").is_file()
    return found | ({str(toolchain): TOOLCHAIN} if own else {})
