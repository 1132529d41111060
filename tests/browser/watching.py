"""A browser that tells everything: what pages say, what they ask for, what goes wrong in them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = ("--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
_SETTLED = """() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(done));
  setTimeout(done, 1000);
})"""


def program() -> str | None:
    """The browser of this machine, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def launch(playwright: Playwright, executable: str) -> Browser:
    """Start the browser, without its own sandbox where it refuses to have one."""
    root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    return playwright.chromium.launch(
        executable_path=executable, headless=True, args=[*_ARGUMENTS, *root]
    )


@dataclass
class Watched:
    """A browser context and all that happened in it."""

    context: BrowserContext
    root: Path
    script: bool = True
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    page: Page = field(init=False)

    def __post_init__(self) -> None:
        self.context.set_default_timeout(15_000)
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.context.on("requestfailed", self._failed)
        self.context.on("weberror", lambda error: self._say("an error", str(error.error)))
        self.context.on("console", self._console)
        self.context.on("dialog", self._dialog)
        self.page = self.context.new_page()

    def open(self, path: str) -> Page:
        """Go to a page of the site, by its path in the folder and perhaps a fragment."""
        file, _, fragment = path.partition("#")
        address = (self.root / file).as_uri() + (f"#{fragment}" if fragment else "")
        self.page.goto(address, wait_until="load")
        return self.page

    def settle(self) -> None:
        """Let the page draw what it has to. Without scripts it has been drawn."""
        if self.script:
            self.page.evaluate(_SETTLED)

    def troubles(self) -> list[str]:
        """What should not have happened: told errors, and requests that leave the folder."""
        inside = self.root.as_uri() + "/"
        away = [f"asked for {url}" for url in self.asked if not url.startswith(inside)]
        return [*self.said, *away, *(f"a dialog: {text}" for text in self.dialogs)]

    def at(self) -> str:
        """The path of the page that is shown, in the folder."""
        address = self.page.url.partition("#")[0]
        return unquote(address.removeprefix(self.root.as_uri() + "/"))

    def fragment(self) -> str:
        """The fragment of the page that is shown."""
        return urlsplit(self.page.url).fragment

    def run(self, script: str, argument: object = None) -> Any:
        """Run a script of the test in the page."""
        return self.page.evaluate(script, argument)

    def _failed(self, request: Any) -> None:
        # The next page was opened before this one had its icon: that is ours, not the page's.
        if "ERR_ABORTED" not in str(request.failure):
            self._say("a request failed", f"{request.url}: {request.failure}")

    def _say(self, what: str, detail: str) -> None:
        self.said.append(f"{what}: {detail}")

    def _console(self, message: Any) -> None:
        if message.type in {"error", "warning", "assert"}:
            self._say(f"console, {message.type}", message.text)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


@contextmanager
def watched(
    browser: Browser,
    root: Path,
    *,
    script: bool = True,
    theme: str = "light",
    size: tuple[int, int] = (1400, 900),
) -> Iterator[Watched]:
    """A fresh context, as a reader's browser is when a site is opened for the first time."""
    context = browser.new_context(
        java_script_enabled=script,
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
        viewport={"width": size[0], "height": size[1]},
        offline=True,
        locale="en-GB",
        timezone_id="UTC",
    )
    try:
        yield Watched(context, root, script)
    finally:
        context.close()
