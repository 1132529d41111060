"""Any numbers and any names give well-formed drawings whose every place is inside of the frame."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialbook.site.plots.drawing import Plot, Told
from trialbook.site.plots.history import Moment, history_curves
from trialbook.site.plots.intervals import (
    Row,
    interval_plot,
    of_coefficients,
    of_differences,
    of_shares,
)
from trialbook.site.plots.lettering import apart, fold, shown_text, width
from trialbook.site.plots.passk import Curve, Point, pass_curves
from trialbook.site.plots.scale import amounts, brief, decimals, number
from trialbook.site.plots.slopes import Slope, slope_plot
from trialbook.site.plots.strips import Strip, strip_plot
from trialbook.site.plots.tradeoff import Priced, tradeoff_plot

HOSTILE = '"><script>alert(1)</script><svg onload="x">&\u202e\x1b[31m\x00]]>'
names = st.one_of(st.text(max_size=80), st.just(HOSTILE))
share = st.floats(0, 1)
signed = st.floats(-1, 1)
money = st.floats(0, 1e12, allow_subnormal=True)
some = settings(max_examples=30, deadline=None)


def told(text: str) -> Told:
    return Told(title=text, text=text, columns=("a",), rows=[(text,)])


def check(plot: Plot) -> None:
    for drawing in (str(plot.svg), str(plot.narrow)):
        _check(drawing)


def _check(drawing: str) -> None:
    root = ET.fromstring(drawing)
    wide, high = (float(value) for value in root.attrib["viewBox"].split()[2:])
    tags = {"svg", "g", "line", "polyline", "rect", "circle", "path", "text", "title"}
    for element in root.iter():
        assert element.tag in tags
        assert not any(name.startswith("on") or name == "style" for name in element.attrib)
        for x, y in places(element):
            assert 0 <= x <= wide, (element.tag, element.attrib)
            assert 0 <= y <= high, (element.tag, element.attrib)
        if element.tag == "text":
            start, end = extent(element)
            assert start >= -0.2, element.text
            assert end <= wide + 0.2, element.text
    assert "nan" not in drawing.replace(root.attrib["aria-label"], "").split(">")[0]
    assert '"-0"' not in drawing
    assert "<script" not in drawing


def places(element: ET.Element) -> Iterator[tuple[float, float]]:
    at = element.attrib
    if element.tag == "line":
        yield float(at["x1"]), float(at["y1"])
        yield float(at["x2"]), float(at["y2"])
    elif element.tag == "polyline":
        pairs = (pair.split(",") for pair in at["points"].split())
        yield from ((float(x), float(y)) for x, y in pairs)
    elif element.tag == "rect":
        left, top = float(at["x"]), float(at["y"])
        yield left, top
        yield left + float(at["width"]) - 0.11, top + float(at["height"]) - 0.11
    elif element.tag == "circle":
        x, y, r = float(at["cx"]), float(at["cy"]), float(at["r"])
        yield x - r, y - r
        yield x + r, y + r
    elif element.tag == "path":
        found = [float(value) for value in re.findall(r"-?\d+(?:\.\d)?", at["d"])]
        yield from zip(found[::2], found[1::2], strict=True)
    elif element.tag == "text":
        yield float(at["x"]), float(at["y"])


def extent(element: ET.Element) -> tuple[float, float]:
    x, long = float(element.attrib["x"]), width(element.text or "")
    anchor = element.attrib.get("text-anchor", "start")
    start = {"start": x, "middle": x - long / 2, "end": x - long}[anchor]
    return start, start + long


rows = st.builds(
    Row,
    label=names,
    value=st.none() | signed,
    said=names,
    low=st.none() | signed,
    high=st.none() | signed,
    inner=st.none() | st.tuples(signed, signed),
    also=st.none() | signed,
    kind=st.sampled_from(["whole", "group", "single"]),
    faint=st.booleans(),
)


@some
@given(st.lists(rows, max_size=30), st.none() | st.floats(0.001, 1), names, names)
def test_intervals(found: list[Row], margin: float | None, left: str, right: str) -> None:
    for axis in (of_differences(margin, (left, right)), of_shares(margin), of_coefficients()):
        check(interval_plot(found, axis, told(left)))


@some
@given(st.lists(st.builds(Slope, task=names, baseline=share, candidate=share), max_size=100), names)
def test_slopes(slopes: list[Slope], name: str) -> None:
    check(slope_plot(slopes, (name, HOSTILE), told(name)))


points = st.lists(st.tuples(st.none() | share, share, share), min_size=1, max_size=30)


def _points(found: list[tuple[float | None, float, float]]) -> list[Point]:
    return [Point(k=k, value=v, low=low, high=high) for k, (v, low, high) in enumerate(found, 1)]


curves = st.builds(Curve, name=names, all_of=points.map(_points), one_of=points.map(_points))


@some
@given(st.lists(curves, max_size=7))
def test_reliability(found: list[Curve]) -> None:
    check(pass_curves(found, told("reliability")))


priced = st.builds(
    Priced,
    name=names,
    acceptance=share,
    cost=money,
    acceptance_low=st.none() | share,
    acceptance_high=st.none() | share,
    cost_low=st.none() | money,
    cost_high=st.none() | money,
)


@some
@given(st.lists(priced, max_size=9))
def test_costs(found: list[Priced]) -> None:
    check(tradeoff_plot(found, told("costs")))


strips = st.builds(
    Strip,
    name=names,
    amounts=st.lists(st.tuples(money, st.booleans()), max_size=60),
    quartiles=st.tuples(st.none() | money, st.none() | money, st.none() | money),
    said=names,
)


@some
@given(st.lists(strips, max_size=6))
def test_strips(found: list[Strip]) -> None:
    check(strip_plot(found, brief, told("times")))


moments = st.builds(
    Moment,
    group=st.sampled_from(["protocol 1", "protocol 2", HOSTILE]),
    when=st.just("2026-11-30"),
    shares=st.dictionaries(st.sampled_from(["a", "b", HOSTILE]), share),
    hollow=st.booleans(),
)


@some
@given(st.lists(moments, max_size=60))
def test_history(found: list[Moment]) -> None:
    check(history_curves(["a", "b", HOSTILE], found, told("history")))


def test_no_line_of_a_history_crosses_a_break() -> None:
    found = [
        Moment(group=f"protocol {number}", when="2026-11-30", shares={"a": at / 10}, hollow=hollow)
        for at, (number, hollow) in enumerate([(1, False), (1, False), (2, False), (2, True)])
    ]
    plot = history_curves(["a"], found, told("history"))
    assert str(plot.svg).count("<polyline") == 1
    assert str(plot.svg).count('class="break"') == 1
    assert str(plot.svg).count("hollow") == 1


def test_unknown_values_have_no_mark_and_no_line() -> None:
    values = [1.0, None, None]
    points = [Point(k=k, value=v, low=0.2, high=0.9) for k, v in enumerate(values, 1)]
    drawing = str(pass_curves([Curve(name="a", all_of=points, one_of=[])], told("x")).svg)
    assert "<polyline" not in drawing
    assert drawing.count('class="bounds') == 2


def test_trials_that_a_limit_stopped_look_apart() -> None:
    strip = Strip(name="a", amounts=[(1, False), (9, True)], quartiles=(1, None, None), said="> 1")
    drawing = str(strip_plot([strip], brief, told("x")).svg)
    assert drawing.count("mark disc trial") == 1
    assert drawing.count("mark arrow cut") == 1
    assert 'class="median"' not in drawing


@given(st.text(max_size=200), st.floats(0, 300))
def test_folded_text_fits_its_room(text: str, room: float) -> None:
    found = fold(text, room)
    assert width(found) <= max(room, width("…"))
    assert found == shown_text(text) or "…" in found


@given(st.lists(st.floats(-50, 500), max_size=40).map(sorted))
def test_places_are_set_apart_inside_of_their_room(places: list[float]) -> None:
    found = apart(places, 0, 400)
    assert len(found) == len(places)
    assert all(0 <= place <= 400.001 for place in found)
    gap = min(16, 400 / max(1, len(places) - 1))
    assert all(b - a >= gap - 0.001 for a, b in pairwise(found))


@given(st.lists(money, min_size=1, max_size=20))
def test_an_axis_of_amounts_holds_them_all(values: list[float]) -> None:
    scale = amounts(values, 10, 200)
    assert all(10 <= scale.at(value) <= 200 for value in values)
    assert 1 <= len(scale.marks()) <= 12


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (number(-0.04), "0"),
        (number(2.25), "2.2"),
        (number(-3.5), "-3.5"),
        (decimals(-0.0001, 1), "0.0"),
        (brief(0.05), "0.05"),
        (brief(3000.0), "3000"),
        (brief(-0.0), "0"),
    ],
)
def test_numbers_are_written_one_way(said: str, expected: str) -> None:
    assert said == expected
