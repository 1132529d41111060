"""Every page opens from the disk: whole, quiet, and asking for nothing but the site's own files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from tests.browser.kinds import ids_of, pages_of, representatives
from tests.browser.watching import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WIDTHS = (390, 820, 1400)
MANY = 250

# What a page links to and loads, its plots included.
_LINKS = """() => {
  const found = [...document.querySelectorAll("a, link[href], script[src], img[src]")]
    .map((one) => one.getAttribute("href") ?? one.getAttribute("src") ?? "#");
  return [...new Set(found)].map((address) => new URL(address, document.baseURI).href);
}"""

# The elements that stick out of the page on the right, the outermost ones.
_WIDE = """() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const out = [...document.body.querySelectorAll("*")]
    .filter((one) => one.getBoundingClientRect().right > root.clientWidth + 0.5)
    .filter((one) => !one.closest(".scroll, pre, .unseen"))
    .map((one) => `${one.tagName.toLowerCase()}.${one.className} `
      + `${Math.round(one.getBoundingClientRect().right)}`);
  return [`${root.scrollWidth} > ${root.clientWidth}`, ...out.slice(0, 3)];
}"""

# What cannot be read without scripts. Folded parts can: a browser opens them by itself.
_HIDDEN = """() => [...document.querySelectorAll("main [hidden]")]
  .filter((one) => one.textContent.trim())
  .map((one) => `${one.tagName.toLowerCase()}.${one.className}: `
    + one.textContent.trim().slice(0, 40))"""


def _sample(site: Path) -> list[str]:
    """All pages; of a large site some of each kind."""
    every = pages_of(site)
    if len(every) <= MANY:
        return every
    return sorted(path for paths in representatives(site, each=6).values() for path in paths)


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_every_page_is_quiet_and_asks_for_nothing_outside(
    browser: Browser, site: Path, *, script: bool
) -> None:
    paths = _sample(site) if script else [p for ps in representatives(site, 3).values() for p in ps]
    found: dict[str, list[str]] = {}
    with watched(browser, site, script=script) as watch:
        for path in paths:
            watch.open(path)
            watch.settle()
            if troubles := watch.troubles():
                found[path] = troubles
            watch.said.clear()
            watch.asked.clear()
    assert not found


def test_no_link_leads_nowhere(browser: Browser, site: Path) -> None:
    links: dict[str, str] = {}
    with watched(browser, site) as watch:
        for path in _sample(site):
            watch.open(path)
            links |= dict.fromkeys(watch.run(_LINKS), path)
    base = site.as_uri() + "/"
    ids: dict[str, set[str]] = {}
    broken = []
    for link, source in sorted(links.items()):
        if not link.startswith("file:"):
            assert link.startswith(("https://", "http://", "mailto:", "data:,")), link
            continue
        address, _, fragment = link.partition("#")
        path = unquote(address.removeprefix(base))
        inside = address.startswith(base) and (site / path).is_file()
        if inside and fragment and path.endswith(".html"):
            if path not in ids:
                ids[path] = ids_of(site, path)
            inside = unquote(fragment) in ids[path] or fragment in ids[path]
        if not inside:
            broken.append((link, source))
    assert not broken


def test_no_page_is_wider_than_the_screen(browser: Browser, site: Path) -> None:
    found: dict[str, list[str]] = {}
    with watched(browser, site) as watch:
        for kind, paths in representatives(site, each=2).items():
            for path in paths:
                watch.open(path)
                for width in WIDTHS:
                    watch.page.set_viewport_size({"width": width, "height": 900})
                    watch.settle()
                    if wide := watch.run(_WIDE):
                        found[f"{kind}: {path} at {width}"] = wide
    assert not found


def test_without_scripts_everything_can_be_read(browser: Browser, site: Path) -> None:
    found: dict[str, list[str]] = {}
    with watched(browser, site, script=False) as watch:
        for kind, paths in representatives(site).items():
            watch.open(paths[0])
            if hidden := watch.run(_HIDDEN):
                found[f"{kind}: {paths[0]}"] = hidden[:4]
            text = watch.page.inner_text("main")
            assert len(text) > 40, f"{paths[0]} is empty without scripts"
    assert not found
