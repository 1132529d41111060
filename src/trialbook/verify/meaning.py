"""What a fault's code means, in words."""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """What a code says in one sentence, and an explanation for whoever has to act on it."""

    sentence: str
    explanation: str
