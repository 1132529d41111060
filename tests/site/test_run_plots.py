"""Plots of a run and of judgement hold what is known, and leave out what is not."""

from __future__ import annotations

from dataclasses import replace

from tests.recorded import a_bundle, a_configuration, a_plan, a_trial, results_of

from trialbook.model.calibration import Errors
from trialbook.model.outcome import Outcome
from trialbook.model.usage import Usage
from trialbook.reporting.brief import RunBrief, brief
from trialbook.reporting.results import RunResults
from trialbook.site.history_plot import history_plot
from trialbook.site.judgement_plots import calibration_plot
from trialbook.site.run_plots import cost_plot, duration_plot, pass_plot

NAMES = ("current", "cheap")


def results(drop: int = 0, **changes: object) -> RunResults:
    """Two configurations on two tasks, three trials each; the third is stopped by a limit."""
    plan = a_plan({name: a_configuration() for name in NAMES}, ["a", "b"], **changes)  # type: ignore[arg-type]
    bundles = []
    for slot in plan.schedule[: len(plan.schedule) - drop]:
        stopped = slot.repetition == 3
        outcome = Outcome.AGENT_TIMEOUT if stopped else Outcome.ACCEPTED
        cheap = slot.configuration == "cheap"
        usage = (
            Usage(cost_usd="0.2", basis="reported")
            if cheap
            else Usage(cost_usd="1", basis="priced")
        )
        trial = a_trial(plan, slot.key, outcome, usage=usage)
        stages = tuple(
            replace(stage, seconds=1200.0 if stopped else 60.0) if stage.name == "agent" else stage
            for stage in trial.stages
        )
        bundles.append(a_bundle(replace(trial, stages=stages), patch=None))
    return results_of(plan, bundles)


def test_times_of_trials_that_a_limit_stopped_are_marked() -> None:
    plot = duration_plot(results())
    assert plot is not None
    assert "4 of 12 trials were stopped by a limit" in plot.text
    assert str(plot.svg).count("mark arrow cut") == 4
    assert str(plot.svg).count("mark disc trial") == 8


def test_reliability_is_told_of_complete_runs_only() -> None:
    plot = pass_plot(results())
    assert plot is not None
    assert plot.rows[2][:3] == ("current", "3", "0/2 (0.0 %)")
    assert plot.rows[0][3] == "1.33/2 (66.7 %)"
    assert pass_plot(results(drop=1)) is None
    assert pass_plot(results(repetitions=1)) is None


def test_amounts_of_two_bases_have_no_common_axis() -> None:
    plot = cost_plot(results())
    assert plot is not None
    assert [row[0] for row in plot.rows] == ["current"]
    assert "Not drawn, since not known on this basis: cheap." in plot.note


def brief_at(protocol: int, **changes: object) -> RunBrief:
    return replace(brief(results(protocol=protocol), True), **changes)  # type: ignore[arg-type]


def test_a_history_breaks_with_the_protocol_number() -> None:
    assert history_plot([brief_at(1)]) is None
    plot = history_plot([brief_at(1), brief_at(1), brief_at(2), brief_at(2, draft=True)])
    assert plot is not None
    drawing = str(plot.svg)
    assert drawing.count("<polyline") == 2
    assert drawing.count('class="break"') == 1
    assert "3 of them are complete and no draft" in plot.text
    assert plot.rows[0][3:] == ("4/6 (66.7 %)", "draft")


def test_a_calibration_has_its_exact_intervals() -> None:
    errors = Errors(true_accepts=11, false_rejects=1, false_accepts=2, true_rejects=6)
    plot = calibration_plot("reader", errors)
    assert plot is not None
    rows = {row[0]: row[1] for row in plot.rows}
    assert rows["accepts what people accept (TPR)"].startswith("11/12 (91.7 %) [61.5 %, 99.8 %]")
    assert rows["rejects what people reject (TNR)"].startswith("6/8 (75.0 %) [34.9 %, 96.8 %]")
    none = Errors(true_accepts=0, false_rejects=0, false_accepts=0, true_rejects=0)
    assert calibration_plot("reader", none) is None
