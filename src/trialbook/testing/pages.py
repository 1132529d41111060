"""Exercises a source of pages: whether it keeps the promises of its seam."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

from trialbook.api import Page, Pages
from trialbook.testing.claims import claim, claim_name, claim_unchanged, contents


def check_pages(source: Pages, ledger_folder: Path) -> None:
    """Exercise a source of pages on a ledger: same folder, same pages, each in a place of its own.

    Args:
        source: The source of pages.
        ledger_folder: A ledger that it makes at least one page from.

    Raises:
        NotConforming: it breaks a promise.
    """
    claim_name(source.name)
    templates = source.templates
    claim(
        templates is None or templates.is_dir(),
        f"`templates` is {templates}, which is not a folder",
    )
    before = contents(ledger_folder)
    pages = list(source.pages(ledger_folder))
    claim_unchanged(before, ledger_folder, "the ledger's folder")
    claim(bool(pages), "no page was made from a ledger that should have some")
    claim(pages == list(source.pages(ledger_folder)), "the same ledger gave other pages")
    for page in pages:
        _check_page(page)
    paths = [page.path for page in pages]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    claim(not twice, f"more than one page is at {', '.join(twice)}")


def _check_page(page: Page) -> None:
    path = PurePosixPath(page.path)
    claim(
        not path.is_absolute() and ".." not in path.parts and path.suffix == ".html",
        f"a page is at {page.path!r}; it must be a path inside the site that ends in .html",
    )
    claim(bool(page.title.strip()), f"the page {page.path} has no title")
    try:
        plain = json.loads(json.dumps(page.context, allow_nan=False))
    except (TypeError, ValueError) as error:
        plain = f"no JSON at all: {error}"
    # Tuples are as plain as lists; everything else must come back as it was.
    same = json.dumps(plain, sort_keys=True) == json.dumps(
        page.context, sort_keys=True, default=repr
    )
    claim(same, f"the context of {page.path} is not plain data")
