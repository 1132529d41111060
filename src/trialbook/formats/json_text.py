"""JSON that people wrote: strict, with the place of a syntax error and the keys that are twice."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

from trialbook.errors import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonText:
    """The value of a JSON text, and every key that one of its objects has more than once."""

    data: Any
    twice: tuple[str, ...]


def read_json(text: str, shown: str) -> JsonText | Problem:
    """Read a JSON text; of two equal keys the first is taken."""
    twice: list[str] = []

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                twice.append(key)
            found.setdefault(key, value)
        return found

    def refuse(word: str) -> NoReturn:
        raise ValueError(f"{word} is not a number that JSON can hold")

    def number(word: str) -> float:
        value = float(word)
        return value if math.isfinite(value) else refuse(word)

    try:
        data = json.loads(
            text, object_pairs_hook=mapping, parse_constant=refuse, parse_float=number
        )
    except json.JSONDecodeError as error:
        message = f"this is not JSON: {error.msg}"
        return Problem(path=shown, line=error.lineno, column=error.colno, message=message)
    except (ValueError, RecursionError) as error:
        return Problem(path=shown, message=f"this is not JSON: {error}")
    return JsonText(data=data, twice=tuple(twice))
