from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.conftest import trialbook

PAGES = "site/pages"


class Served:
    """A site that is being served by a process of its own."""

    def __init__(self, ledger: Path, tmp_path: Path) -> None:
        self.ledger = ledger
        self.said = tmp_path / "said"
        command = [sys.executable, "-m", "trialbook", "-C", str(ledger), "site", "serve"]
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [*command, "--port", "0"],
                stdout=subprocess.PIPE,
                stderr=said,
                env=dict(os.environ) | {"TRIALBOOK_CACHE": str(tmp_path / "cache")},
            )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().decode().strip()

    def get(self, path: str) -> str:
        with urlopen(self.address + path, timeout=60) as answer:
            return str(answer.read().decode())

    @property
    def version(self) -> str:
        return self.get("docs/index.html").partition("live.js?version=")[2].partition('"')[0]

    def after(self, version: str) -> str:
        """The version that is there when the server has built again."""
        return self.get(f"_trialbook/wait.js?version={version}").split('"')[1]


@pytest.fixture
def served(ledger: Path, tmp_path: Path) -> Iterator[Served]:
    (ledger / PAGES).mkdir(parents=True)
    (ledger / PAGES / "index.md").write_text("# First words\n")
    found = Served(ledger, tmp_path)
    yield found
    if found.process.poll() is None:
        found.process.send_signal(signal.SIGINT)
        assert found.process.wait(timeout=30) == 0
    if found.process.stdout is not None:
        found.process.stdout.close()


@pytest.mark.slow
def test_pages_are_built_again_when_a_file_changes_and_the_open_ones_are_told(
    served: Served,
) -> None:
    page = served.get("docs/index.html")
    assert "First words" in page
    before = served.version
    assert f'<script src="/_trialbook/live.js?version={before}"></script>' in page
    assert "script-src 'self'" in page
    assert "connect-src" not in page
    assert "wait.js" in served.get(f"_trialbook/live.js?version={before}")
    (served.ledger / PAGES / "index.md").write_text("# Other words\n")
    after = served.after(before)
    assert after != before
    assert "Other words" in served.get("docs/index.html")
    built = (served.ledger / "site/_build/docs/index.html").read_text()
    assert "Other words" in built
    assert "_trialbook" not in built


@pytest.mark.slow
def test_a_new_run_is_on_the_pages_without_a_word(served: Served) -> None:
    before = served.version
    trialbook(served.ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    while (served.after(before)) == before or "runs/mini/" not in served.get("index.html"):
        before = served.version
    assert "runs/mini/" in served.get("index.html")


@pytest.mark.slow
def test_a_fault_in_a_file_is_told_and_the_last_site_stays_until_it_is_mended(
    served: Served,
) -> None:
    before = served.version
    settings = served.ledger / "site/site.yaml"
    settings.write_text("titel: Ours\n")
    while "site/site.yaml:1:1" not in served.said.read_text():
        assert served.process.poll() is None
    assert "not built again" in served.said.read_text()
    assert served.version == before
    settings.write_text("title: Ours\n")
    assert served.after(before) != before
    assert "Ours</title>" in served.get("index.html")


@pytest.mark.slow
def test_nothing_but_the_site_is_served(served: Served) -> None:
    for path in ("runs/", "../suites/mini/suite.yaml", "%2e%2e/%2e%2e/suites/mini/suite.yaml"):
        with pytest.raises(HTTPError, match="404"):
            served.get(path)
    foreign = Request(served.address, headers={"Host": "localhost.example"})
    with pytest.raises(HTTPError, match="421"):
        urlopen(foreign, timeout=60)
    assert served.get("_trialbook/wait.js?version=%22;alert(1)") == (
        f'window.trialbookVersion = "{served.version}";\n'
    )
