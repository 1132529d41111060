"""The maintained scanner of the ``secrets`` extra, Kingfisher: used where it is installed, offline.

The one importer of ``kingfisher_sdk``. It is loaded when it is first needed, which takes seconds,
and then kept. Nothing is ever validated with a provider.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from trialbook.errors import EnvironmentProblem
from trialbook.storage.spans import Span

_DISTRIBUTION = "kingfisher-secret-scanner"
_SECONDS = 120.0
# Commit ids, digests, hashes of lock files, UUIDs. A rule may fit a part of one by chance.
_DIGEST = re.compile(
    rb"\bsha(?:1|224|256|384|512)[-:=][A-Za-z0-9+/]{27,}={0,2}|\bh1:[A-Za-z0-9+/]{43}="
    rb"|(?<![A-Za-z0-9_-])(?:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})(?![A-Za-z0-9])"
    rb"|(?<![A-Za-z0-9_-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![A-Za-z0-9])"
)
_KIND = re.compile(r"[^a-z0-9-]+")

_loading = threading.Lock()
_loaded: dict[Path, Any] = {}


def installed_scanner() -> str | None:
    """Name and version of the scanner, or None where it is not installed."""
    try:
        return f"{_DISTRIBUTION} {metadata.version(_DISTRIBUTION)}"
    except metadata.PackageNotFoundError:
        return None


class Scanner:
    """Scans bytes; threads may share one. ``cache`` is where it may keep its compiled rules."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def __call__(self, data: bytes) -> Iterator[Span]:
        """Every place that the scanner takes for a secret.

        Raises:
            EnvironmentProblem: the scanner fails.
        """
        try:
            findings = _native(self._cache).scan(data, timeout=_SECONDS)
        except Exception as error:
            raise EnvironmentProblem(
                f"the secret scanner failed: {error!r}",
                hint=f"look at the installation of {_DISTRIBUTION}, or uninstall it",
            ) from error
        found = [span for one in findings if one.visible for span in _places(data, one)]
        digests = [match.span() for match in _DIGEST.finditer(data)] if found else []
        starts = [start for start, _ in digests]
        for span in found:
            # The last digest that begins before the place ends is the only one it may touch.
            at = bisect_left(starts, span.end) - 1
            if at < 0 or digests[at][1] <= span.start:
                yield span


def _native(cache: Path) -> Any:  # noqa: ANN401 - of an optional library
    with _loading:
        if cache not in _loaded:
            sdk = import_module("kingfisher_sdk")
            _loaded[cache] = sdk.Scanner(sdk.Rules(cache_dir=str(cache)))
        return _loaded[cache]


def _places(data: bytes, finding: Any) -> Iterator[Span]:  # noqa: ANN401 - of an optional library
    kind = _KIND.sub("-", re.split(r"[./]", finding.rule_id.lower())[-1]).strip("-") or "secret"
    place = finding.location
    start, end = place["start_offset"], place["end_offset"]
    secret = finding.secret.encode("utf-8", "surrogateescape")
    if finding.is_base64_encoded or data[start:end] == secret:
        yield Span(start, end, kind)
        return
    # Offsets are those of the text as the scanner has decoded it: go by the value.
    at = data.find(secret) if secret else -1
    while at >= 0:
        yield Span(at, at + len(secret), kind)
        at = data.find(secret, at + len(secret))
