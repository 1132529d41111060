from __future__ import annotations

from pathlib import Path

import pytest

from trialbook.storage.repository import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty object store."""
    return Store.at(tmp_path / "objects")
