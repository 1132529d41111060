"""How amounts spread over trials: a strip a configuration, with every trial in it as a mark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trialbook.site.plots.drawing import NARROW, Drawing, Plot, Told, plotted
from trialbook.site.plots.lettering import LINE, SIZE, width
from trialbook.site.plots.scale import Scale, amounts

_STRIP, _NAME = 58.0, 20.0
_LABELS = 180.0
_COLUMN, _MARK = 7.0, 2.8
_TALLEST = 6
"""So many marks stand on each other at most; a higher column is drawn as a bar in proportion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One configuration's amounts: each with whether a limit cut it short.

    ``quartiles`` are the lower one, the median and the upper one; None for those that are not known
    because too much was cut short. ``said`` is the median in words.
    """

    name: str
    amounts: Sequence[tuple[float, bool]]
    quartiles: tuple[float | None, float | None, float | None]
    said: str


def strip_plot(strips: Sequence[Strip], said: Callable[[float], str], told: Told) -> Plot:
    """The plot of some configurations; ``said`` words a round value of the axis."""
    return plotted(lambda wide: _draw(strips, said, wide), told)


def _draw(strips: Sequence[Strip], said: Callable[[float], str], wide: float) -> Drawing:
    tall = wide <= NARROW
    each = _STRIP + (_NAME if tall else 0.0)
    bottom = 6 + len(strips) * each + 4
    drawing = Drawing(wide, bottom + LINE + SIZE / 2)
    longest = max((width(strip.name) for strip in strips), default=0.0)
    left = 12.0 if tall else min(longest, _LABELS) + 18
    found = [amount for strip in strips for amount, _ in strip.amounts]
    scale = amounts(found, left, wide - 16)
    drawing.horizontal_axis(scale, 6, bottom, said)
    for number, strip in enumerate(strips):
        top = 6 + number * each
        if tall:
            half = wide / 2 - 8
            drawing.words(strip.name, 2, top + 10, room=half, kind="strong")
            drawing.words(strip.said, wide - 2, top + 10, room=half, anchor="end", kind="axis")
            top += _NAME
        else:
            drawing.words(
                strip.name, left - 14, top + 24, room=_LABELS, anchor="end", kind="strong"
            )
            drawing.words(strip.said, left - 14, top + 40, room=_LABELS, anchor="end", kind="axis")
        _strip(drawing, scale, strip, top)
    return drawing


def _strip(drawing: Drawing, scale: Scale, strip: Strip, top: float) -> None:
    base = top + _STRIP - 14
    low, middle, high = strip.quartiles
    if low is not None and high is not None:
        drawing.area("box", scale.at(low), base + 2, scale.at(high), base + 10)
    if middle is not None:
        drawing.line("median", scale.at(middle), base - 2, scale.at(middle), base + 12)
    columns = Counter(
        (round((scale.at(amount) - scale.start) / _COLUMN), cut) for amount, cut in strip.amounts
    )
    heights = Counter(column for column, _ in columns.elements())
    tallest = max(heights.values(), default=1)
    room = base - top - 2
    rise = min(room / tallest, 2 * _MARK + 0.6)
    places: Counter[int] = Counter()
    for (column, cut), count in sorted(columns.items()):
        x = scale.start + column * _COLUMN
        if tallest > _TALLEST:
            foot = base - places[column] * room / tallest
            kind = "pile cut" if cut else "pile"
            drawing.area(kind, x - 2.6, foot, x + 2.6, foot - count * room / tallest)
        else:
            for at in range(places[column], places[column] + count):
                shape, kind = ("arrow", "cut") if cut else ("disc", "trial")
                drawing.mark(shape, kind, x, base - _MARK - at * rise, _MARK)
        places[column] += count
