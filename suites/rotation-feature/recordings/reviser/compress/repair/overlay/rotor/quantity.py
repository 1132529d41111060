"""Numbers with a unit, such as 1.5M or 12 h: reading them apart."""

import re
from collections.abc import Mapping
from fractions import Fraction

from rotor.errors import RotorError

_NUMBER = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-z]*)", re.IGNORECASE)


def quantity(text: str, units: Mapping[str, int], example: str) -> Fraction:
    """The exact value of a number with a unit.

    `units` has the worth of every unit by its name in small letters; the empty name is for a number
    alone. `example` tells who wrote something else what it should look like.
    """
    match = _NUMBER.fullmatch(text.strip())
    unit = units.get(match["unit"].lower()) if match else None
    if match is None or unit is None:
        raise RotorError(f"{text!r} is no {example}")
    return Fraction(match["number"]) * unit
