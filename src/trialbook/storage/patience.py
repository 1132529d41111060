"""Waiting for somebody else's lock: longer each time, with chance in it, and not for ever."""

from __future__ import annotations

from trialbook.system import System

_FIRST_SECONDS = 0.002
_LONGEST_SECONDS = 0.1
_CHANCE = 0xFFFF


class Patience:
    """A bounded series of waits. ``seconds`` is how long it may take in all."""

    def __init__(self, system: System, seconds: float) -> None:
        self._system = system
        self._end = system.monotonic() + seconds
        self._step = _FIRST_SECONDS

    def wait(self) -> bool:
        """Wait a little, or say that the time is up (False)."""
        if self._system.monotonic() >= self._end:
            return False
        share = int(self._system.token(2), 16) / _CHANCE
        self._system.sleep(self._step * (0.5 + share))
        self._step = min(self._step * 2, _LONGEST_SECONDS)
        return True
