from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from tests.recorded import a_bundle, a_configuration, a_plan, a_trial, results_of
from tests.stats.vectors import A, B

from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.trial import Usage
from trialbook.reporting.forecast import forecast, said
from trialbook.reporting.results import RunResults


def planned(repetitions: int = 3, tasks: int = 10) -> Plan:
    return a_plan(
        {"one": a_configuration(), "two": a_configuration(model="m")},
        [f"t{n:02}" for n in range(1, tasks + 1)],
        repetitions=repetitions,
    )


def ran(usage: Usage | None = None) -> RunResults:
    plan = replace(planned(), run="20261101T000000Z-old")
    accepted = {"one": A, "two": B}
    bundles = []
    for slot in plan.schedule:
        good = slot.repetition <= accepted[slot.configuration][int(slot.task[1:]) - 1]
        outcome = Outcome.ACCEPTED if good else Outcome.REJECTED
        bundles.append(a_bundle(a_trial(plan, slot.key, outcome, usage=usage or Usage())))
    return results_of(plan, bundles)


def test_ten_tasks_three_times_detect_about_29_points() -> None:
    lines = list(said(forecast(planned(), [])))
    assert lines == [
        (
            "10 tasks x 3: expect to detect about 29 points; smaller differences will come out "
            "inconclusive"
        ),
        "with other repetitions, with variation as is common: 47 at 1, 24 at 5, 20 at 10",
    ]


def test_an_earlier_run_tells_how_much_trials_vary_take_and_cost() -> None:
    found = forecast(planned(), [ran(Usage(cost_usd="0.5", basis="reported"))])
    assert found.pilot == "20261101T000000Z-old"
    assert found.seconds == 60 * 4.2 / 2
    assert found.usd == Decimal(30)
    assert "60 trials, about 2 min 06 s and about $30.00, as earlier ones were" in list(said(found))


def test_what_is_not_known_of_each_configuration_is_not_estimated() -> None:
    found = forecast(planned(), [ran()])
    assert found.usd is None
    other = replace(planned(), configurations={"new": a_configuration(digest="9" * 64)})
    assert forecast(other, [ran()]).seconds is None


def test_too_few_tasks_to_show_anything() -> None:
    assert forecast(planned(tasks=1), []).power == ()
    assert "no difference can be expected to show; add tasks" in next(
        said(forecast(planned(tasks=2, repetitions=1), []))
    )
