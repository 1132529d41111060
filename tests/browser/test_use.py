"""What a reader does: filter, sort, search, follow a link, choose a theme, use the keyboard."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser.kinds import ids_of, page_with, pages_of, representatives
from tests.browser.watching import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_ROWS = """(table) => [...table.tBodies[0].rows].filter((row) => !row.hidden)
  .map((row) => [...row.cells].map((cell) => cell.textContent.trim()))"""
_SEEN = """(id) => {
  const place = document.getElementById(id);
  const box = place.getBoundingClientRect();
  return { matches: place.matches(":target"), inView: box.bottom > 0 && box.top < innerHeight,
           drawn: place.getClientRects().length > 0 };
}"""


def test_a_table_is_filtered_by_words(browser: Browser, site: Path) -> None:
    with watched(browser, site) as watch:
        page = watch.open(page_with(site, r"<table[^>]*\bfilterable\b"))
        table = page.locator(".table-tools + table, .table-tools + * table").first
        tools = page.locator(".table-tools").first
        before = table.evaluate(_ROWS)
        word = max(before[-1], key=len).split()[0].lower()
        tools.locator("input").fill(word)
        after = table.evaluate(_ROWS)
        assert 0 < len(after) <= len(before)
        assert all(word in " ".join("".join(row).split()).lower() for row in after)
        assert f"{len(after)} of {len(before)}" in tools.inner_text()
        tools.locator("input").fill("-" + word)
        assert len(table.evaluate(_ROWS)) == len(before) - len(after)
        tools.locator("input").press("Escape")
        assert table.evaluate(_ROWS) == before
        assert watch.troubles() == []


def test_a_table_is_sorted_both_ways_and_back(browser: Browser, site: Path) -> None:
    with watched(browser, site) as watch:
        page = watch.open(page_with(site, r"<table[^>]*\bsortable\b"))
        button = page.locator("table.sortable button.sort").first
        table = page.locator("table.sortable", has=page.locator("button.sort")).first
        before = table.evaluate(_ROWS)
        found = {}
        for way in ("ascending", "descending", None):
            button.click()
            head = button.locator("xpath=ancestor::th[1]")
            assert head.get_attribute("aria-sort") == way
            found[way] = table.evaluate(_ROWS)
            assert sorted(found[way]) == sorted(before)
        assert found[None] == before
        first = [row[0] for row in found["ascending"] if row[0] not in {"", "none", "unknown"}]
        last = [row[0] for row in found["descending"] if row[0] not in {"", "none", "unknown"}]
        assert sorted(first) == sorted(last)
        assert first[0] == last[-1]
        assert watch.troubles() == []


def test_search_finds_a_trial_and_goes_there(browser: Browser, site: Path) -> None:
    run = next(path for path in representatives(site)["trial"])
    task, configuration, name = run.split("/")[3:6]
    with watched(browser, site) as watch:
        page = watch.open(representatives(site)["docs"][0])  # a folder further down
        page.keyboard.press("/")
        page.keyboard.type(f"{task} {configuration} {name.removesuffix('.html')}")
        option = page.locator("#search-list [role=option]").first
        option.wait_for()
        assert task in option.inner_text()
        with page.expect_navigation(wait_until="load"):
            page.keyboard.press("Enter")
        assert f"/{task}/{configuration}/" in watch.at()
        assert watch.troubles() == []


def test_search_that_finds_nothing_says_so_and_escape_closes_it(
    browser: Browser, site: Path
) -> None:
    with watched(browser, site) as watch:
        page = watch.open("index.html")
        page.keyboard.press("/")
        page.keyboard.type("no such thing anywhere")
        page.get_by_text("Nothing found").wait_for()
        page.keyboard.press("Escape")
        assert page.locator(".search-results").is_hidden()
        assert watch.troubles() == []


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_a_link_to_a_line_of_a_diff_leads_to_it(
    browser: Browser, site: Path, *, script: bool
) -> None:
    with watched(browser, site, script=script) as watch:
        path = page_with(site, r'\bid="f[0-9]+n[0-9]+"')
        line = max(one for one in ids_of(site, path) if re.fullmatch(r"f\d+n\d+", one))
        watch.open("index.html")
        watch.open(f"{path}#{line}")
        watch.settle()
        seen = watch.run(_SEEN, line)
        assert seen["matches"]
        assert not script or seen == {"matches": True, "inView": True, "drawn": True}
        assert watch.troubles() == []


def test_a_link_to_an_event_leads_to_it(browser: Browser, site: Path) -> None:
    with watched(browser, site) as watch:
        path = page_with(site, r'\bid="e[0-9]+"')
        event = max(one for one in ids_of(site, path) if re.fullmatch(r"e\d+", one))
        watch.open("index.html")
        watch.open(f"{path}#{event}")
        watch.settle()
        assert watch.run(_SEEN, event) == {"matches": True, "inView": True, "drawn": True}
        assert watch.troubles() == []


def test_the_theme_is_chosen_and_remembered(browser: Browser, site: Path) -> None:
    shade = "() => getComputedStyle(document.body).backgroundColor"
    with watched(browser, site, theme="light") as watch:
        page = watch.open("index.html")
        light = watch.run(shade)
        button = page.locator("button.theme")
        button.click()
        assert watch.run("() => document.documentElement.dataset.theme") == "light"
        button.click()
        assert watch.run("() => document.documentElement.dataset.theme") == "dark"
        assert watch.run(shade) != light
        watch.open(pages_of(site)[-1])
        assert watch.run("() => document.documentElement.dataset.theme") == "dark"
        page.locator("button.theme").click()
        assert watch.run(shade) == light
        assert watch.troubles() == []


def test_keys_go_through_rows_and_are_listed(browser: Browser, site: Path) -> None:
    with watched(browser, site) as watch:
        page = watch.open(representatives(site)["run"][0])
        page.keyboard.press("j")
        first = watch.run("() => document.querySelectorAll('.at').length")
        one = watch.run("() => document.activeElement.outerHTML")
        page.keyboard.press("j")
        two = watch.run("() => document.activeElement.outerHTML")
        page.keyboard.press("k")
        assert first == 1
        assert one != two
        assert watch.run("() => document.activeElement.outerHTML") == one
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog")
        assert "search" in dialog.inner_text()
        page.keyboard.press("Escape")
        assert dialog.is_hidden()
        assert watch.troubles() == []


def test_the_first_stop_of_the_keyboard_leads_to_the_content(browser: Browser, site: Path) -> None:
    with watched(browser, site) as watch:
        page = watch.open("index.html")
        page.keyboard.press("Tab")
        assert watch.run("() => document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert watch.fragment() == "main"
        assert watch.run("() => document.activeElement.id") == "main"
        page.keyboard.press("Tab")
        ring = watch.run(
            "() => { const style = getComputedStyle(document.activeElement);"
            " return style.outlineStyle + style.boxShadow; }"
        )
        assert ring != "nonenone", "what has the focus cannot be told"
