"""The text of one line as HTML: escaped, acting characters marked, words and syntax told apart."""

from __future__ import annotations

from collections.abc import Sequence

from trialbook.reporting.wording import number_of
from trialbook.site.diff.syntax import Token, tokens
from trialbook.site.diff.words import Spans
from trialbook.site.render import marked

LONGEST = 2_000
"""Characters of a line; the rest is counted."""


def line_html(text: str, language: str = "", changed: Spans = ()) -> str:
    """A line's text as HTML that is safe to print; ``changed`` parts are set off."""
    rest = len(text) - LONGEST
    if rest > 0:
        text = text[:LONGEST]
    found = list(tokens(language, text))
    if not changed:
        html = _coloured(text, 0, len(text), found)
    else:
        pieces: list[str] = []
        at = 0
        for start, end in changed:
            pieces.append(_coloured(text, at, start, found))
            pieces.append(f"<b>{_coloured(text, start, end, found)}</b>")
            at = end
        pieces.append(_coloured(text, at, len(text), found))
        html = "".join(pieces)
    if rest > 0:
        html = f'{html}<span class="folded"> … {number_of(rest, "more character")}</span>'
    return html


def _coloured(text: str, start: int, end: int, found: Sequence[Token]) -> str:
    """A part of a line, with as much of each token as is in it."""
    if not found:
        return marked(text[start:end])
    pieces: list[str] = []
    at = start
    for token in found:
        first, last = max(at, token.start), min(end, token.end)
        if first >= last:
            continue
        if first > at:
            pieces.append(marked(text[at:first]))
        pieces.append(f'<span class="{token.kind}">{marked(text[first:last])}</span>')
        at = last
    if at < end:
        pieces.append(marked(text[at:end]))
    return "".join(pieces)
