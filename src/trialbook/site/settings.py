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
    """The site's name, and a paragraph for its first page."""

    title: str = "trialbook"
    description: str = ""


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
