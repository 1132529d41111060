from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import write_files

from trialbook.api import Page
from trialbook.testing import NotConforming, check_pages
from trialbook_pages.docs import DocsPages


class Source:
    """A source of pages with one of every fault."""

    name = "source"
    templates: Path | None = None

    def __init__(self, *pages: Page) -> None:
        self.given = pages
        self.asked = 0

    def pages(self, ledger_folder: Path) -> Iterable[Page]:
        self.asked += 1
        return self.given


def page(path: str = "a.html", context: Any = None) -> Page:
    return Page(path=path, template="t.html", title="T", context=context or {})


def test_the_prose_pages_conform(tmp_path: Path) -> None:
    write_files(tmp_path / "site/pages", {"index.md": "# Hello\n", "a/b.md": "# There\n"})
    check_pages(DocsPages(), tmp_path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Source(), "no page was made"),
        (Source(page("../a.html")), "inside the site"),
        (Source(page("/a.html")), "inside the site"),
        (Source(page("a.js")), "ends in .html"),
        (Source(page(), page()), "more than one page is at a.html"),
        (Source(page(context={"x": object()})), "not plain data"),
        (Source(page(context={"x": float("nan")})), "not plain data"),
    ],
)
def test_a_broken_promise_is_named(tmp_path: Path, source: Source, message: str) -> None:
    with pytest.raises(NotConforming, match=message):
        check_pages(source, tmp_path)


def test_pages_that_change_from_call_to_call_are_found(tmp_path: Path) -> None:
    class Fickle(Source):
        def pages(self, ledger_folder: Path) -> Iterable[Page]:
            self.asked += 1
            return [page(context={"asked": self.asked})]

    with pytest.raises(NotConforming, match="gave other pages"):
        check_pages(Fickle(), tmp_path)


def test_a_source_that_writes_to_the_ledger_is_found(tmp_path: Path) -> None:
    class Writer(Source):
        def pages(self, ledger_folder: Path) -> Iterable[Page]:
            (ledger_folder / "left").write_text("x")
            return [page()]

    with pytest.raises(NotConforming, match="ledger's folder"):
        check_pages(Writer(), tmp_path)
