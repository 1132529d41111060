"""Words in a drawing: how wide they are at most, how they are cut, and where they stand apart.

Nobody knows here with which font a page is shown, so widths are those of a wide one: what fits by
them fits in all that the theme names.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from markupsafe import escape

from trialbook.formats.visible import visible_line

SIZE = 12
"""Every word in a drawing is that large, in its own units."""

LINE = 16
"""From one line of words to the next."""

_NARROW = frozenset("iljtfrI.,:;'`|!()[]{}/\\ ")
_BROAD = frozenset("mwMW@%&")
_SHARES = {"narrow": 0.43, "broad": 1.02, "upper": 0.78, "plain": 0.65, "full": 1.1, "rare": 0.95}
_LAST_ASCII = "\x7e"
_BMP_END = 0xFFFF


def shown_text(text: str) -> str:
    """Text as it stands in a drawing: on one line, what acts made visible, fit for XML."""
    line = visible_line(text)
    return "".join(char if _is_xml(char) else f"\\u{ord(char):04x}" for char in line)


def escaped(text: str) -> str:
    """The same, escaped for an element or an attribute."""
    return str(escape(shown_text(text)))


def width(text: str) -> float:
    """How wide a line of text is at most, in a drawing's units."""
    return SIZE * sum(map(_share, text))


def fold(text: str, room: float) -> str:
    """Text that fits into some room: cut in the middle where it does not, since names end apart."""
    line = shown_text(text)
    if width(line) <= room:
        return line
    shares = [SIZE * _share(char) for char in line]
    left = room - width("…")
    head, tail = 0, len(line)
    while head < tail:
        front = (len(line) - tail) >= head
        cost = shares[head] if front else shares[tail - 1]
        if cost > left:
            break
        left -= cost
        head, tail = (head + 1, tail) if front else (head, tail - 1)
    return f"{line[:head]}…{line[tail:]}"


def apart(places: Sequence[float], low: float, high: float, gap: float = LINE) -> list[float]:
    """Places in rising order moved so that each has its gap, as near as can be to where it was.

    They stay between ``low`` and ``high``; if they cannot, the gap gets smaller instead.
    """
    if not places:
        return []
    room = max(0.0, high - low)
    gap = min(gap, room / (len(places) - 1)) if len(places) > 1 else gap
    groups: list[list[float]] = []
    for number, place in enumerate(places):
        groups.append([place - number * gap])
        while len(groups) > 1 and _mean(groups[-2]) > _mean(groups[-1]):
            last = groups.pop()
            groups[-1] += last
    starts = [_mean(group) for group in groups for _ in group]
    most = high - (len(places) - 1) * gap
    return [min(max(start, low), most) + number * gap for number, start in enumerate(starts)]


def beside(number: int, of: int, most: float = 5.0) -> float:
    """How far a mark stands beside its place, so that equal values of several lines all show."""
    return (number - (of - 1) / 2) * min(most, 20 / of) if of > 1 else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _share(char: str) -> float:
    if char <= _LAST_ASCII:
        if char in _NARROW:
            return _SHARES["narrow"]
        if char in _BROAD:
            return _SHARES["broad"]
        return _SHARES["upper" if char.isupper() else "plain"]
    if unicodedata.east_asian_width(char) in "WF" or ord(char) > _BMP_END:
        return _SHARES["full"]
    return _SHARES["rare"]


def _is_xml(char: str) -> bool:
    return (
        char in "\t\n\r"
        or " " <= char <= "\ud7ff"
        or "\ue000" <= char <= "\ufffd"
        or char > "\uffff"
    )
