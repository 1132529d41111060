"""Long lists on several pages."""

from __future__ import annotations

import pytest

from trialbook.site.paging import paged


@pytest.mark.parametrize("rows", [0, 1, 200])
def test_a_short_list_has_one_page_and_no_ways_to_others(rows: int) -> None:
    [page] = paged(range(rows), "runs/index.html", "run")
    assert (page.path, page.number, page.of) == ("runs/index.html", 1, 1)
    assert (page.first, page.previous, page.next, page.last) == ("", "", "", "")


def test_every_row_is_on_one_page_and_pages_lead_to_each_other() -> None:
    pages = list(paged(range(450), "runs/index.html", "run"))
    assert [row for page in pages for row in page.rows] == list(range(450))
    paths = ["runs/index.html", "runs/page-2.html", "runs/page-3.html"]
    assert [page.path for page in pages] == paths
    assert [page.previous for page in pages] == ["", *paths[:2]]
    assert [page.next for page in pages] == [*paths[1:], ""]
    assert [page.first for page in pages] == ["", paths[0], paths[0]]
    assert [page.last for page in pages] == [paths[2], paths[2], ""]
    assert pages[2].shown == "401 to 450 of 450 runs"


def test_pages_of_a_named_page_keep_its_name() -> None:
    assert [page.path for page in paged(range(3), "gates.html", "gate", size=2)] == [
        "gates.html",
        "gates-page-2.html",
    ]
