"""Acceptance run by run: lines that end where a new protocol number begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from trialbook.site.plots.drawing import NARROW, SHAPES, TONES, Drawing, Plot, Told, plotted
from trialbook.site.plots.lettering import LINE, SIZE, apart, beside, width
from trialbook.site.plots.scale import Scale, decimals, shares

_PERCENT = 100
_TOP, _HIGH = 30.0, 200.0
_LABELS = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A run: its protocol number, when it was, and the share that each line has in it.

    ``hollow`` marks a run that compares with no other. A line goes on from one run to the next only
    if both are of one ``group``.
    """

    group: str
    when: str
    shares: dict[str, float]
    hollow: bool = False


def history_curves(lines: Sequence[str], moments: Sequence[Moment], told: Told) -> Plot:
    """The plot of some lines, by name, over runs in the order of time."""
    return plotted(lambda wide: _draw(lines, moments, wide), told)


def _draw(lines: Sequence[str], moments: Sequence[Moment], wide: float) -> Drawing:
    tall = wide <= NARROW or len(lines) > len(SHAPES)
    left, right = 52.0, wide - (14.0 if tall else _LABELS)
    bottom = _TOP + _HIGH
    legend = len(lines) * (LINE + 2) + 10 if tall else 0.0
    drawing = Drawing(wide, bottom + 24 + legend)
    up = shares(bottom, _TOP)
    along = Scale(-0.7, max(len(moments) - 0.3, 0.3), left, right)
    drawing.vertical_axis(up, left, right, lambda value: f"{decimals(value * _PERCENT, 0)} %")
    _breaks(drawing, along, moments, wide)
    _dates(drawing, along, moments, bottom)
    ends: list[tuple[float, float, str, str, str]] = []
    for number, name in enumerate(lines):
        shape, tone = SHAPES[number % len(SHAPES)], TONES[number % len(TONES)]
        aside = beside(number, len(lines))
        found = [
            (along.at(at) + aside, up.at(one.shares[name]), one)
            for at, one in enumerate(moments)
            if name in one.shares
        ]
        for (a, b, one), (c, d, other) in pairwise(found):
            if one.group == other.group and not one.hollow and not other.hollow:
                drawing.path(f"curve all {tone}", [(a, b), (c, d)])
        for x, y, one in found:
            drawing.mark(shape, f"{tone} hollow" if one.hollow else tone, x, y, 4.5)
        if found:
            x, y, _ = found[-1]
            ends.append((y, x, name, shape, tone))
    if tall:
        for number, (_, _, name, shape, tone) in enumerate(ends):
            row = bottom + 36 + number * (LINE + 2)
            drawing.mark(shape, tone, 10, row, 4.5)
            drawing.words(name, 24, row, room=wide - 28)
        return drawing
    ends.sort()
    spread = apart([end[0] for end in ends], _TOP, bottom)
    for (y, x, name, _, tone), place in zip(ends, spread, strict=True):
        drawing.line("leader", x + 7, y, right + 8, place)
        drawing.words(name, right + 12, place, room=wide - right - 14, kind=tone)
    return drawing


def _breaks(drawing: Drawing, along: Scale, moments: Sequence[Moment], wide: float) -> None:
    """A line between runs of different groups, and the name of each group above its runs."""
    starts = [0, *(at for at, (a, b) in enumerate(pairwise(moments), 1) if a.group != b.group)]
    ends = [*starts[1:], len(moments)]
    free = 0.0
    for start, end in zip(starts, ends, strict=True):
        left = along.at(start - 0.5)
        if start:
            drawing.line("break", left, _TOP - 18, left, _TOP + _HIGH)
        if end <= start:
            continue
        room = max(along.at(end - 0.5) - left - 8, 0.0)
        name = moments[start].group
        short = name if width(name) <= room else name.replace("protocol ", "")
        if width(short) <= room and left + 4 >= free and left + 4 < wide:
            drawing.words(short, left + 4, _TOP - 14, room=room + 1, kind="axis")
            free = left + 4 + width(short)


def _dates(drawing: Drawing, along: Scale, moments: Sequence[Moment], bottom: float) -> None:
    free = 0.0
    for at, moment in enumerate(moments):
        x = along.at(at)
        drawing.line("tick", x, bottom, x, bottom + 4)
        half = width(moment.when) / 2
        start = min(max(x - half, 0.0), drawing.width - 2 * half)
        if start >= free:
            drawing.words(
                moment.when, x, bottom + SIZE + 2, room=2 * half + 1, anchor="middle", kind="axis"
            )
            free = start + 2 * half + 8
