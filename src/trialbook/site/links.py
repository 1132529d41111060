"""The links of pages: what they lead to, found in the bytes as they are written, and checked.

Looking at what was drawn finds the links of templates, of overrides and of plugins' pages alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from html import unescape
from pathlib import Path
from posixpath import dirname, normpath
from urllib.parse import unquote

from trialbook.storage.files import read_regular

_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
# What stands before a name is not looked at: it would take five times as long, and an attribute
# that ends like these (``data-href``) holds an address as well.
_VALUES = {name: re.compile(re.escape(name) + rb'="([^"]*)"') for name in (b"href", b"src", b"id")}
_PAGE = ".html"
_PAGES = 1000
"""Of how many pages the places are held at once."""


def links_of(path: str, data: bytes) -> tuple[str, ...]:
    """Where the links of a file lead, as paths of the site with their fragments, sorted.

    Links out of the site are left out, and so are those to places that the page itself has. Only
    pages have links.
    """
    if not path.endswith(_PAGE):
        return ()
    folder = dirname(path)
    found = set()
    own = set()
    for raw in {*_values(data, b"href"), *_values(data, b"src")}:
        if raw.startswith(b"#"):
            own.add(raw[1:])
        else:
            target = _resolved(folder, raw)
            if target.startswith(f"{path}#"):
                own.add(target[len(path) + 1 :].encode())
            elif target:
                found.add(target)
    if own:
        places = {*_values(data, b"id"), b"", b"top"}
        missing = {place for place in own - places if _text(place) not in _texts(places)}
        found |= {f"{path}#{_text(place)}" for place in missing}
    return tuple(sorted(found))


def places_of(data: bytes) -> frozenset[str]:
    """The places of a page that a fragment can name."""
    return _texts(_values(data, b"id"))


class LinkCheck:
    """Finds the links that lead nowhere.

    Args:
        folder: The site's folder, with all its pages written.
        paths: All files of the site.
    """

    def __init__(self, folder: Path, paths: Collection[str]) -> None:
        self._folder = folder
        self._paths = paths
        self._places: dict[str, frozenset[str]] = {}

    def broken(self, links: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
        """Pages and their links that lead nowhere, sorted, of pages and all their links."""
        found = []
        for page, targets in links.items():
            found += [(page, target) for target in targets if not self.leads(target)]
        return sorted(found)

    def leads(self, target: str) -> bool:
        """Whether a link leads somewhere."""
        path, mark, place = target.partition("#")
        if path not in self._paths:
            return False
        return not mark or not path.endswith(_PAGE) or place in self._places_of(path)

    def _places_of(self, path: str) -> frozenset[str]:
        if path not in self._places:
            if len(self._places) > _PAGES:
                self._places.clear()
            data = read_regular(self._folder / path) or b""
            self._places[path] = places_of(data) | {"", "top"}
        return self._places[path]


def _values(data: bytes, attribute: bytes) -> set[bytes]:
    """The values of an attribute, wherever it is: no text of a page has a bare quotation mark."""
    return set(_VALUES[attribute].findall(data))


@lru_cache(maxsize=50_000)
def _resolved(folder: str, raw: bytes) -> str:
    """The path in the site that a link leads to; empty for one that leads out of it."""
    link = unescape(raw.decode("utf-8", "replace"))
    if _ELSEWHERE.match(link):
        return ""
    path, mark, place = link.partition("#")
    path = unquote(path.partition("?")[0])
    joined = normpath(f"{folder}/{path}" if folder else path)
    return f"{joined}#{unquote(place)}" if mark and place else joined


def _text(place: bytes) -> str:
    return unquote(unescape(place.decode("utf-8", "replace")))


def _texts(places: Iterable[bytes]) -> frozenset[str]:
    return frozenset(unescape(place.decode("utf-8", "replace")) for place in places)
