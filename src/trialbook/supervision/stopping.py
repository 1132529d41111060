"""Ends a command for what somebody who looks at it while it runs has to say."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from trialbook.model.process import Ended, ProcessResult, StopWhen

_EVERY_SECONDS = 0.4


class StopWatch(threading.Event):
    """Set when a run is cancelled, or when the one who looks has found a ``reason`` to stop."""

    def __init__(self, cancel: threading.Event | None) -> None:
        super().__init__()
        self._cancel = cancel
        self.reason = ""
        self.error: BaseException | None = None

    @property
    def cancelled(self) -> bool:
        """Whether the whole run is."""
        return self._cancel is not None and self._cancel.is_set()

    def is_set(self) -> bool:
        """Whether the command has to end."""
        return bool(self.reason) or self.error is not None or self.cancelled

    def judged(self, result: ProcessResult) -> ProcessResult:
        """The result; one that ended for the reason was stopped, not cancelled.

        Raises:
            Exception: what looking raised.
        """
        if self.error is not None:
            raise self.error
        if not self.reason or result.ended is not Ended.CANCELLED or self.cancelled:
            return result
        return replace(result, ended=Ended.STOPPED, message=self.reason)


@contextmanager
def stopping(stop_when: StopWhen | None, cancel: threading.Event | None) -> Iterator[StopWatch]:
    """Look at a command until the block is left; the event goes to whoever runs it."""
    watch = StopWatch(cancel)
    if stop_when is None:
        yield watch
        return
    over = threading.Event()
    thread = threading.Thread(target=_look, args=(watch, stop_when, over), daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()


def stoppable(
    run: Callable[[threading.Event], ProcessResult], stop_when: StopWhen | None
) -> ProcessResult:
    """Run a command that can be stopped: ``run`` gets the event that has to cancel it."""
    with stopping(stop_when, None) as watch:
        return watch.judged(run(watch))


def _look(watch: StopWatch, stop_when: StopWhen, over: threading.Event) -> None:
    try:
        while not over.wait(_EVERY_SECONDS) and not watch.reason:
            watch.reason = stop_when()
    except Exception as error:  # noqa: BLE001 - raised where the command is waited for
        watch.error = error
