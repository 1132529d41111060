from fractions import Fraction

import pytest

from rotor.ages import parse_age
from rotor.quantity import quantity
from rotor.sizes import parse_size


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.25", Fraction(5, 4)), ("1.05", Fraction(21, 20)), ("0.125", Fraction(1, 8)), ("2.50", Fraction(5, 2))],
)
def test_digits_after_the_point_count_by_their_place(text, value):
    assert quantity(text, {"": 1}, "number") == value


def test_sizes_and_ages_have_as_many_digits_as_they_like():
    assert parse_size("0.75M") == 786432
    assert parse_age("0.25h").total_seconds() == 900


def test_a_log_is_due_at_a_limit_with_two_digits(logs, run, tmp_path):
    (tmp_path / "rotor.ini").write_text("[app]\npath = logs/app.log\nsize = 0.05k\n")
    assert run("run").stdout.startswith("app: move app.log to ")
