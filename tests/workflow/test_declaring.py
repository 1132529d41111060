from __future__ import annotations

from dataclasses import replace

import pytest

from trialbook.errors import UserError
from trialbook.model.suite import Comparison, Configuration, Suite
from trialbook.workflow.declaring import Declaration, declared

SIDES = Comparison(baseline="current", candidate="cheap")
WISH = Declaration(margin=0.1, because="one more in ten")


def a_suite(compare: Comparison | None, *names: str) -> Suite:
    return Suite(
        name="refunds",
        folder="suites/refunds",
        protocol=3,
        decision="Which?",
        accept="checks",
        tasks=(),
        configurations=tuple(
            Configuration(name=name, agent="command") for name in names or ("current", "cheap")
        ),
        repetitions=3,
        compare=compare,
    )


def test_without_a_wish_the_suite_has_the_word() -> None:
    assert declared(a_suite(None), Declaration()) is None
    assert declared(a_suite(SIDES), Declaration()) == SIDES


def test_a_wish_fills_what_the_suite_leaves_open() -> None:
    found = declared(a_suite(SIDES), replace(WISH, looks=(2, 1, 2)))
    assert found == replace(SIDES, margin=0.1, because="one more in ten", looks=(1, 2))


def test_of_two_configurations_the_first_listed_is_the_baseline() -> None:
    assert declared(a_suite(None), WISH) == replace(SIDES, margin=0.1, because="one more in ten")


@pytest.mark.parametrize(
    ("compare", "wish", "said"),
    [
        (None, Declaration(margin=0.1), "needs the sentence that says why"),
        (None, Declaration(because="so"), "the sentence a margin"),
        (replace(SIDES, margin=0.05, because="so"), WISH, "declares margin 0.05 under protocol 3"),
        (replace(SIDES, looks=(1,)), Declaration(looks=(2,)), "declares looks 1 under"),
        (None, Declaration(looks=(3,)), "none before the end: there are 3"),
    ],
)
def test_what_contradicts_the_suite_or_the_plan_is_refused(
    compare: Comparison | None, wish: Declaration, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        declared(a_suite(compare), wish)


def test_with_three_configurations_and_no_comparison_two_have_to_be_chosen() -> None:
    with pytest.raises(UserError, match="which two configurations"):
        declared(a_suite(None, "a", "b", "c"), WISH)
