"""The journal: a line for every log that was set aside."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rotor.actions import Action

FILE = "rotor.journal"


def note(folder: Path, name: str, when: datetime, actions: Sequence[Action]) -> None:
    """Add a line on what was done for one log."""
    line = {"time": when.isoformat(), "log": name, "done": [one.describe() for one in actions]}
    with (folder / FILE).open("a", encoding="utf-8") as journal:
        journal.write(json.dumps(line) + "\n")
