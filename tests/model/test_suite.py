from __future__ import annotations

from trialbook.model.suite import Limits, merge_limits


def test_limits_are_merged_key_by_key() -> None:
    merged = merge_limits(Limits(), {"minutes": 5, "usd": 3}, {"minutes": None}, None, {"turns": 4})
    assert merged == Limits(minutes=None, usd=3.0, turns=4)


def test_a_later_file_may_say_the_default_again() -> None:
    assert merge_limits(Limits(minutes=5.0), {"minutes": 20}).minutes == 20.0


def test_counts_stay_whole_and_measures_become_fractions() -> None:
    merged = merge_limits(Limits(), {"turns": 40.0, "tokens": 7, "minutes": 3})
    assert [repr(merged.turns), repr(merged.tokens), repr(merged.minutes)] == ["40", "7", "3.0"]
