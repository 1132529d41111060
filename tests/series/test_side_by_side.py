from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from tests.series.build import series

from trialbook.reporting.series import SeriesView, view_of
from trialbook.reporting.series_table import TIE, series_section, series_table
from trialbook.stats.series import Score, scores


class _Trial:
    """As much of a trial's record as a table needs."""

    def __init__(self, task: str, configuration: str) -> None:
        self.suite, _, self.task = task.rpartition("/")
        self.configuration, self.run = configuration, "20261201"
        self.path, self.replaces = f"{self.task}/{configuration}/r1", None


def one(task: str, configuration: str, **shares: tuple[int, int]) -> SeriesView:
    given = {name: Score(dimension=name, yes=yes, no=no) for name, (yes, no) in shares.items()}
    found = view_of(series(trial=cast("Any", _Trial(task, configuration))))
    empty = {score.dimension: score for score in scores(())}
    return replace(found, scores=tuple((empty | given).values()))


def test_one_project_is_a_case_report_with_counts_and_no_interval() -> None:
    views = [one("x", "a", outcome=(4, 0), repair=(1, 3)), one("x", "b", outcome=(3, 1))]
    found = series_table(("a", "b"), views)
    assert found is not None
    first = {row.dimension: row.first for row in found.rows}
    assert (first["outcome"], first["repair"], first["continuity"]) == ("a", TIE, TIE)
    assert found.note.startswith("Case report")
    text = "\n".join(series_section(found))
    assert "| outcome | 4/4 (100.0 %) | 3/4 (75.0 %) | `a` |" in text
    assert "mean" not in text


def test_projects_are_put_together_by_dimension_each_with_the_same_weight() -> None:
    views = [
        one("x", "a", repair=(10, 0)),
        one("y", "a", repair=(0, 4)),
        one("x", "b", repair=(3, 1)),
        one("y", "b", repair=(3, 1)),
    ]
    found = series_table(("a", "b"), views)
    assert found is not None
    (repair,) = [row for row in found.rows if row.dimension == "repair"]
    assert repair.counts == {"a": "10/14 (71.4 %)", "b": "6/8 (75.0 %)"}
    assert repair.means == {"a": "50.0 %", "b": "75.0 %"}
    assert repair.first == "b"
    assert "2 projects" in found.note.lower()


def test_tasks_of_two_suites_are_two_projects_whatever_they_are_called() -> None:
    views = [one("s/x", "a", repair=(4, 0)), one("t/x", "a", repair=(0, 4))]
    found = series_table(("a",), views)
    assert found is not None
    assert found.projects == ("s/x", "t/x")
    (repair,) = [row for row in found.rows if row.dimension == "repair"]
    assert (repair.counts, repair.means) == ({"a": "4/8 (50.0 %)"}, {"a": "50.0 %"})


def test_a_series_that_was_run_again_counts_once() -> None:
    first, again = one("x", "a", outcome=(1, 3)), one("x", "a", outcome=(4, 0))
    trial = cast("Any", again.files.trial)
    trial.path, trial.replaces = "x/a/r1.rerun1", "x/a/r1"
    found = series_table(("a",), [first, again])
    assert found is not None
    assert found.rows[0].counts == {"a": "4/4 (100.0 %)"}
    assert [row.trial for row in found.series] == ["x/a/r1.rerun1"]


@pytest.mark.parametrize("other", [(3, 0), (1, 0)])
def test_a_tie_and_a_missing_share_have_no_first(other: tuple[int, int]) -> None:
    views = [one("x", "a", outcome=(4, 0)), one("x", "b", outcome=other)]
    found = series_table(("a", "b"), views)
    assert found is not None
    assert found.rows[0].first == TIE


def test_a_run_without_series_has_no_section() -> None:
    assert series_table(("a",), []) is None
    assert list(series_section(None)) == []
