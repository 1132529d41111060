"""What was said of lines of a change, to stand beside them: of judges, checks, tools, people."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import escape

from trialbook.site.render import marked


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something that was said of lines ``first`` to ``last`` of one side of a file.

    ``side`` is ``new`` or ``old``. ``id`` is its own anchor, ``back`` the anchor of where it comes
    from, empty if there is none. ``tone`` is ``good``, ``bad``, ``warn`` or empty; ``who`` says it,
    ``title`` is what about, ``text`` what.
    """

    path: str
    first: int
    last: int
    side: str = "new"
    id: str = ""
    back: str = ""
    tone: str = ""
    who: str = ""
    title: str = ""
    text: str = ""


def remark_html(remark: Remark, home: str = "") -> str:
    """A remark as HTML; ``home`` is the address of the page that it leads back to."""
    lines = f"line {remark.first}"
    if remark.last > remark.first:
        lines = f"lines {remark.first} to {remark.last}"
    anchor = f' id="{escape(remark.id)}"' if remark.id else ""
    tone = f" remark-{remark.tone}" if remark.tone else ""
    who = str(marked(remark.who))
    if remark.back:
        who = f'<a href="{escape(home)}#{escape(remark.back)}">{who}</a>'
    text = f"<p>{marked(remark.text)}</p>" if remark.text else ""
    return (
        f'<div class="remark{tone}"{anchor}><p><strong>{who}</strong> {marked(remark.title)} '
        f'<span class="quiet">{lines}</span></p>{text}</div>\n'
    )
