from __future__ import annotations

import pytest

from trialbook.errors import UserError
from trialbook.storage.runname import RunRef, resolve

RUNS = [
    RunRef("demo", "20261130T151526Z-3f9c2d"),
    RunRef("demo", "20261130T151526Z-3f9cff"),
    RunRef("demo", "20261201T080000Z-aaaaaa"),
    RunRef("refunds", "20261201T080000Z-aaaaaa"),
    RunRef("refunds", "20261202T080000Z-bbbbbb"),
    RunRef("refunds", "20261202T080000Z-bbbbbb2"),
]
TRIALS = ["alpha/current/r1", "alpha/current/r1.rerun1", "beta/current/r1"]


def found(text: str) -> RunRef | tuple[RunRef, str]:
    return resolve(text, RUNS, lambda _: TRIALS)


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("demo/20261130T151526Z-3f9c2d", 0),
        ("runs/demo/20261130T151526Z-3f9c2d/", 0),
        ("20261130T151526Z-3f9c2d", 0),
        ("20261130T151526Z-3f9c2", 0),
        ("demo/20261201", 2),
        ("refunds/20261201", 3),
        ("refunds/20261202T080000Z-bbbbbb", 4),
        ("20261202T080000Z-bbbbbb", 4),
        ("20261202T080000Z-bbbbbb2", 5),
    ],
)
def test_a_run_is_found_by_its_whole_name_or_enough_of_it(text: str, run: int) -> None:
    assert found(text) == RUNS[run]


@pytest.mark.parametrize("trial", TRIALS)
@pytest.mark.parametrize(
    "start", ["demo/20261201", "20261130T151526Z-3f9c2d", "runs/demo/20261201"]
)
def test_a_trial_is_a_run_and_its_folder(start: str, trial: str) -> None:
    result = found(f"{start}/{trial}")
    assert isinstance(result, tuple)
    assert result[1] == trial


def test_a_beginning_that_fits_several_runs_lists_them() -> None:
    with pytest.raises(UserError, match="fits 2 runs") as caught:
        found("20261130")
    assert caught.value.hint == f"give more of the name: {RUNS[0].path}, {RUNS[1].path}"


def test_a_whole_name_in_two_suites_is_ambiguous() -> None:
    with pytest.raises(UserError, match="fits 2 runs") as caught:
        found("20261201T080000Z-aaaaaa")
    assert "demo/20261201T080000Z-aaaaaa, refunds/" in caught.value.hint


def test_a_misspelt_run_gets_a_suggestion() -> None:
    with pytest.raises(UserError, match="there is no run 'demo/20261130T151526Z-3f9c2e'") as caught:
        found("demo/20261130T151526Z-3f9c2e")
    assert caught.value.hint.startswith(f"did you mean {RUNS[0].path}")


@pytest.mark.parametrize("text", ["", "/", "runs", "zzz"])
def test_an_unknown_run_lists_what_there_is(text: str) -> None:
    with pytest.raises(UserError, match="there is no run") as caught:
        found(text)
    assert RUNS[0].path in caught.value.hint


def test_an_unknown_trial_gets_a_suggestion() -> None:
    with pytest.raises(
        UserError, match="there is no trial 'demo/20261201/alpha/curent/r1'"
    ) as caught:
        found("demo/20261201/alpha/curent/r1")
    assert "/alpha/current/r1" in caught.value.hint


def test_part_of_a_trial_lists_those_that_have_it() -> None:
    with pytest.raises(UserError, match="there is no trial") as caught:
        found("demo/20261201T080000Z-aaaaaa/alpha")
    assert caught.value.hint.count("/alpha/current/r1") == 2


def test_an_empty_ledger_says_so() -> None:
    with pytest.raises(UserError, match="there are none yet"):
        resolve("x", [], lambda _: [])
    with pytest.raises(UserError, match=r"no trial .*there are none yet"):
        resolve("demo/20261201/x", RUNS, lambda _: [])
