"""A page of the site, as plugins and the site itself make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of the site: where it goes, which template draws it, and with what.

    ``path`` is relative to the site's root and ends in ``.html``. ``context`` is plain data; the
    template escapes all of it, and may draw Markdown with ``{{ markdown(text) }}``. A page with a
    ``navigation`` label is linked under it from every page's header.
    """

    path: str
    template: str
    title: str
    context: Mapping[str, Any]
    navigation: str = ""
