from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crashes.world import Server, World, served


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One for all tests of a process."""
    with served() as one:
        yield one


@pytest.fixture
def world(tmp_path: Path, ledger: Path, server: Server) -> World:
    """The ledger `mini`, with some work of the user's in it that must stay as it is."""
    (ledger / "staged.txt").write_text("staged\n")
    made = World(top=tmp_path, server=server)
    made.git("add", "staged.txt")
    (ledger / "untracked.txt").write_text("untracked\n")
    return made
