"""A drawing in the making: lines, marks and words, each at its place inside of the frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from markupsafe import Markup

from trialbook.site.plots.lettering import SIZE, escaped, fold, width
from trialbook.site.plots.scale import Scale, number

WIDE, NARROW = 720, 344
"""How wide the two drawings of a plot are, for a page and for a phone."""

SHAPES = ("disc", "diamond", "square", "triangle", "ring", "cross")
"""Marks that are told apart without colour, in the order in which they are given out."""

TONES = ("first", "second", "third")

_REACH = 1.3
"""No mark reaches further from its middle than so many times its radius."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot as pages show it: two drawings, the finding in words, and the numbers.

    ``svg`` is the wide drawing and ``narrow`` that for phones; they say the same. ``text`` is the
    finding in a sentence or two, for everybody, and for those who do not see the drawing.
    ``note`` says how to read it. ``columns`` and ``rows`` are the numbers.
    """

    title: str
    text: str
    svg: Markup
    narrow: Markup
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What stands around a drawing: its title, the finding, how to read it, and the numbers."""

    title: str
    text: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


class Drawing:
    """A drawing of some width and height; words are escaped, places are put into the frame."""

    def __init__(self, wide: float, high: float) -> None:
        self.width = wide
        self.height = high
        self._parts: list[str] = []

    def line(self, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
        """A straight line."""
        ends = f'x1="{self._x(x1)}" y1="{self._y(y1)}" x2="{self._x(x2)}" y2="{self._y(y2)}"'
        self._parts.append(f'<line class="{kind}" {ends}/>')

    def path(self, kind: str, places: Iterable[tuple[float, float]]) -> None:
        """A line through several places."""
        points = " ".join(f"{self._x(x)},{self._y(y)}" for x, y in places)
        self._parts.append(f'<polyline class="{kind}" points="{points}"/>')

    def area(self, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
        """A rectangle between two corners."""
        left, right = sorted((self._held(x1, self.width), self._held(x2, self.width)))
        top, bottom = sorted((self._held(y1, self.height), self._held(y2, self.height)))
        size = f'width="{number(right - left)}" height="{number(bottom - top)}"'
        self._parts.append(f'<rect class="{kind}" x="{number(left)}" y="{number(top)}" {size}/>')

    def mark(
        self, shape: str, kind: str, x: float, y: float, radius: float = 4.5, about: str = ""
    ) -> None:
        """One of `SHAPES`, with what it stands for, if that is told."""
        reach = radius * _REACH
        x = min(max(x, reach), self.width - reach)
        y = min(max(y, reach), self.height - reach)
        said = f"<title>{escaped(about)}</title>" if about else ""
        if shape in ("disc", "ring"):
            head = f'circle class="mark {shape} {kind}"'
            body = f'cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"'
        else:
            head = f'path class="mark {shape} {kind}"'
            body = f'd="{_shape(shape, x, y, radius)}"'
        self._parts.append(
            f"<{head} {body}>{said}</{head.split()[0]}>" if said else f"<{head} {body}/>"
        )

    def words(
        self,
        text: str,
        x: float,
        y: float,
        *,
        room: float,
        anchor: str = "start",
        kind: str = "",
    ) -> None:
        """A line of text whose middle is at ``y``, cut to the room that it has."""
        shown = fold(text, room)
        if not shown:
            return
        wide = min(width(shown), room)
        least = {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        x = min(max(x, least), self.width - (wide - least))
        y = min(max(y, SIZE / 2), self.height - SIZE / 2)
        cut = f"<title>{escaped(text)}</title>" if "…" in shown and "…" not in text else ""
        named = f' class="{kind}"' if kind else ""
        anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
        place = f'x="{number(x)}" y="{number(y + SIZE * 0.35)}"'
        self._parts.append(f"<text{named} {place}{anchored}>{escaped(shown)}{cut}</text>")

    def horizontal_axis(
        self, scale: Scale, top: float, bottom: float, said: Callable[[float], str]
    ) -> None:
        """Rules from top to bottom at round values, named below."""
        free = -1e9
        most = 6 if scale.end - scale.start > NARROW else 4
        for value in scale.marks(most):
            x = scale.at(value)
            self.line("rule", x, top, x, bottom)
            half = width(said(value)) / 2
            if x - half >= free:
                self.words(
                    said(value), x, bottom + SIZE, room=2 * half + 1, anchor="middle", kind="axis"
                )
                free = min(x, self.width - half) + half + 4

    def vertical_axis(
        self, scale: Scale, left: float, right: float, said: Callable[[float], str], most: int = 5
    ) -> None:
        """Rules from left to right at round values, named at their left."""
        for value in scale.marks(most):
            y = scale.at(value)
            self.line("rule", left, y, right, y)
            self.words(said(value), left - 6, y, room=left - 6, anchor="end", kind="axis")

    def finished(self, name: str, about: str) -> Markup:
        """The drawing as an element; ``name`` is ``wide`` or ``narrow``."""
        wide, high = number(self.width), number(self.height)
        head = (
            f'<svg class="drawing {name}" role="img" aria-label="{escaped(about)}" '
            f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">'
        )
        # Each piece above is made of our own words, of numbers, and of what was escaped.
        return Markup(head + "".join(self._parts) + "</svg>")  # noqa: S704

    def _x(self, x: float) -> str:
        return number(self._held(x, self.width))

    def _y(self, y: float) -> str:
        return number(self._held(y, self.height))

    @staticmethod
    def _held(place: float, end: float) -> float:
        return min(max(place, 0.0), end)


def plotted(draw: Callable[[float], Drawing], told: Told) -> Plot:
    """A plot with both of its drawings; ``draw`` is given the width."""
    return Plot(
        title=told.title,
        text=told.text,
        svg=draw(WIDE).finished("wide", told.text),
        narrow=draw(NARROW).finished("narrow", told.text),
        columns=told.columns,
        rows=told.rows,
        note=told.note,
    )


def _shape(shape: str, x: float, y: float, radius: float) -> str:
    if shape == "cross":
        arm = radius * 0.8
        ends = [(x - arm, y - arm, x + arm, y + arm), (x - arm, y + arm, x + arm, y - arm)]
        return "".join(f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for a, b, c, d in ends)
    corners, turn, size = {
        "diamond": (4, 0.0, 1.15),
        "square": (4, pi / 4, 1.2),
        "triangle": (3, 0.0, 1.25),
        "arrow": (3, -pi / 2, 1.25),
    }[shape]
    size *= radius
    angles = [turn + pi + 2 * pi * at / corners for at in range(corners)]
    places = [(x + size * sin(angle), y + size * cos(angle)) for angle in angles]
    return "M" + "L".join(f"{number(a)} {number(b)}" for a, b in places) + "Z"
