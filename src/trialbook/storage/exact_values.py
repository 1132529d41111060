"""Finds known values in bytes, in every form in which programs commonly print them."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import string
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

from trialbook.storage.spans import Span

SHORTEST = 6
"""Values with fewer characters are not looked for: that would shred ordinary text."""

# A line of a value of several lines is secret in itself if it is this long and has no blank.
_LINE = 20
# Where a program may have broken a long value: a line's end, as it is or escaped, and an indent.
_BREAK = re.compile(rb"(?:[\r\n]|\\+[rn])+[ \t]*")
_BROKEN = 12
_CUT_MARK = b"[trialbook: output cut here"
_CUT_SHORT = 8
_HEX = re.compile(r"%[0-9A-F]{2}")
_BASE64 = frozenset((string.ascii_letters + string.digits + "+/-_").encode())


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to write a value.

    ``loose_start`` and ``loose_end``: one more character, which holds bits of the value and of its
    neighbour, goes too.
    """

    text: bytes
    kind: str
    loose_start: bool = False
    loose_end: bool = False


class ExactValues:
    """Values by name, to be found in bytes."""

    def __init__(self, values: Mapping[str, str]) -> None:
        forms: dict[bytes, _Form] = {}
        for name, value in values.items():
            for form in _forms(name, value):
                forms.setdefault(form.text, form)
        # The longest first: of two forms that begin at one place it is the one that counts.
        self._forms = sorted(forms.values(), key=lambda form: (-len(form.text), form.text))
        self._broken = [form for form in self._forms if len(_BREAK.sub(b"", form.text)) >= _BROKEN]

    def __bool__(self) -> bool:
        return bool(self._forms)

    def spans(self, data: bytes, *, cut: bool = False) -> list[Span]:
        """Every place where a value stands, broken over lines too.

        With ``cut``, the data may have been cut off: then the beginning of a value at the end goes.
        """
        if not self._forms:
            return []
        found: list[Span] = []
        for form in self._forms:
            found += _places(data, form)
        found += self._over_lines(data)
        if cut:
            found += self._cut_short(data)
        return found

    def _over_lines(self, data: bytes) -> Iterator[Span]:
        joined = _BREAK.sub(b"", data)
        if len(joined) == len(data):
            return
        hits = [
            span
            for form in self._broken
            for span in _places(
                joined,
                _Form(_BREAK.sub(b"", form.text), form.kind, form.loose_start, form.loose_end),
            )
        ]
        if not hits:
            return
        begins, offsets = _pieces(data)
        for start, end, kind in hits:
            first = offsets[bisect_right(begins, start) - 1] + start
            last = offsets[bisect_right(begins, end - 1) - 1] + end
            yield Span(first, last, kind)

    def _cut_short(self, data: bytes) -> Iterator[Span]:
        """The beginning of a value right where output was cut off."""
        ends = {len(data)}
        mark = data.rfind(_CUT_MARK)
        if mark > 0:
            ends |= {mark, mark - 1}
        for form in self._forms:
            shortest = max(_CUT_SHORT, len(form.text) // 4)
            for end in ends:
                tail = data[max(end - len(form.text) + 1, 0) : end]
                at = tail.find(form.text[:shortest])
                while at >= 0:
                    if form.text.startswith(tail[at:]):
                        yield Span(end - len(tail) + at, end, form.kind)
                        break
                    at = tail.find(form.text[:shortest], at + 1)


def _places(data: bytes, form: _Form) -> Iterator[Span]:
    at = data.find(form.text)
    while at >= 0:
        start, end = at, at + len(form.text)
        if form.loose_start and start and data[start - 1] in _BASE64:
            start -= 1
        if form.loose_end and end < len(data) and data[end] in _BASE64:
            end += 1
        yield Span(start, end, form.kind)
        at = data.find(form.text, at + len(form.text))


def _pieces(data: bytes) -> tuple[list[int], list[int]]:
    """Where each unbroken piece begins in the joined bytes, and how far ahead it is in ``data``."""
    begins, offsets = [0], [0]
    removed = 0
    for match in _BREAK.finditer(data):
        begin = match.start() - removed
        removed += match.end() - match.start()
        if begins[-1] == begin:
            offsets[-1] = removed
        else:
            begins.append(begin)
            offsets.append(removed)
    return begins, offsets


def _forms(name: str, value: str) -> Iterator[_Form]:
    for part in _parts(value):
        for text in _written(part):
            yield _Form(text.encode("utf-8", "surrogateescape"), name)
        for raw in (part.encode("utf-8", "surrogateescape"), part.encode("utf-16-le", "replace")):
            yield _Form(raw, name)
            yield _Form(raw.hex().encode(), name)
            yield _Form(raw.hex().upper().encode(), name)
            yield from _in_base64(name, raw)


def _parts(value: str) -> set[str]:
    """The value; and of one with several lines, each line that is telling in itself."""
    lines = value.splitlines()
    parts = {value, value.strip()}
    if len(lines) > 1:
        parts |= {line.strip() for line in lines if len(line.strip()) >= _LINE}
        parts = {part for part in parts if part in (value, value.strip()) or " " not in part}
    return {part for part in parts if len(part) >= SHORTEST}


def _written(value: str) -> set[str]:
    urls = {quote(value, safe="", errors="replace"), quote(value, safe="/", errors="replace")}
    urls |= {quote_plus(value, errors="replace"), quote(quote(value, safe="", errors="replace"))}
    urls |= {_HEX.sub(lambda match: match[0].lower(), url) for url in urls}
    once = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    once |= {text.replace("/", "\\/") for text in once}
    twice = {json.dumps(text)[1:-1] for text in once}
    shell = {shlex.quote(value).strip("'"), value.replace("'", "'\\''")}
    shell.add(re.sub(r"([^\w@%+=:,./-])", r"\\\1", value))
    marked = {html.escape(value), html.escape(value).replace("&#x27;", "&#39;")}
    marked.add(html.escape(value, quote=False))
    written = {value, repr(value)[1:-1]} | urls | once | twice | shell | marked
    return {text for text in written if len(text) >= SHORTEST}


def _in_base64(name: str, raw: bytes) -> Iterator[_Form]:
    """The characters that stand for nothing but the value, at each of the three alignments."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw).rstrip(b"=")
        loose_end = (before + len(raw)) % 3 != 0
        # With n bytes before, n + 1 characters have bits of theirs.
        core = encoded[before + 1 if before else 0 : len(encoded) - loose_end]
        for text in {core, core.translate(bytes.maketrans(b"+/", b"-_"))}:
            if len(text) >= SHORTEST:
                yield _Form(text, name, loose_start=before > 0, loose_end=loose_end)
