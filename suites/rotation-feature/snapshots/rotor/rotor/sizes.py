"""Sizes of files as people write them. Units are powers of 1024."""

import re
from fractions import Fraction

from rotor.errors import RotorError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMG]?)(?:iB|B)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3}


def parse_size(text: str) -> int:
    """Bytes. Part of a byte counts as one."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise RotorError(f"{text!r} is no size such as 500, 64k or 1.5M")
    exact = Fraction(match[1]) * 1024 ** _POWERS[match[2].lower()]
    return -(-exact.numerator // exact.denominator)


def format_size(size: int) -> str:
    """A size in the biggest unit that it has one of, with a digit after the point."""
    for unit, power in (("G", 3), ("M", 2), ("k", 1)):
        if size >= 1024**power:
            return f"{size / 1024**power:.1f}{unit}"
    return str(size)
