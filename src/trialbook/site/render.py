"""The one door to Jinja and Markdown: pages to bytes, everything escaped.

Templates escape automatically, without exception, and every value they print first has its
control, bidirectional and invisible characters made visible. Markdown takes no raw HTML, and links
only to the web and inside the site.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemBytecodeCache,
    FileSystemLoader,
    PackageLoader,
    PrefixLoader,
    StrictUndefined,
    TemplateError,
    TemplateSyntaxError,
    Undefined,
    nodes,
)
from jinja2.compiler import CodeGenerator, Frame
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup, escape

from trialbook import __version__
from trialbook.api import Page
from trialbook.errors import Problem, UserError
from trialbook.formats.visible import pieces, visible
from trialbook.site.addresses import relative

_WEB = ("http", "https", "mailto")
_ACTING = Markup('<span class="acting">{}</span>')
_NOT_SLUG = re.compile(r"[^\w]+")
# Printable ASCII that means nothing to HTML; most of what is printed is such.
_HARMLESS = re.compile(r"[\t\n !#-%(-;=?-~]*").fullmatch
_GENERATOR = 3
"""The version of what is compiled; goes up with every change of `_Compiler`."""
_as_markup = str.__new__  # Made very often: quicker than by name.


class Renderer:
    """Draws pages with the program's theme, what a ledger overrides of it, and plugins' templates.

    ``overrides`` is searched first, template by template; then the theme; then ``extras``. What the
    theme has is also to be found below ``theme/``, for overrides that add to it.
    """

    def __init__(
        self, overrides: Path, extras: Sequence[Path] = (), *, cache: Path | None = None
    ) -> None:
        self._markdown = _markdown()
        theme = PackageLoader("trialbook.site", "theme/templates")
        self._environment = _Environment(
            loader=ChoiceLoader(
                [
                    FileSystemLoader(overrides),
                    theme,
                    PrefixLoader({"theme": theme}),
                    FileSystemLoader(extras),
                ]
            ),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=shown,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
            bytecode_cache=None if cache is None else _compiled(cache),
        )
        self._environment.filters["marked"] = marked
        # The same objects for every page, so that what templates import is made once.
        self._page: dict[str, str] = {"path": "", "title": ""}
        self._site: dict[str, Any] = {}
        self._always = {
            "page": self._page,
            "site": self._site,
            "href": self._href,
            "markdown": self.markdown,
        }
        self._environment.globals |= self._always
        self._environment.href = self._href

    def render(self, page: Page, site: Mapping[str, Any]) -> bytes:
        """The bytes of a page.

        Raises:
            UserError: a template that is missing or wrong (a ledger's own, most likely).
        """
        self._page |= {"path": page.path, "title": page.title}
        if self._site != site:
            self._site.clear()
            self._site.update(site)
        try:
            template = self._environment.get_template(page.template)
            known = {**self._environment.globals, **page.context, **self._always}
            # As `render` does it, without a copy of what is the same for every page.
            text = "".join(template.root_render_func(template.new_context(known, shared=True)))
        except TemplateError as error:
            raise _template_problem(page, error) from error
        return text.encode()

    def _href(self, target: str) -> str:
        """The address that leads from the page that is drawn to another file of the site."""
        return relative(self._page["path"], target)

    def markdown(self, source: str, under: int = 0) -> Markup:
        """Markdown as safe HTML; relative links to ``.md`` lead to the pages made from them.

        ``under`` is the level of the heading that the text is quoted under: its own headings go
        below that, and take no anchors, which are the page's. What a quoted text calls by a
        relative address lies where the text is from, so that there is no link to it.
        """
        html = self._markdown.render(visible(source), {"under": under, "page": self._page["path"]})
        return Markup(html)  # noqa: S704 - raw HTML is off, links are checked


class _Compiler(CodeGenerator):
    """Compiles templates to code that does, for each value, one call instead of three.

    What is printed goes through `shown`, which escapes. What stands behind a dot is looked for in a
    mapping first, since nearly all that pages are made from are mappings.
    """

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:  # noqa: ANN401
        del node, frame, finalize
        self.write("environment.shown(")

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:  # noqa: ANN401
        del node, frame, finalize
        self.write(")")

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802
        """The library's name for what stands behind a dot."""
        name, end = repr(node.attr), ")"
        if isinstance(node.node, nodes.Name):
            of = frame.symbols.ref(node.node.name)
            self.write(f"({of}[{name}] if {of}.__class__ is dict and {name} in {of} else ")
            end = "))"
        self.write("environment.member(")
        self.visit(node.node, frame)
        self.write(f", {name}{end}")

    def visit_Call(  # noqa: N802
        self,
        node: nodes.Call,
        frame: Frame,
        forward_caller: bool = False,  # noqa: FBT001, FBT002 - the library's signature
    ) -> None:
        """Addresses are asked for very often, and by nothing but ``href(target)``."""
        named = isinstance(node.node, nodes.Name) and node.node.name == "href"
        if named and len(node.args) == 1 and not (node.kwargs or node.dyn_args or node.dyn_kwargs):
            self.write("environment.href(")
            self.visit(node.args[0], frame)
            self.write(")")
        else:
            super().visit_Call(node, frame, forward_caller=forward_caller)

    def writeline(self, x: str, node: nodes.Node | None = None, extra: int = 0) -> None:
        """Put a block together before it is handed on, and not piece by piece through all."""
        if x.startswith("yield from ") and ".blocks[" in x:
            x = f"yield environment.concat({x.removeprefix('yield from ')})"
        super().writeline(x, node, extra)

    def visit_FromImport(self, node: nodes.FromImport, frame: Frame) -> None:  # noqa: N802
        """Macros are the same for every page: what they need of it is given to them."""
        node.with_context = False
        super().visit_FromImport(node, frame)

    def visit_Import(self, node: nodes.Import, frame: Frame) -> None:  # noqa: N802
        """As for macros by name."""
        node.with_context = False
        super().visit_Import(node, frame)


def _member(of: Any, name: str) -> Any:  # noqa: ANN401 - whatever templates are given
    """What a value has under a name."""
    if of.__class__ is dict and name in of:
        return of[name]
    try:
        return getattr(of, name)
    except AttributeError:
        pass
    try:
        return of[name]
    except (TypeError, LookupError, AttributeError):
        return StrictUndefined(obj=of, name=name)


def shown(value: object) -> str:
    """What a template prints for a value: made visible and escaped, unless it is HTML already."""
    if value.__class__ is Markup:
        return value
    if value.__class__ is Undefined:
        return ""  # Of an `if` without an `else`; what is missing otherwise is an error.
    if value.__class__ is not str:
        if value.__class__ is int:
            return str(value)
        if hasattr(value, "__html__"):
            return escape(value)
        value = str(value)
    if _HARMLESS(value):
        return value
    return escape(visible(value))


class _Environment(Environment):
    """Templates that are compiled by `_Compiler`, and what their code calls."""

    code_generator_class = _Compiler
    href: Callable[[str], str]
    member = staticmethod(_member)
    shown = staticmethod(shown)


def _compiled(cache: Path) -> FileSystemBytecodeCache:
    """Where compiled templates are kept; they are known by their source."""
    folder = cache / "site" / f"templates-{__version__}-{_GENERATOR}"
    folder.mkdir(parents=True, exist_ok=True)
    return FileSystemBytecodeCache(str(folder))


def marked(text: object) -> Markup:
    """Text with the escapes of what would not show marked as such."""
    said = str(text)
    if _HARMLESS(said):
        return _as_markup(Markup, said)
    found = (_ACTING.format(piece) if acting else escape(piece) for piece, acting in pieces(said))
    return Markup("").join(found)


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

_LEVELS = 6
_TABLE_BOX = '<div class="scroll" role="group" aria-label="Table" tabindex="0">\n'


class _Markdown(MarkdownIt):
    """Markdown that links to the web and inside the site, and nowhere else."""

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        """Whether a link or an image may have this address."""
        return _link_allowed(url)


def _markdown() -> MarkdownIt:
    markdown = _Markdown("commonmark", {"html": False})
    markdown.enable(["table", "strikethrough"])
    markdown.core.ruler.push("site", _finish)
    markdown.add_render_rule("table_open", lambda *_: f"{_TABLE_BOX}<table>\n")
    markdown.add_render_rule("table_close", lambda *_: "</table>\n</div>\n")
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
    under: int = state.env["under"]
    for index, token in enumerate(state.tokens):
        if token.type == "heading_open" and not under:
            token.attrSet("id", slug(state.tokens[index + 1].content, used))
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(_LEVELS, int(token.tag[1:]) + under)}"
        elif token.type in ("th_open", "td_open") and (style := token.attrs.pop("style", "")):
            # The pages' policy takes no styles but those of the sheets.
            token.attrJoin("class", f"align-{str(style).rpartition(':')[2]}")
        for child in token.children or ():
            _CHILDREN.get(child.type, _nothing)(child)
            if under:
                _unlink(child)
            elif child.type == "image" and _leaves(str(child.attrs["src"]), state.env["page"]):
                # It would load: the browser asks for it, the reader does not.
                child.attrSet("src", "data:,")


def _link(token: Token) -> None:
    target = str(token.attrGet("href") or "")
    if urlsplit(target).scheme:
        token.attrSet("rel", "noreferrer")
        return
    path, mark, fragment = target.partition("#")
    if path:
        path = re.sub(r"\.md$", ".html", path)
        token.attrSet("href", path + mark + fragment)


def _image(token: Token) -> None:
    target = str(token.attrGet("src") or "")
    if urlsplit(target).scheme:
        # The pages' security policy loads nothing from elsewhere: the alternative text shows.
        token.attrSet("src", "data:,")


def _leaves(address: str, page: str) -> bool:
    """Whether a relative address leads from a page out of the site."""
    path = unquote(urlsplit(address).path)
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)).startswith("..")


def _unlink(token: Token) -> None:
    """Take the address from a link or an image that does not lead to the web."""
    if "href" in token.attrs and not urlsplit(str(token.attrs["href"])).scheme:
        del token.attrs["href"]
    elif token.type == "image":
        token.attrSet("src", "data:,")


def _nothing(token: Token) -> None:
    del token


_CHILDREN: Mapping[str, Callable[[Token], None]] = {
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
