"""``site/site.yaml``: what a ledger says about its own site."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import UserError
from trialbook.formats.authored import read_document
from trialbook.formats.schema import check_schema, load_schema

FILE = "site/site.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """The site's name, a paragraph for its first page, and where it will be.

    ``address`` is that of the folder that is published; empty if nobody says.
    """

    title: str = "trialbook"
    description: str = ""
    address: str = ""

    def absolute(self, path: str) -> str:
        """The address of a page or file; relative to the site's root, if that has none."""
        if not self.address:
            return path
        folder = path.removesuffix("index.html") if path.endswith("index.html") else path
        return f"{self.address.rstrip('/')}/{folder}"


def load_settings(root: Path) -> SiteSettings:
    """The settings of a ledger's site; the defaults if it has no such file.

    Raises:
        UserError: every mistake in the file.
    """
    path = root / FILE
    if not path.exists():
        return SiteSettings()
    document, problems = read_document(path, FILE)
    if document is not None:
        problems = [*problems, *check_schema(document, load_schema("site"))]
    if problems or document is None:
        raise UserError(problems=problems)
    return SiteSettings(**document.data)
