"""The name that somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean ...?``, or an empty text where nothing is near."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean `{found[0]}`?" if found else ""
