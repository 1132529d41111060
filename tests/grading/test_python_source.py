from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from trialbook.grading.python_source import syntax_tree

SOURCE = "\n".join(
    f"def f{n}(a, b=[{n}, (a.b, {{1: 2}})]):\n    return [a(b) for b in a]" for n in range(90)
)


@pytest.fixture
def threads_take_turns_everywhere() -> Iterator[None]:
    """Threads change places in the middle of a tree: whenever memory is collected."""

    def run_some_code(_phase: str, _told: dict[str, int]) -> None:
        for _ in range(20):
            pass

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    gc.callbacks.append(run_some_code)
    yield
    gc.callbacks.remove(run_some_code)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("threads_take_turns_everywhere")
def test_trees_are_made_in_several_threads_at_once() -> None:
    wrong: list[BaseException] = []

    def parse() -> None:
        try:
            for _ in range(12):
                syntax_tree(SOURCE)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is wrong
            wrong.append(error)

    threads = [threading.Thread(target=parse) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
