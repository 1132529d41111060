"""The lines of a file as HTML, once, in a form that the style sheet shows in one or two columns.

Lines that were taken out and what came for them are in one block, so that they stand side by side
where there is room. What stayed is written for both sides; one is hidden in the unified view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from trialbook.formats.diff import Line
from trialbook.site.diff.line_text import line_html
from trialbook.site.diff.words import Spans, changed_words
from trialbook.site.render import marked

Beside = Mapping[tuple[str, int], str]
"""HTML to stand below lines, by the side and the number of the line."""


def rows_html(
    lines: Sequence[Line], anchor: str, language: str, beside: Beside, quoted: frozenset[str]
) -> Markup:
    """The lines of one file.

    Args:
        lines: Its lines, or a part of them.
        anchor: What their ids begin with.
        language: What it is written in, if that is known.
        beside: What is said of lines, to stand below them.
        quoted: The ids of lines that something is said of.
    """
    writer = _Writer(anchor, language, beside, quoted)
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.kind in ("deleted", "added"):
            at = writer.block(lines, at)
            continue
        writer.single(line)
        at += 1
    return Markup("").join(writer.pieces)


class _Writer:
    """Pieces of HTML, all of them escaped where they are made."""

    def __init__(self, anchor: str, language: str, beside: Beside, quoted: frozenset[str]) -> None:
        self.pieces: list[Markup] = []
        self._anchor = anchor
        self._language = language
        self._beside = beside
        self._quoted = quoted

    def _write(self, html: str) -> None:
        self.pieces.append(Markup(html))  # noqa: S704 - made of escaped pieces only

    def single(self, line: Line) -> None:
        """A line that is on both sides, the head of a hunk, or a note of git's."""
        if line.kind != "context":
            kind = "hunk" if line.kind == "hunk" else "remarked"
            self._write(f'<div class="{kind}">{marked(line.text)}</div>\n')
            return
        text = line_html(line.text, self._language)
        old, new = f"{self._anchor}o{line.old}", f"{self._anchor}n{line.new}"
        mark = " q" if self._quoted and (new in self._quoted or old in self._quoted) else ""
        self._write(
            f'<div class="l{mark}" id="{new}"><a id="{old}" href="#{old}" tabindex="-1">{line.old}'
            f'</a><a href="#{new}" tabindex="-1">{line.new}</a>'
            f"<code>{text}</code><code>{text}</code></div>\n"
        )
        self._remarks((("new", line.new), ("old", line.old)))

    def block(self, lines: Sequence[Line], start: int) -> int:
        """Lines that were taken out and those that came for them; gives where they end."""
        end = start
        while end < len(lines) and lines[end].kind in ("deleted", "added", "note"):
            # Lines that are gone after lines that came begin another block.
            if lines[end].kind == "deleted" and end > start and _came_before(lines, end, start):
                break
            end += 1
        part = lines[start:end]
        spans = _paired([one for one in part if one.kind != "note"])
        self._write('<div class="block">')
        for line in part:
            if line.kind == "note":
                self._write(f'<div class="remarked">{marked(line.text)}</div>')
            else:
                self._one_sided(line, spans.get(id(line), ()))
        self._write("</div>\n")
        self._remarks(
            ("new" if one.kind == "added" else "old", one.new or one.old)
            for one in part
            if one.kind != "note"
        )
        return end

    def _one_sided(self, line: Line, changed: Spans) -> None:
        gone = line.kind == "deleted"
        number = line.old if gone else line.new
        anchor = f"{self._anchor}{'o' if gone else 'n'}{number}"
        tag, kind = ("del", "d") if gone else ("ins", "a")
        mark = " q" if self._quoted and anchor in self._quoted else ""
        self._write(
            f'<div class="l {kind}{mark}" id="{anchor}"><a href="#{anchor}" tabindex="-1">{number}'
            f"</a><{tag}><code>{line_html(line.text, self._language, changed)}</code></{tag}></div>"
        )

    def _remarks(self, places: Iterable[tuple[str, int | None]]) -> None:
        if not self._beside:
            return
        for side, number in places:
            if number is not None and (side, number) in self._beside:
                self._write(self._beside[side, number])


def _came_before(lines: Sequence[Line], end: int, start: int) -> bool:
    return any(one.kind == "added" for one in lines[start:end])


def _paired(part: Sequence[Line]) -> dict[int, Spans]:
    """What differs inside of lines, where as many came as are gone."""
    gone = [one for one in part if one.kind == "deleted"]
    came = [one for one in part if one.kind == "added"]
    found: dict[int, Spans] = {}
    for old, new in zip(gone, came, strict=False):
        found[id(old)], found[id(new)] = changed_words(old.text, new.text)
    return found
