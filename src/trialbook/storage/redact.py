"""Takes secrets out of what an agent left, before any of it reaches the ledger.

Known values first, in every form in which programs print them; then what looks like a credential;
then, where the `secrets` extra is installed, what a maintained scanner finds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import copy

from trialbook.storage.credential_patterns import (
    CREDENTIALS,
    KEY_BEGIN,
    Credential,
    credentials_in,
    find_credentials,
)
from trialbook.storage.exact_values import SHORTEST, ExactValues
from trialbook.storage.spans import Span, counted, merged, replaced

__all__ = ["SHORTEST", "Redactor", "Scan"]

Scan = Callable[[bytes], Iterable[Span]]
"""A further way to find what is secret in bytes."""

_PLACEHOLDER = re.compile(rb"\[redacted:[A-Za-z0-9_.-]+\]")


class Redactor:
    """Finds and replaces what is secret. Threads may share one.

    ``counts`` of what it gives say how many places of each kind there were: a known value by its
    name, a credential by its kind. ``values`` is true if there are known values at all.
    """

    def __init__(self, values: Mapping[str, str], scan: Scan | None = None) -> None:
        self.values = ExactValues(values)
        self._scan = scan
        self._among: tuple[Credential, ...] = CREDENTIALS

    def narrowed(self, whole: bytes) -> Redactor | None:
        """One that finds the same in any part of ``whole``, quicker; None if there is nothing.

        For many short texts that are at hand together.
        """
        among = credentials_in(whole)
        if not (among or self.values or self._scan or KEY_BEGIN in whole):
            return None
        other = copy(self)
        other._among = among  # noqa: SLF001 - one of us
        return other

    def spans(self, data: bytes, *, cut: bool = False) -> list[Span]:
        """The places that have to go, in order and without overlaps.

        With ``cut``, the data may have been cut off in the middle of something secret.
        """
        found = self.values.spans(data, cut=cut)
        found += find_credentials(data, self._among)
        if self._scan is not None:
            found += self._scan(data)
        spared = _placeholders(data, found)
        return merged(span for span in found if not any(_inside(span, old) for old in spared))

    def redact(self, data: bytes, *, cut: bool = False) -> tuple[bytes, Counter[str]]:
        """``data`` with a placeholder for everything secret, and the counts."""
        spans = self.spans(data, cut=cut)
        return replaced(data, spans), counted(spans)

    def redact_text(self, text: str) -> tuple[str, Counter[str]]:
        """The same for text."""
        clean, counts = self.redact(text.encode("utf-8", "surrogatepass"))
        return (clean.decode("utf-8", "surrogatepass"), counts) if counts else (text, counts)

    def known_values(self, data: bytes) -> list[str]:
        """The names of known values that stand in ``data`` still, outside of placeholders."""
        found = self.values.spans(data)
        spared = _placeholders(data, found)
        return sorted(
            {span.kind for span in found if not any(_inside(span, old) for old in spared)}
        )


def _placeholders(data: bytes, found: Iterable[Span]) -> list[tuple[int, int]]:
    """Where placeholders stand already; looked for only if something was found."""
    if not any(True for _ in found):
        return []
    return [match.span() for match in _PLACEHOLDER.finditer(data)]


def _inside(span: Span, place: tuple[int, int]) -> bool:
    return place[0] <= span.start and span.end <= place[1]
