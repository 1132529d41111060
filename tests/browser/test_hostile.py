"""Nothing that anybody wrote into a ledger acts in a real browser: it is text, and visible."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser.hostile import ADDRESS, CANARY, ELEMENT
from tests.browser.kinds import representatives
from tests.browser.watching import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# What only markup from a payload can make. Our own pages have none of it.
_INJECTED = f"""() => {{
  const found = [];
  const look = (selector) => document.querySelectorAll(selector)
    .forEach((one) => found.push(one.outerHTML.slice(0, 200)));
  look("{ELEMENT}, iframe, object, embed, base, form[action], meta[http-equiv=refresh], template");
  look("link[href*='{ADDRESS}'], img[src*='{ADDRESS}'], img[src=x]");
  look("[srcdoc], [autofocus], [style]");
  for (const one of document.querySelectorAll("*")) {{
    for (const {{ name, value }} of one.attributes) {{
      const address = ["href", "src", "action", "xlink:href", "formaction"].includes(name);
      const acts = address && /^[\\s\\x00-\\x20]*(javascript|data|vbscript):/i.test(value);
      // An image of a page of prose is never loaded: an empty one stands in its place.
      const empty = one.tagName === "IMG" && value === "data:,";
      if (name.startsWith("on") || (acts && !empty && one.tagName !== "LINK")) {{
        found.push(one.outerHTML.slice(0, 200));
      }}
    }}
  }}
  document.querySelectorAll("script").forEach((one) => {{
    if (!one.src || one.textContent) found.push(one.outerHTML.slice(0, 200));
  }});
  return found;
}}"""
_ACTING = """() => {
  const acting = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]/;
  const all = document.documentElement.textContent + document.title
    + [...document.querySelectorAll("[title], [aria-label], [href], [id], [data-sort]")]
      .flatMap((one) => [...one.attributes].map((attribute) => attribute.value)).join(" ");
  const at = all.search(acting);
  return at < 0 ? null : all.slice(Math.max(0, at - 60), at + 30);
}"""
_EVERYTHING = """() => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  document.querySelectorAll("a, button, summary, tr, code, td").forEach((one) => {
    for (const name of ["mouseover", "mouseenter", "focus", "pointerover"]) {
      one.dispatchEvent(new Event(name, { bubbles: true }));
    }
  });
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_runs_and_nothing_leaves(browser: Browser, hostile_site: Path, theme: str) -> None:
    found: dict[str, object] = {}
    each = 8 if theme == "light" else 1
    paths = [path for paths in representatives(hostile_site, each).values() for path in paths]
    with watched(browser, hostile_site, theme=theme) as watch:
        for path in paths:
            watch.open(path)
            watch.run(_EVERYTHING)
            watch.settle()
            wrong = [*watch.run(_INJECTED), *watch.troubles()]
            if watch.run(f"() => window.{CANARY}") is not None:
                wrong.append("a payload ran")
            if acting := watch.run(_ACTING):
                wrong.append(f"a character that acts is left: {acting!r}")
            if watch.at() != path:
                wrong.append(f"the page went to {watch.page.url}")
            if wrong:
                found[path] = wrong[:5]
            watch.said.clear()
            watch.asked.clear()
            watch.dialogs.clear()
    assert not found


def test_without_scripts_nothing_is_made_of_it_either(browser: Browser, hostile_site: Path) -> None:
    found: dict[str, object] = {}
    with watched(browser, hostile_site, script=False) as watch:
        for paths in representatives(hostile_site, each=2).values():
            for path in paths:
                watch.open(path)
                if wrong := [*watch.run(_INJECTED), *watch.troubles()]:
                    found[path] = wrong[:5]
    assert not found


def test_what_was_written_is_there_to_read(browser: Browser, hostile_site: Path) -> None:
    shown = {}
    with watched(browser, hostile_site, script=False) as watch:
        for kind, paths in representatives(hostile_site).items():
            watch.open(paths[0])
            shown[kind] = f"<{ELEMENT}>" in watch.page.inner_text("body")
    for kind in ("overview", "suite", "run", "trial", "docs"):
        assert shown[kind], f"{kind} does not show what it was given"


def test_searching_for_a_payload_shows_it_and_runs_nothing(
    browser: Browser, hostile_site: Path
) -> None:
    with watched(browser, hostile_site) as watch:
        page = watch.open("index.html")
        page.keyboard.press("/")
        page.keyboard.type("hostile-mark")
        page.wait_for_selector("#search-list [role=option]")
        for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
            page.keyboard.press(key)
        assert watch.run(_INJECTED) == []
        assert f"<{ELEMENT}>" in page.inner_text("#search-list")
        with page.expect_navigation(wait_until="load"):
            page.keyboard.press("Enter")
        watch.settle()
        assert page.url.startswith(hostile_site.as_uri())
        assert watch.run(_INJECTED) == []
        assert watch.run(f"() => window.{CANARY}") is None
        assert watch.troubles() == []


def test_a_fragment_that_somebody_made_up_does_nothing(
    browser: Browser, hostile_site: Path
) -> None:
    with watched(browser, hostile_site) as watch:
        for fragment in (
            "%E0%A4%A",
            "<img src=x onerror=alert(1)>",
            "'];alert(1);//",
            "constructor",
        ):
            watch.open(f"index.html#{fragment}")
            watch.run("(hash) => { location.hash = hash; }", fragment)
            watch.settle()
        assert watch.run(f"() => window.{CANARY}") is None
        assert watch.troubles() == []
