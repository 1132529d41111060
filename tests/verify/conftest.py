from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.verify.book import Book, Recipe, make


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An honest ledger, made once; never changed."""
    return make(tmp_path_factory.mktemp("pristine") / "ledger").root


@pytest.fixture
def book(pristine: Path, tmp_path: Path) -> Book:
    """A copy of the honest ledger."""
    shutil.copytree(pristine, tmp_path / "copy", symlinks=True)
    return Book(tmp_path / "copy")


@pytest.fixture
def cook(tmp_path: Path) -> Callable[..., Book]:
    """Makes ledgers by other recipes."""

    def made(**steps: object) -> Book:
        return make(tmp_path / "cooked", Recipe(**steps))  # type: ignore[arg-type]

    return made
