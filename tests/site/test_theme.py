"""The theme's colours: readable in both themes, told apart by those who see fewer of them."""

from __future__ import annotations

import re
from importlib import resources
from itertools import combinations

import pytest

THEME = resources.files("trialbook.site") / "theme"
SHEETS = {
    entry.name: entry.read_text(encoding="utf-8")
    for entry in (THEME / "assets").iterdir()
    if entry.name.endswith(".css")
}
TOKEN = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6})(?:[0-9a-f]{2})?, (#[0-9a-f]{6})")
TOKENS = {name: (light, dark) for name, light, dark in TOKEN.findall(SHEETS["style.css"])}

TEXT = 4.5
CONTROL = 3.0
GROUNDS = ("paper", "panel", "sunk", "target")
ON_GROUNDS = {
    **dict.fromkeys(("ink", "quiet", "link", "accepted", "failed", "pending", "errored"), GROUNDS),
    **dict.fromkeys(("first", "second", "third"), ("paper", "panel")),
    "warn-ink": ("warn",),
}
WASHES = [(name, f"{name}-wash") for name in ("accepted", "failed", "pending", "errored")]
CODE = ("added", "added-edge", "deleted", "deleted-edge", "hunk")
PAIRS = sorted(
    {(ink, ground) for ink, grounds in ON_GROUNDS.items() for ground in grounds}
    | set(WASHES)
    | {("ink", ground) for ground in CODE}
    | {("quiet", ground) for ground in ("added", "deleted", "hunk")}
    | {("on-fill", "accepted"), ("on-fill", "failed")}
)


def linear(colour: str) -> tuple[float, float, float]:
    """The three channels of ``#rrggbb`` as amounts of light."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return r, g, b


def luminance(colour: str) -> float:
    r, g, b = linear(colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), PAIRS)
def test_text_is_readable_on_its_ground(ink: str, ground: str, theme: int) -> None:
    assert contrast(TOKENS[ink][theme], TOKENS[ground][theme]) >= TEXT


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "panel"])
def test_the_edges_of_controls_are_seen(ground: str, theme: int) -> None:
    assert contrast(TOKENS["edge"][theme], TOKENS[ground][theme]) >= CONTROL


# What is left of light for those who lack one kind of cone (Viénot, Brettel and Mollon, 1999;
# and for blue cones the usual linear approximation).
BLINDNESS = {
    "protanopia": ((0.1124, 0.8876, 0.0), (0.1124, 0.8876, 0.0), (0.004, -0.004, 1.0)),
    "deuteranopia": ((0.2928, 0.7072, 0.0), (0.2928, 0.7072, 0.0), (-0.0223, 0.0223, 1.0)),
    "tritanopia": ((1.0, 0.1446, -0.1446), (0.0, 0.8592, 0.1408), (0.0, 0.8592, 0.1408)),
}


def seen(colour: str, kind: str) -> tuple[float, float, float]:
    """The colour in Lab, as somebody with that kind of colour blindness sees it."""
    light = linear(colour)
    r, g, b = (sum(w * c for w, c in zip(row, light, strict=True)) for row in BLINDNESS[kind])
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
    fx, fy, fz = (
        max(v, 0.0) ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z)
    )
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("kind", sorted(BLINDNESS))
@pytest.mark.parametrize(
    ("one", "other"),
    [
        *combinations(("accepted", "failed", "errored"), 2),
        ("first", "second"),
        ("second", "third"),
    ],
)
def test_colours_with_a_meaning_are_told_apart_without_all_cones(
    one: str, other: str, kind: str, theme: int
) -> None:
    pairs = zip(seen(TOKENS[one][theme], kind), seen(TOKENS[other][theme], kind), strict=True)
    assert sum((a - b) ** 2 for a, b in pairs) ** 0.5 >= 12


@pytest.mark.parametrize("name", sorted(SHEETS))
def test_no_colour_stands_outside_of_the_tokens(name: str) -> None:
    text = re.sub(r"/\*.*?\*/", "", SHEETS[name], flags=re.DOTALL)
    rules = re.sub(r":root\b[^{]*\{[^}]*\}", "", text)
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(", rules)
    used = set(re.findall(r"var\(--([\w-]+)", rules))
    # A sheet may have measures of its own; its colours are the tokens' all the same.
    known = set(re.findall(r"--([\w-]+):", SHEETS["style.css"] + SHEETS[name]))
    assert used <= known


def test_nothing_in_the_theme_is_loaded_from_elsewhere() -> None:
    for name, text in SHEETS.items():
        assert "url(" not in text, name
        assert "@import" not in text, name
    for entry in (THEME / "assets").iterdir():
        if entry.name.endswith(".js"):
            text = entry.read_text(encoding="utf-8")
            for word in ("http:", "https:", "fetch(", "XMLHttp", "innerHTML", "outerHTML", "eval("):
                assert word not in text, f"{entry.name}: {word}"
            assert "insertAdjacent" not in text, entry.name
            assert "document.write" not in text, entry.name


def test_templates_have_no_styles_and_scripts_of_their_own() -> None:
    for entry in (THEME / "templates").iterdir():
        text = entry.read_text(encoding="utf-8")
        assert " style=" not in text, entry.name
        assert not re.search(r"\son[a-z]+=", text), entry.name
        if entry.name != "packet.html":  # A packet is one file, with a policy of its own.
            assert "<style" not in text, entry.name
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text)), entry.name
