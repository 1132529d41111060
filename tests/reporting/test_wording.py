from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from tests.recorded import a_configuration

from trialbook.model.outcome import NOT_RUN, Outcome
from trialbook.reporting.wording import (
    LETTERS,
    duration,
    listed,
    meaning,
    money,
    nature,
    nature_label,
    number_of,
    number_of_minutes,
    percent,
    rate,
    size,
    tone,
)
from trialbook.stats.views import Tally


def test_every_outcome_has_its_own_letter_a_tone_and_a_meaning() -> None:
    outcomes = {*Outcome, NOT_RUN}
    assert set(LETTERS) == outcomes
    assert len(set(LETTERS.values())) == len(outcomes)
    assert all(meaning(outcome) for outcome in outcomes)


def test_failures_of_the_agent_and_of_us_never_share_a_tone() -> None:
    tones = {outcome: tone(outcome) for outcome in Outcome}
    assert all(tones[o] == "errored" for o in Outcome if not o.valid and o != "needs_review")
    assert all(tones[o] in {"failed", "accepted"} for o in Outcome if o.valid)


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (Fraction(24, 28), "85.7 %"),
        (Fraction(1), "100.0 %"),
        (Fraction(0), "0.0 %"),
        (Fraction(1, 2000), "0.0 %"),
        (Fraction(3, 2000), "0.2 %"),
        (Fraction(2, 3), "66.7 %"),
    ],
)
def test_a_share_is_rounded_exactly(share: Fraction, said: str) -> None:
    assert percent(share) == said


def test_a_rate_never_stands_without_its_counts() -> None:
    assert rate(Tally(accepted=24, slots=30)) == "24/30 (80.0 %)"
    assert rate(Tally(accepted=0, slots=0)) == "0/0"


@pytest.mark.parametrize(
    ("usd", "said"),
    [("0", "$0.00"), ("1.5", "$1.50"), ("0.0042", "$0.0042"), ("1234.10", "$1,234.10")],
)
def test_money_keeps_every_digit_it_has(usd: str, said: str) -> None:
    assert money(Decimal(usd)) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.42, "0.4 s"),
        (12.0, "12 s"),
        (59.7, "1 min 00 s"),
        (185.0, "3 min 05 s"),
        (7380.0, "2 h 03 min"),
    ],
)
def test_durations_read_well(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_counts_lists_and_sizes_read_well() -> None:
    assert number_of(1, "trial") == "1 trial"
    assert number_of(0, "trial") == "0 trials"
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert [size(n) for n in (999, 1500, 2_500_000)] == ["999 B", "1.5 kB", "2.5 MB"]


def test_what_is_no_agent_at_work_is_named_as_what_it_is() -> None:
    assert nature_label(a_configuration()) == "replayed"
    assert nature_label(a_configuration(agent="command")) == "scripted"
    assert nature_label(a_configuration(agent="command", model="m")) == ""
    assert nature(a_configuration(agent="claude-code", model="m")) == ""
    control = a_configuration(agent="claude-code", model="m", gives_reference=True)
    assert nature_label(control) == "given the reference"
    assert "known-good control" in nature(control)


def test_one_minute_is_no_plural() -> None:
    assert [number_of_minutes(n) for n in (1, 1.0, 2, 0.5)] == [
        "1 minute",
        "1 minute",
        "2 minutes",
        "0.5 minutes",
    ]
