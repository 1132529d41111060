"""How likely k trials in a row are all accepted, and how likely one of k is, for each k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from trialbook.site.plots.drawing import NARROW, SHAPES, TONES, Drawing, Plot, Told, plotted
from trialbook.site.plots.lettering import LINE, apart, beside
from trialbook.site.plots.scale import Scale, decimals, shares

_PERCENT = 100
_TOP, _HIGH = 12.0, 240.0
_LABELS = 210.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The value for one k; None where a task has fewer trials, and then the bounds hold it."""

    k: int
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One configuration's values for each k: all of k are accepted, and at least one is."""

    name: str
    all_of: Sequence[Point]
    one_of: Sequence[Point]


def pass_curves(curves: Sequence[Curve], told: Told) -> Plot:
    """The plot of some configurations."""
    return plotted(lambda wide: _draw(curves, wide), told)


def _draw(curves: Sequence[Curve], wide: float) -> Drawing:
    last = max((point.k for curve in curves for point in curve.all_of), default=1)
    tall = wide <= NARROW
    left = 52.0
    right = wide - (20.0 if tall else _LABELS)
    legend = len(curves) * 2 * LINE if tall else 0.0
    drawing = Drawing(wide, _TOP + _HIGH + 40 + legend)
    up = shares(_TOP + _HIGH, _TOP)
    along = Scale(0.6, last + 0.4, left, right)
    drawing.vertical_axis(up, left, right, lambda value: f"{decimals(value * _PERCENT, 0)} %")
    every = max(1, last // (6 if tall else 12) + (last % (6 if tall else 12) > 0))
    for k in range(1, last + 1, every):
        drawing.words(
            f"k = {k}", along.at(k), _TOP + _HIGH + 14, room=48, anchor="middle", kind="axis"
        )
    ends: list[tuple[float, str, str, str]] = []
    for number, curve in enumerate(curves):
        shape, tone = SHAPES[number % len(SHAPES)], TONES[number % len(TONES)]
        aside = beside(number, len(curves))
        moved = Scale(along.low, along.high, left + aside, right + aside)
        for kind, points, said in (
            ("one", curve.one_of, "one of k"),
            ("all", curve.all_of, "all of k"),
        ):
            _curve(drawing, (moved, up), points, f"{kind} {tone}", shape)
            final = next((p for p in reversed(points) if p.value is not None), None)
            y = _TOP + _HIGH if final is None or final.value is None else up.at(final.value)
            ends.append((y, f"{curve.name}, {said}", f"{kind} {tone}", shape))
    ends.sort(key=lambda end: end[0])
    if tall:
        _legend(drawing, ends, _TOP + _HIGH + 36, wide)
    else:
        places = apart([end[0] for end in ends], _TOP, _TOP + _HIGH)
        for (y, text, kind, _), at in zip(ends, places, strict=True):
            drawing.line("leader", right - 4, y, right + 10, at)
            drawing.words(text, right + 14, at, room=_LABELS - 16, kind=_worded(kind))
    return drawing


def _curve(
    drawing: Drawing, scales: tuple[Scale, Scale], points: Sequence[Point], kind: str, shape: str
) -> None:
    """A line through what is known; where nothing is, the bounds, and no line."""
    along, up = scales
    for known, some in groupby(points, key=lambda point: point.value is not None):
        if known:
            places = [(along.at(p.k), up.at(p.value or 0.0)) for p in some]
            if len(places) > 1:
                drawing.path(f"curve {kind}", places)
            continue
        for point in some:
            if point.low is not None and point.high is not None:
                x = along.at(point.k)
                drawing.line(f"bounds {kind}", x, up.at(point.low), x, up.at(point.high))
                drawing.words("?", x, up.at(point.low) + 8, room=12, anchor="middle", kind="axis")
    for point in points:
        if point.value is not None:
            drawing.mark(shape, kind, along.at(point.k), up.at(point.value), 4)


def _legend(
    drawing: Drawing, ends: Sequence[tuple[float, str, str, str]], top: float, wide: float
) -> None:
    for number, (_, text, kind, shape) in enumerate(ends):
        y = top + number * LINE
        drawing.line(f"curve {kind}", 6, y, 32, y)
        drawing.mark(shape, kind, 19, y, 4)
        drawing.words(text, 40, y, room=wide - 46, kind=_worded(kind))


def _worded(kind: str) -> str:
    return kind.split()[1] if kind.startswith("all") else "axis"
