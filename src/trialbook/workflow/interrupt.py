"""Ctrl-C as data: the first one sets an event, a second one ends the program at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_signals(event: threading.Event) -> Iterator[None]:
    """While inside, SIGINT and SIGTERM set ``event``; the second of them raises.

    A signal must not fall into the middle of a commit, so the first one only leaves word. Outside
    the main thread, where Python delivers no signals, nothing is changed.

    Raises:
        KeyboardInterrupt: on the second signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        del number, frame
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, handle) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
