"""The one door to Jinja and Markdown: pages to bytes, everything escaped.

Templates escape automatically, without exception, and every value they print first has its
control, bidirectional and invisible characters made visible. Markdown takes no raw HTML, and links
only to the web and inside the site.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PackageLoader,
    StrictUndefined,
    TemplateError,
    TemplateSyntaxError,
)
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup, escape

from trialbook.api import Page
from trialbook.errors import Problem, UserError
from trialbook.formats.visible import pieces, visible
from trialbook.site.addresses import relative

_WEB = ("http", "https", "mailto")
_ACTING = Markup('<span class="acting">{}</span>')
_NOT_SLUG = re.compile(r"[^\w]+")


class Renderer:
    """Draws pages with the program's theme, what a ledger overrides of it, and plugins' templates.

    ``overrides`` is searched first, template by template; then the theme; then ``extras``.
    """

    def __init__(self, overrides: Path, extras: Sequence[Path] = ()) -> None:
        self.links: list[tuple[str, str]] = []
        """Every relative link of Markdown drawn so far: the page, and the path it leads to."""
        self._markdown = _markdown()
        self._environment = Environment(
            loader=ChoiceLoader(
                [
                    FileSystemLoader(overrides),
                    PackageLoader("trialbook.site", "theme/templates"),
                    FileSystemLoader(extras),
                ]
            ),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_finalize,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
        )
        self._environment.filters["marked"] = marked

    def render(self, page: Page, site: Mapping[str, Any]) -> bytes:
        """The bytes of a page.

        Raises:
            UserError: a template that is missing or wrong (a ledger's own, most likely).
        """

        def href(target: str) -> str:
            return relative(page.path, target)

        def markdown(source: str) -> Markup:
            return self.markdown(source, page.path)

        try:
            template = self._environment.get_template(page.template)
            text = template.render(
                page.context,
                page={"path": page.path, "title": page.title},
                site=site,
                href=href,
                markdown=markdown,
            )
        except TemplateError as error:
            raise _template_problem(page, error) from error
        return text.encode()

    def markdown(self, source: str, page: str) -> Markup:
        """Markdown as safe HTML for the page with that path.

        Relative links to ``.md`` files lead to the ``.html`` pages made from them.
        """
        html = self._markdown.render(visible(source), {"page": page, "links": self.links})
        return Markup(html)  # noqa: S704 - raw HTML is off, links are checked


def marked(text: object) -> Markup:
    """Text with the escapes of what would not show marked as such."""
    found = (
        _ACTING.format(piece) if acting else escape(piece) for piece, acting in pieces(str(text))
    )
    return Markup("").join(found)


def _finalize(value: object) -> object:
    """What every printed value goes through before it is escaped."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


def _template_problem(page: Page, error: TemplateError) -> UserError:
    if isinstance(error, TemplateSyntaxError):
        path, line = error.filename or error.name or page.template, error.lineno
        column = 1
    else:
        path, line, column = page.template, 0, 0
    message = f"the template cannot be used: {error.message or type(error).__name__}"
    hint = f"it draws {page.path}; compare with the theme's own template of that name"
    problem = Problem(path=path, line=line, column=column, message=message, hint=hint)
    return UserError(problems=[problem])


# --- Markdown ------------------------------------------------------------------------------------


class _Markdown(MarkdownIt):
    """Markdown that links to the web and inside the site, and nowhere else."""

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        """Whether a link or an image may have this address."""
        return _link_allowed(url)


def _markdown() -> MarkdownIt:
    markdown = _Markdown("commonmark", {"html": False})
    markdown.enable(["table", "strikethrough"])
    markdown.core.ruler.push("site", _finish)
    return markdown


def _link_allowed(url: str) -> bool:
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    if parts.scheme:
        return parts.scheme.lower() in _WEB
    # Markdown has escaped a backslash by now; some file systems and browsers take one for a slash.
    return not parts.netloc and not parts.path.startswith("/") and "%5c" not in url.lower()


def _finish(state: StateCore) -> None:
    """Give headings anchors, lead links to pages, and leave out images from elsewhere."""
    used: set[str] = set()
    for index, token in enumerate(state.tokens):
        if token.type == "heading_open":
            token.attrSet("id", slug(state.tokens[index + 1].content, used))
        elif token.type == "table_open":
            token.attrJoin("class", "prose-table")
        for child in token.children or ():
            _CHILDREN.get(child.type, _nothing)(child, state.env)


def _link(token: Token, environment: MutableMapping[str, Any]) -> None:
    target = str(token.attrGet("href") or "")
    if urlsplit(target).scheme:
        token.attrSet("rel", "noreferrer")
        return
    path, mark, fragment = target.partition("#")
    if path:
        path = re.sub(r"\.md$", ".html", path)
        token.attrSet("href", path + mark + fragment)
        _remember(path, environment)


def _image(token: Token, environment: MutableMapping[str, Any]) -> None:
    target = str(token.attrGet("src") or "")
    if urlsplit(target).scheme:
        # The pages' security policy loads nothing from elsewhere: the alternative text shows.
        token.attrSet("src", "data:,")
    else:
        _remember(target, environment)


def _remember(path: str, environment: MutableMapping[str, Any]) -> None:
    page = str(environment["page"])
    joined = posixpath.join(posixpath.dirname(page), unquote(path))
    environment["links"].append((page, posixpath.normpath(joined)))


def _nothing(token: Token, environment: MutableMapping[str, Any]) -> None:
    del token, environment


_CHILDREN: Mapping[str, Callable[[Token, MutableMapping[str, Any]], None]] = {
    "link_open": _link,
    "image": _image,
}


def slug(text: str, used: set[str]) -> str:
    """The anchor of a heading on a page where those in ``used`` are taken; it is put there too."""
    stem = _NOT_SLUG.sub("-", unquote(text).casefold()).strip("-") or "section"
    anchor, number = stem, 1
    while anchor in used:
        number += 1
        anchor = f"{stem}-{number}"
    used.add(anchor)
    return anchor
