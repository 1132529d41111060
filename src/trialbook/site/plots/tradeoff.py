"""What an accepted change costs against how much is accepted: a mark a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialbook.site.plots.drawing import NARROW, SHAPES, TONES, Drawing, Plot, Told, plotted
from trialbook.site.plots.lettering import LINE, SIZE, width
from trialbook.site.plots.scale import Scale, amounts, brief, decimals, shares

_PERCENT = 100
_TOP, _HIGH = 26.0, 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A configuration: its acceptance, the cost of an accepted change, and their intervals."""

    name: str
    acceptance: float
    cost: float
    acceptance_low: float | None = None
    acceptance_high: float | None = None
    cost_low: float | None = None
    cost_high: float | None = None


def tradeoff_plot(priced: Sequence[Priced], told: Told) -> Plot:
    """The plot of some configurations whose costs are of one basis."""
    return plotted(lambda wide: _draw(priced, wide), told)


def _draw(priced: Sequence[Priced], wide: float) -> Drawing:
    tall = wide <= NARROW
    left, right = 52.0, wide - 14
    bottom = _TOP + _HIGH
    legend = len(priced) * (LINE + 2) if tall or len(priced) > len(SHAPES) else 0.0
    drawing = Drawing(wide, bottom + 44 + legend)
    up = shares(bottom - 6, _TOP + 6)
    along = _costs(priced, left, right)
    drawing.vertical_axis(up, left, right, lambda value: f"{decimals(value * _PERCENT, 0)} %")
    drawing.horizontal_axis(along, _TOP, bottom, lambda value: f"${brief(value)}")
    drawing.words("accepted", 0, 8, room=wide / 2, kind="axis")
    stretched = " (logarithmic)" if along.logarithmic else ""
    drawing.words(
        f"cost of an accepted change{stretched}",
        right,
        bottom + 28,
        room=right,
        anchor="end",
        kind="axis",
    )
    for number, one in enumerate(priced):
        _cross(drawing, (along, up), one, TONES[number % len(TONES)])
    taken: list[tuple[float, float, float, float]] = []
    for number, one in enumerate(priced):
        x, y = along.at(one.cost), up.at(one.acceptance)
        shape, tone = SHAPES[number % len(SHAPES)], TONES[number % len(TONES)]
        drawing.mark(shape, tone, x, y, 5.5, about=one.name)
        if legend:
            row = bottom + 50 + number * (LINE + 2)
            drawing.mark(shape, tone, 10, row, 5.5)
            drawing.words(one.name, 24, row, room=wide - 28)
        else:
            _label(drawing, taken, one.name, (x, y), wide, tone)
    return drawing


def _costs(priced: Sequence[Priced], left: float, right: float) -> Scale:
    """As far as intervals go, but not further than ten times beyond the values themselves."""
    values = [one.cost for one in priced]
    most, least = max(values, default=0.0) * 10, min(values, default=0.0) / 10
    ends = [
        min(max(end, least), most)
        for one in priced
        for end in (one.cost_low, one.cost_high)
        if end is not None
    ]
    return amounts([*values, *ends], left, right)


def _cross(drawing: Drawing, scales: tuple[Scale, Scale], one: Priced, tone: str) -> None:
    along, up = scales
    x, y = along.at(one.cost), up.at(one.acceptance)
    if one.cost_low is not None and one.cost_high is not None:
        drawing.line(f"whisker {tone}", along.at(one.cost_low), y, along.at(one.cost_high), y)
        for end in (one.cost_low, one.cost_high):
            if along.holds(end):
                drawing.line(f"cap {tone}", along.at(end), y - 4, along.at(end), y + 4)
    if one.acceptance_low is not None and one.acceptance_high is not None:
        low, high = up.at(one.acceptance_low), up.at(one.acceptance_high)
        drawing.line(f"whisker {tone}", x, low, x, high)
        for end in (low, high):
            drawing.line(f"cap {tone}", x - 4, end, x + 4, end)


def _label(
    drawing: Drawing,
    taken: list[tuple[float, float, float, float]],
    name: str,
    at: tuple[float, float],
    wide: float,
    tone: str,
) -> None:
    """A name beside its mark, where no other name is."""
    x, y = at
    room = wide * 0.3
    long = min(width(name), room)
    side = "end" if x + 12 + long > wide else "start"
    left = x - 10 - long if side == "end" else x + 10

    def box(middle: float) -> tuple[float, float, float, float]:
        return (left, middle - SIZE / 2, left + long, middle + SIZE / 2)

    steps = [sign * step * (SIZE - 1) for step in range(1, 9) for sign in (-1, 1)]
    able = [y + step for step in steps if _TOP <= y + step - SIZE / 2 <= _TOP + _HIGH - SIZE]
    free = (middle for middle in able if not any(_meet(box(middle), other) for other in taken))
    middle = next(free, y - SIZE)
    taken.append(box(middle))
    beside = x - 10 if side == "end" else x + 10
    drawing.words(name, beside, middle, room=room, anchor=side, kind=tone)


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]
