from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.model.plan import SlotKey, order_key, schedule

NAMES = st.lists(st.text("abcdef-.", min_size=1, max_size=6), min_size=1, max_size=5, unique=True)


def test_the_schedule_is_the_published_vector() -> None:
    slots = schedule("20261130", "demo@3", ["t1", "t2", "t3"], ["A", "B"], 2)
    told = " ".join(f"{slot.repetition}:{slot.task}:{slot.configuration}" for slot in slots)
    assert told == (
        "1:t3:B 1:t3:A 1:t1:B 1:t1:A 1:t2:A 1:t2:B 2:t1:B 2:t1:A 2:t2:A 2:t2:B 2:t3:A 2:t3:B"
    )


@pytest.mark.parametrize(
    ("task", "beginning"), [("t1", "a3a55d85e03b"), ("t2", "d786fb4ffac2"), ("t3", "9c60a370afe8")]
)
def test_the_order_keys_are_the_published_vectors(task: str, beginning: str) -> None:
    assert order_key("20261130", "demo@3", "1", task).startswith(beginning)


def test_an_order_key_is_one_sha256_over_parts_joined_by_unit_separators() -> None:
    text = "eval-schedule/v1\x1fseed\x1fsuite@1\x1f2\x1ftask"
    assert order_key("seed", "suite@1", "2", "task") == hashlib.sha256(text.encode()).hexdigest()


@given(tasks=NAMES, configurations=NAMES, repetitions=st.integers(1, 4), seed=st.text(max_size=9))
def test_every_slot_stands_once_and_in_its_round(
    tasks: list[str], configurations: list[str], repetitions: int, seed: str
) -> None:
    slots = schedule(seed, "s@1", tasks, configurations, repetitions)
    assert len(set(slots)) == len(slots) == len(tasks) * len(configurations) * repetitions
    assert [slot.repetition for slot in slots] == sorted(slot.repetition for slot in slots)


@given(tasks=NAMES, configurations=NAMES, seed=st.text(max_size=9))
def test_the_configurations_of_a_task_run_back_to_back(
    tasks: list[str], configurations: list[str], seed: str
) -> None:
    slots = schedule(seed, "s@1", tasks, configurations, 1)
    width = len(configurations)
    blocks = [slots[at : at + width] for at in range(0, len(slots), width)]
    assert all(len({slot.task for slot in block}) == 1 for block in blocks)
    assert all(Counter(s.configuration for s in b) == Counter(configurations) for b in blocks)


@given(tasks=NAMES, configurations=NAMES, seed=st.text(max_size=9))
def test_the_order_of_the_names_given_does_not_matter(
    tasks: list[str], configurations: list[str], seed: str
) -> None:
    one = schedule(seed, "s@1", tasks, configurations, 2)
    other = schedule(seed, "s@1", tasks[::-1], configurations[::-1], 2)
    assert one == other


def test_a_rerun_has_a_folder_of_its_own() -> None:
    slot = SlotKey("task", "current", 2)
    assert slot.trial_path() == "task/current/r2"
    assert slot.trial_path(1) == "task/current/r2.rerun1"
