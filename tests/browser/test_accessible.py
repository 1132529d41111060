"""axe-core finds nothing serious on any kind of page, light and dark."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser.kinds import representatives
from tests.browser.watching import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# axe looks at each element: a page of this many bytes has every part of a larger one.
ENOUGH = 200_000
SERIOUS = {"serious", "critical"}
_RUN = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"], iframes: false });
  return found.violations.map(({ id, impact, nodes }) => ({
    id, impact, count: nodes.length,
    nodes: nodes.slice(0, 3).map((node) => `${node.target} ${node.html.slice(0, 160)} `
      + (node.any[0]?.message ?? node.all[0]?.message ?? "")),
  }));
}"""


@pytest.mark.parametrize(("theme", "width"), [("light", 1400), ("dark", 1400), ("light", 390)])
def test_axe_finds_nothing_serious(browser: Browser, site: Path, theme: str, width: int) -> None:
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    found: dict[str, list[Any]] = {}
    with watched(browser, site, theme=theme, size=(width, 900)) as watch:
        for kind, paths in representatives(site, at_most=ENOUGH).items():
            watch.open(paths[0])
            watch.run(axe)
            watch.settle()
            wrong = [one for one in watch.run(_RUN) if one["impact"] in SERIOUS]
            if wrong:
                found[f"{kind}: {paths[0]}"] = wrong
    assert not found


def test_no_page_of_its_own_is_left_out(site: Path) -> None:
    kinds = representatives(site)
    assert {"overview", "suite", "run", "trial", "docs"} <= kinds.keys()
    assert len(kinds) < 40, f"kinds are told apart too finely: {sorted(kinds)}"
