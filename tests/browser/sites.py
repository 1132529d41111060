"""The sites that the browser looks at, built as the program builds them."""

from __future__ import annotations

import os
from pathlib import Path

from tests.recorded import full_ledger

from trialbook.registry import Registry
from trialbook.site.build import build_site
from trialbook.storage.reader import Reader

TOP = Path(__file__).resolve().parents[2]


def build(root: Path, output: Path) -> Path:
    """Build a ledger's site; gives the folder."""
    summary = build_site(root, Reader.open(root), output, registry=Registry())
    assert not summary.problems, summary.problems
    return output


def own_or_made(folder: Path) -> Path:
    """This repository's ledger; where it has no runs, one that is made in a folder.

    The environment variable LEDGER names another one.
    """
    own = Path(os.environ.get("LEDGER") or TOP)
    return own if Reader.open(own).runs() else full_ledger(folder)
