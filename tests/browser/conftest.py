"""One browser and two sites for all tests: of this repository's ledger, and of a hostile one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser.hostile import hostile_ledger
from tests.browser.sites import build, own_or_made
from tests.conftest import own_world

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real browser. Where there is none tests are skipped; on a build server they fail."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - skipped without it
        from tests.browser.watching import launch, program  # noqa: PLC0415
    except ImportError as error:
        _missing(f"{error.name} is not installed; `make browser` does it")
    executable = program()
    if executable is None:
        _missing("there is no Chromium; `apt-get install chromium` brings one")
    with sync_playwright() as playwright:
        started = launch(playwright, executable)
        yield started
        started.close()


def _missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this repository's ledger, or of a made one while that has no runs."""
    work = tmp_path_factory.mktemp("site")
    with own_world(work / "home"):
        return build(own_or_made(work / "ledger"), work / "site")


@pytest.fixture(scope="session")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a ledger in which everything is hostile that can be."""
    work = tmp_path_factory.mktemp("hostile")
    with own_world(work / "home"):
        return build(hostile_ledger(work / "ledger"), work / "site")
