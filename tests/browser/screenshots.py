"""Pictures of every kind of page, at three widths, light and dark, to be looked at by people.

``python -m tests.browser.screenshots``: builds the site of this repository's ledger (or of the one
that LEDGER names), and writes pictures and an ``index.html`` with all of them into
``site/_screenshots``, which git ignores.
"""

from __future__ import annotations

import argparse
import html
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.kinds import representatives
from tests.browser.sites import TOP, build, own_or_made
from tests.browser.watching import launch, program, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OUTPUT = TOP / "site/_screenshots"
WIDTHS = (390, 820, 1400)
THEMES = ("light", "dark")
TALLEST = 6000
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; background: Canvas; color: CanvasText }
section > div { display: flex; gap: 1rem; align-items: flex-start; overflow-x: auto }
figure { margin: 0 } img { border: 1px solid GrayText; display: block; width: 100% }
"""


def main() -> None:
    """Take the pictures, and say where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", help="only kinds of pages with this in their name")
    wanted = parser.parse_args()
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - for those who have it

    executable = program() or sys.exit("there is no Chromium: `apt-get install chromium`")
    with tempfile.TemporaryDirectory(prefix="screenshots-") as work:
        site = build(own_or_made(Path(work) / "ledger"), Path(work) / "site")
        shutil.rmtree(OUTPUT, ignore_errors=True)
        OUTPUT.mkdir(parents=True)
        with sync_playwright() as playwright:
            browser = launch(playwright, executable)
            taken = [
                (kind, paths[0], list(_pictures(browser, site, kind, paths[0])))
                for kind, paths in representatives(site).items()
                if (wanted.kinds or "") in kind
            ]
            browser.close()
    (OUTPUT / "index.html").write_text(_index(taken), encoding="utf-8")
    print(OUTPUT / "index.html")


def _pictures(browser: Browser, site: Path, kind: str, path: str) -> Iterator[tuple[str, int]]:
    name = re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-")
    for theme in THEMES:
        for width in WIDTHS:
            with watched(browser, site, theme=theme, size=(width, 900)) as watch:
                page = watch.open(path)
                watch.settle()
                height = min(TALLEST, watch.run("() => document.documentElement.scrollHeight"))
                page.set_viewport_size({"width": width, "height": max(height, 400)})
                watch.settle()
                file = f"{name}-{theme}-{width}.png"
                page.screenshot(path=OUTPUT / file)
                yield file, width


def _index(taken: list[tuple[str, str, list[tuple[str, int]]]]) -> str:
    parts = [f"<!doctype html><html lang=en><title>Pages</title><style>{_STYLE}</style>"]
    parts += [f"<p>{len(taken)} kinds of pages.</p>"]
    for kind, path, pictures in taken:
        parts.append(f"<section><h2>{html.escape(kind)}</h2><p>{html.escape(path)}</p><div>")
        for file, width in pictures:
            size = f"<figure style='flex: 0 0 {width // 3}px'>"
            parts.append(f"{size}<a href='{file}'><img loading=lazy src='{file}'></a></figure>")
        parts.append("</div></section>")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
