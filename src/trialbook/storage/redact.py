"""Takes secrets out of what an agent left, before any of it reaches the ledger.

Exact values only: every value that was passed in, in the forms in which programs print it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

_SHORTEST = 6


def redact(data: bytes, secrets: Mapping[str, str]) -> tuple[bytes, dict[str, int]]:
    """``data`` with every form of every secret replaced by a placeholder that names it.

    Gives the clean bytes and, per name, how many places were replaced. Values shorter than six
    characters are left: replacing them would shred ordinary text.
    """
    counts: dict[str, int] = {}
    for name, value in secrets.items():
        if len(value) < _SHORTEST:
            continue
        for form in _forms(value):
            found = data.count(form)
            if found:
                data = data.replace(form, f"[redacted: {name}]".encode())
                counts[name] = counts.get(name, 0) + found
    return data, counts


def _forms(value: str) -> tuple[bytes, ...]:
    raw = value.encode()
    found = {
        raw,
        quote(value, safe="").encode(),
        quote_plus(value).encode(),
        json.dumps(value)[1:-1].encode(),
        base64.b64encode(raw),
        base64.urlsafe_b64encode(raw),
    }
    # The longest first, so that a form that contains another is not left in halves.
    return tuple(sorted(found, key=lambda form: (-len(form), form)))
