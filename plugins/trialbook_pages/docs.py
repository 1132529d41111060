"""Prose pages: every Markdown file below a ledger's ``site/pages/`` becomes a page of its site."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbook.api import Page, Problem, UserError, parse_document

_FOLDER = "site/pages"
_SITE_FOLDER = "docs"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^# +(.+?) *#*$", re.MULTILINE)
# The order in which a reader wants them; other folders follow by name.
_USUAL = ("tutorial", "how-to", "reference", "explanation")
_HEADED = re.compile(r"\s*# ")
_KEYS: dict[str, type] = {"title": str, "order": int}
_NOT_A_MAPPING = "the front matter must be `key: value` lines"
_LAST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prose:
    """One Markdown file: its place below the folder, and what its front matter says."""

    place: str
    title: str
    order: int
    text: str

    @property
    def path(self) -> str:
        return f"{_SITE_FOLDER}/{self.place.removesuffix('.md')}.html"

    @property
    def section(self) -> str:
        return self.place.rpartition("/")[0]


class DocsPages:
    """Makes ``docs/<path>.html`` from ``site/pages/<path>.md``.

    A file may begin with front matter that knows two keys: ``title`` (else the first heading) and
    ``order`` (a whole number; pages without one come last, by title).
    """

    name = "docs"
    templates: Path | None = Path(__file__).parent / "templates"

    def pages(self, ledger_folder: Path) -> Iterable[Page]:
        """A page for each file, with the list of all of them."""
        folder = ledger_folder / _FOLDER
        files = sorted(path for path in folder.rglob("*.md") if path.is_file())
        found = [_read(path, path.relative_to(folder).as_posix()) for path in files]
        found.sort(key=_rank)
        contents = _contents(found)
        first = found[0].path if found else ""
        for prose in found:
            yield Page(
                path=prose.path,
                template="docs/page.html",
                title=prose.title,
                context={
                    "source": prose.text,
                    "contents": contents,
                    "headed": bool(_HEADED.match(prose.text)),
                },
                navigation="Docs" if prose.path == first else "",
            )


def _rank(prose: _Prose) -> tuple[object, ...]:
    """The folder's own pages first; in each folder ``index.md`` before all."""
    inner = prose.section.count("/") + bool(prose.section)
    top = prose.section.partition("/")[0]
    usual = _USUAL.index(top) if top in _USUAL else len(_USUAL)
    first = not prose.place.endswith("index.md")
    return (inner, usual, prose.section, first, prose.order, prose.title)


def _contents(found: Sequence[_Prose]) -> list[dict[str, Any]]:
    """The pages by folder: ``how-to/x.md`` stands under *How to*."""
    sections: dict[str, list[dict[str, str]]] = {}
    for prose in found:
        entry = {"title": prose.title, "path": prose.path}
        sections.setdefault(prose.section, []).append(entry)
    return [
        {"title": name.rpartition("/")[2].replace("-", " ").capitalize(), "pages": pages}
        for name, pages in sections.items()
    ]


def _read(path: Path, place: str) -> _Prose:
    shown = f"{_FOLDER}/{place}"
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problem = Problem(path=shown, message="not UTF-8", hint="save the file as UTF-8")
        raise UserError(problems=[problem]) from error
    title, order = _front_matter(text, shown)
    body = _FRONT_MATTER.sub("", text, count=1)
    heading = _HEADING.search(body)
    title = title or (heading[1].replace("`", "") if heading else Path(place).stem)
    return _Prose(place=place, title=title, order=order, text=body)


def _front_matter(text: str, shown: str) -> tuple[str, int]:
    """Title (empty if it has none) and order.

    Raises:
        UserError: every mistake in the front matter.
    """
    found = _FRONT_MATTER.match(text)
    if found is None:
        return "", _LAST
    # An empty line in place of the opening dashes keeps the lines' numbers.
    document, problems = parse_document("\n" + found[1], shown)
    data = document.data if document is not None else None
    if document is None or not isinstance(data, dict):
        problems = problems or [Problem(path=shown, line=1, column=1, message=_NOT_A_MAPPING)]
        raise UserError(problems=problems)
    for key, value in data.items():
        if key not in _KEYS:
            hint = f"known: {', '.join(_KEYS)}"
            message = f"unknown key {key!r} in the front matter"
            problems.append(document.problem((key,), message, hint, key=True))
        elif not isinstance(value, _KEYS[key]) or isinstance(value, bool):
            message = f"{key}: must be {'text' if _KEYS[key] is str else 'a whole number'}"
            problems.append(document.problem((key,), message))
    if problems:
        raise UserError(problems=problems)
    return data.get("title", ""), data.get("order", _LAST)
