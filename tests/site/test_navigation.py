"""The way through the site: what is of the ledger first, what plugins bring last."""

from __future__ import annotations

import re
from pathlib import Path

LINK = re.compile(r'<a href="([^"]+)"( aria-current="(?:page|true)")?>([^<]+)</a>')


def navigation(page: Path) -> list[tuple[str, str, str]]:
    """Address, mark and label of each entry."""
    text = page.read_text()
    part = text[text.index('<nav aria-label="Site">') : text.index("</nav>")]
    return [(address, mark.strip(), label) for address, mark, label in LINK.findall(part)]


def test_entries_lead_from_every_depth_and_end_with_what_plugins_bring(site: Path) -> None:
    for path in (site / "index.html", site / "docs/how-to/a.html"):
        entries = navigation(path)
        assert (entries[0][2], entries[-1][2]) == ("Results", "Docs")
        assert "Glossary" in [label for _, _, label in entries]
        for address, _, _ in entries:
            assert (path.parent / address).resolve().is_file()


def test_the_part_of_the_site_that_a_page_is_in_is_marked(site: Path) -> None:
    def marked(page: Path) -> dict[str, str]:
        return {label: mark for _, mark, label in navigation(page) if mark}

    run = next((site / "runs/refunds").iterdir()) / "index.html"
    assert marked(site / "index.html") == {"Results": 'aria-current="page"'}
    assert marked(run) == {"Results": 'aria-current="true"'}
    assert marked(site / "docs/index.html") == {"Docs": 'aria-current="page"'}
    assert marked(site / "docs/how-to/a.html") == {"Docs": 'aria-current="true"'}
    assert marked(site / "glossary.html") == {"Glossary": 'aria-current="page"'}
