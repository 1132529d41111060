"""Each task from the baseline's rate to the candidate's: a line a task, and which moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialbook.site.plots.drawing import NARROW, Drawing, Plot, Told, plotted
from trialbook.site.plots.lettering import LINE, SIZE, apart, fold, shown_text, width
from trialbook.site.plots.scale import decimals, shares

_PERCENT = 100
_TOP = 30.0
_NAMED = 4
"""So many tasks of one line are named at most; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """A task's rates under both configurations."""

    task: str
    baseline: float
    candidate: float


@dataclass(frozen=True, slots=True)
class _Bundle:
    """The tasks that go the same way."""

    start: float
    end: float
    tasks: tuple[str, ...]

    @property
    def kind(self) -> str:
        if self.start == self.end:
            return "same"
        return "up" if self.end > self.start else "down"


def slope_plot(slopes: Sequence[Slope], names: tuple[str, str], told: Told) -> Plot:
    """The plot of some tasks; ``names`` are those of the baseline and the candidate."""
    ways: dict[tuple[float, float], list[str]] = {}
    for slope in slopes:
        ways.setdefault((slope.baseline, slope.candidate), []).append(slope.task)
    bundles = [
        _Bundle(start, end, tuple(sorted(tasks)))
        for (start, end), tasks in sorted(ways.items(), key=lambda way: (-way[0][1], -way[0][0]))
    ]
    return plotted(lambda wide: _draw(bundles, names, wide), told)


def _draw(bundles: Sequence[_Bundle], names: tuple[str, str], wide: float) -> Drawing:
    high = max(240.0, len(bundles) * LINE * 1.15)
    drawing = Drawing(wide, _TOP + high + 14)
    left = 52.0
    right = left + (120.0 if wide <= NARROW else 300.0)
    scale = shares(_TOP + high, _TOP)
    half = (right - left) / 2 - 6
    drawing.words(names[0], left, 10, room=half, kind="strong first")
    drawing.words(names[1], right, 10, room=half, anchor="end", kind="strong second")
    drawing.vertical_axis(scale, left, right, lambda value: f"{decimals(value * _PERCENT, 0)} %")
    for x in (left, right):
        drawing.line("zero", x, _TOP, x, _TOP + high)
    order = sorted(bundles, key=lambda one: one.kind != "same")
    for one in order:
        weight = "thick" if len(one.tasks) > 2 else ""  # noqa: PLR2004 - a bundle, not a line
        kind = f"slope {one.kind} {weight}".rstrip()
        drawing.line(kind, left, scale.at(one.start), right, scale.at(one.end))
    for one in order:
        tone = f"end {one.kind}"
        drawing.mark("ring" if one.kind == "same" else "disc", tone, left, scale.at(one.start), 3.5)
        shape = {"up": "triangle", "down": "square"}.get(one.kind, "ring")
        drawing.mark(shape, tone, right, scale.at(one.end), 4)
    at = apart([scale.at(one.end) for one in bundles], _TOP, _TOP + high)
    for one, y in zip(bundles, at, strict=True):
        drawing.line("leader", right + 5, scale.at(one.end), right + 16, y)
        drawing.words(
            _named(one, wide - right - 22),
            right + 20,
            y,
            room=wide - right - 22,
            kind="" if one.kind != "same" else "axis",
        )
    return drawing


def _named(bundle: _Bundle, room: float) -> str:
    """Those that moved by name, as many as fit; those that did not as a number."""
    count = len(bundle.tasks)
    if bundle.kind == "same" and count > 1:
        return f"{count} tasks, no change"
    arrow = {"up": "▲ ", "down": "▼ "}.get(bundle.kind, "")
    for named in range(min(count, _NAMED), 0, -1):
        rest = f" and {count - named} more" if count > named else ""
        text = arrow + ", ".join(map(shown_text, bundle.tasks[:named])) + rest
        if width(text) <= room:
            return text
    rest = f", +{count - 1}" if count > 1 else ""
    return arrow + fold(bundle.tasks[0], max(SIZE * 4, room - width(arrow + rest))) + rest
