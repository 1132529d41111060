"""Values with their intervals, a row each: differences around zero, shares, or coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trialbook.site.plots.drawing import NARROW, Drawing, Plot, Told, plotted
from trialbook.site.plots.lettering import LINE, SIZE, width
from trialbook.site.plots.scale import Scale, decimals, differences, shares

_ROW, _TALL_ROW, _GAP = 24, 38, 10
_LABELS, _SAID = 250.0, 160.0
_PERCENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: a value, from ``low`` to ``high`` where an interval of it is known.

    ``inner`` is a second, narrower interval, drawn thicker; ``also`` a second value, drawn hollow.

    ``said`` is the value in words. ``kind`` is ``whole`` for what the answer rests on, ``group``
    for a part of it, and ``single`` for what has no interval; ``faint`` marks what may not be
    claimed. ``shape`` and ``tone`` tell several kinds of value apart.
    """

    label: str
    value: float | None
    said: str
    low: float | None = None
    high: float | None = None
    inner: tuple[float, float] | None = None
    also: float | None = None
    kind: str = "single"
    faint: bool = False
    shape: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What the values are measured on.

    ``margin`` is the half width of a band around 0 and ``wanted`` a least value, both None where
    nothing was declared; ``ends`` name what lies to the left and to the right.
    """

    scale: Callable[[Sequence[float], float, float], Scale]
    said: Callable[[float], str]
    zero: float | None = None
    margin: float | None = None
    wanted: float | None = None
    ends: tuple[str, str] = ("", "")


def of_differences(margin: float | None, ends: tuple[str, str]) -> Axis:
    """An axis of differences of shares, in points."""
    return Axis(
        scale=lambda values, start, end: differences([*values, margin or 0.0], start, end),
        said=_points,
        zero=0.0,
        margin=margin,
        ends=ends,
    )


def of_shares(wanted: float | None = None) -> Axis:
    """An axis of shares, in percent."""
    return Axis(
        scale=lambda _values, start, end: shares(start, end),
        said=lambda value: f"{decimals(value * _PERCENT, 0)} %",
        wanted=wanted,
    )


def of_coefficients(wanted: float | None = None) -> Axis:
    """An axis of coefficients of agreement, from -1 to 1."""
    return Axis(
        scale=lambda _values, start, end: Scale(-1.0, 1.0, start, end),
        said=lambda value: decimals(value, 1),
        zero=0.0,
        wanted=wanted,
    )


def interval_plot(rows: Sequence[Row], axis: Axis, told: Told) -> Plot:
    """The plot of some rows."""
    return plotted(lambda wide: _Drawn(rows, axis, wide).drawing, told)


class _Drawn:
    """One of the two drawings; on the narrow one names stand above what they name."""

    def __init__(self, rows: Sequence[Row], axis: Axis, wide: float) -> None:
        self.rows, self.axis, self.wide = rows, axis, wide
        self.tall = wide <= NARROW
        self.top = 24.0 if any(axis.ends) else 6.0
        if self.tall:
            start, end = 12.0, wide - 12.0
        else:
            longest = max((width(row.label) for row in rows), default=0.0)
            start = min(longest, _LABELS) + 14
            said = max((width(row.said) for row in rows), default=0.0)
            end = wide - min(said, _SAID) - 18
        height = _TALL_ROW if self.tall else _ROW
        self.bottom = self.top + len(rows) * height + _GAP
        values = [
            value for row in rows for value in (row.value, row.low, row.high) if value is not None
        ]
        self.scale = axis.scale(values, start, end)
        self.drawing = Drawing(wide, self.bottom + LINE + SIZE / 2)
        self._frame()
        for number, row in enumerate(rows):
            self._row(row, self.top + number * height + _GAP / 2)

    def _frame(self) -> None:
        drawing, scale, axis = self.drawing, self.scale, self.axis
        edges = [] if axis.margin is None else [scale.at(-axis.margin), scale.at(axis.margin)]
        if edges:
            drawing.area("band", edges[0], self.top, edges[1], self.bottom)
        drawing.horizontal_axis(scale, self.top, self.bottom, axis.said)
        for x in edges:
            drawing.line("edge", x, self.top, x, self.bottom)
        if axis.zero is not None:
            zero = scale.at(axis.zero)
            drawing.line("zero", zero, self.top, zero, self.bottom)
        if axis.wanted is not None:
            wanted = scale.at(axis.wanted)
            drawing.line("wanted", wanted, self.top, wanted, self.bottom)
        middle = (scale.start + scale.end) / 2
        left, right = axis.ends
        if left:
            drawing.words(f"← {left}", middle - 8, 10, room=middle - 8, anchor="end", kind="axis")
        if right:
            drawing.words(f"{right} →", middle + 8, 10, room=self.wide - middle - 8, kind="axis")

    def _row(self, row: Row, top: float) -> None:
        drawing, scale = self.drawing, self.scale
        strong = "strong" if row.kind == "whole" else ""
        if self.tall:
            said = min(width(row.said), self.wide * 0.5)
            drawing.words(row.label, 2, top + 9, room=self.wide - said - 12, kind=strong)
            drawing.words(
                row.said, self.wide - 2, top + 9, room=said + 1, anchor="end", kind="axis"
            )
            y = top + 26
        else:
            y = top + _ROW / 2
            drawing.words(row.label, scale.start - 12, y, room=_LABELS, anchor="end", kind=strong)
            drawing.words(row.said, scale.end + 16, y, room=_SAID, kind=strong or "axis")
        self._interval(row, y)

    def _interval(self, row: Row, y: float) -> None:
        drawing, scale = self.drawing, self.scale
        faint = " faint" if row.faint else ""
        tone = f" {row.tone}" if row.tone else ""
        if row.low is not None and row.high is not None:
            low, high = scale.at(row.low), scale.at(row.high)
            drawing.line(f"whisker {row.kind}{faint}{tone}", low, y, high, y)
            for end, x in ((row.low, low), (row.high, high)):
                if scale.holds(end):
                    drawing.line(f"cap{tone}", x, y - 4, x, y + 4)
        if row.inner is not None:
            low, high = map(scale.at, row.inner)
            drawing.line(f"inner{tone}", low, y, high, y)
        if row.also is not None:
            drawing.mark("square", "hollow", scale.at(row.also), y, 4.5)
        if row.value is None:
            return
        x = scale.at(row.value)
        if row.kind == "single" and self.axis.zero is not None and not row.shape:
            drawing.line(f"stem{tone}", scale.at(self.axis.zero), y, x, y)
        shape = row.shape or {"whole": "diamond", "group": "square"}.get(row.kind, "disc")
        radius = 5.5 if row.kind == "whole" else 4.0
        drawing.mark(shape, row.tone or row.kind, x, y, radius)


def _points(value: float) -> str:
    said = decimals(value * _PERCENT, 0)
    return said if said.startswith(("-", "0")) else f"+{said}"
