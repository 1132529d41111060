"""Running a shipped suite whole, in a ledger of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.conftest import git, trialbook


def evaluated(suite: Path, ledger: Path) -> Path:
    """A new ledger that holds a copy of the suite and one finished run of it."""
    shutil.copytree(suite, ledger / "suites" / suite.name)
    git(ledger.parent, "init", "-q", str(ledger))
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "start")
    trialbook(ledger, "eval", suite.name)
    return ledger


def records_of(ledger: Path) -> dict[Path, dict[str, Any]]:
    """Every trial record in the ledger, by its file."""
    return {path: json.loads(path.read_text()) for path in ledger.glob("runs/**/trial.json")}
