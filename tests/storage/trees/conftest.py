"""Fixtures for the tests of trees."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import nasty_tree

from trialbook.storage.repository import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty object store."""
    return Store.at(tmp_path / "objects")


@pytest.fixture
def nasty(tmp_path: Path) -> Path:
    """The nasty tree as a folder."""
    folder = tmp_path / "nasty"
    nasty_tree.build(folder)
    return folder
