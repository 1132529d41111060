"""What was seen of a sandbox's network: one line a request, and counts that hold however many."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

from trialbook.system import timestamp

_MOST_ROWS = 2_000
_MOST_PLACES = 200
_LONGEST = 260


class Verdict(StrEnum):
    """What became of a request: refused by the policy, or allowed, and then perhaps failed."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(slots=True, kw_only=True)
class Row:
    """One request. ``sent`` and ``received`` are bytes as the sandbox sees it.

    ``host`` and ``port`` are None where the request did not get so far as to name any; ``port``
    alone where it names what is no host and port, as it stands in ``host`` then.
    """

    started: str
    method: str
    host: str | None = None
    port: int | None = None
    address: str | None = None
    verdict: Verdict = Verdict.FAILED
    reason: str = ""
    sent: int = 0
    received: int = 0
    seconds: float = 0.0

    @property
    def place(self) -> str:
        """The host and port, in one; what was asked for, where it could not be understood."""
        if self.host is None or self.port is None:
            return self.host or "no host"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """A host and port, and why requests to it ended as they did."""

    place: str
    reason: str


class Log:
    """Collects rows; used by one thread.

    Args:
        now: The time.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._rows: list[Row] = []
        self.verdicts: Counter[Verdict] = Counter()
        self.reached: set[str] = set()
        self.refused: Counter[Place] = Counter()
        self.sent = 0
        self.received = 0

    def begin(self) -> Row:
        """A row for a request that begins now; it counts when it is added."""
        return Row(started=timestamp(self._now()), method="")

    def add(self, row: Row) -> None:
        """Count a request that is over, and keep its row while there is room."""
        row.host = None if row.host is None else _printable(row.host)
        row.method = _printable(row.method)
        row.reason = _printable(row.reason)
        row.seconds = round(row.seconds, 3)
        self.verdicts[row.verdict] += 1
        self.sent += row.sent
        self.received += row.received
        if row.verdict is Verdict.ALLOWED and len(self.reached) < _MOST_PLACES:
            self.reached.add(row.place)
        if row.verdict is Verdict.REFUSED:
            place = Place(place=row.place, reason=row.reason)
            full = len(self.refused) >= _MOST_PLACES and place not in self.refused
            self.refused[Place(place="other hosts", reason="") if full else place] += 1
        if len(self._rows) < _MOST_ROWS:
            self._rows.append(row)

    @property
    def left_out(self) -> int:
        """How many requests have no line."""
        return self.verdicts.total() - len(self._rows)

    def lines(self) -> bytes:
        """The log as JSON Lines, in the order in which requests ended; empty if there were none."""
        lines = [json.dumps(asdict(row)) for row in self._rows]
        if self.left_out:
            lines.append(json.dumps({"left_out": self.left_out}))
        return "".join(f"{line}\n" for line in lines).encode("ascii")


def _printable(text: str) -> str:
    """Text of a hostile sender, fit for a terminal and for a page."""
    return "".join(c if " " <= c <= "~" else "?" for c in text[:_LONGEST])
