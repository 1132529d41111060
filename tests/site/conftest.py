"""A site built once from a ledger in which everything is hostile that can be."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.recorded import full_ledger

from trialbook.registry import Registry
from trialbook.site.build import SiteSummary, build_site
from trialbook.storage.reader import Reader


def build(root: Path, output: Path) -> SiteSummary:
    """Build a site as the command does."""
    return build_site(root, Reader.open(root), output, registry=Registry())


@pytest.fixture
def recorded_ledger(tmp_path: Path) -> Path:
    """A ledger with a closed, an open and a hostile run, and prose pages."""
    root = full_ledger(tmp_path / "ledger")
    pages = root / "site" / "pages"
    (pages / "how-to").mkdir(parents=True)
    (pages / "index.md").write_text("# Our *pages*\n\n[how](how-to/a.md#a-part)\n")
    (pages / "how-to" / "a.md").write_text(
        "---\ntitle: A <b>page</b>\norder: 2\n---\n\n## A part\n\n[back](../index.md)\n"
    )
    return root


@pytest.fixture
def site(recorded_ledger: Path, tmp_path: Path) -> Path:
    """That ledger's site."""
    output = tmp_path / "site"
    build(recorded_ledger, output)
    return output
