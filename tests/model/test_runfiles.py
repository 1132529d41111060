from __future__ import annotations

import pytest

from trialbook.model.runfiles import (
    FileKind,
    Place,
    amendment_path,
    closing_path,
    generation_folder,
    incident_path,
    place_of,
    regrade_path,
    regraded_grade,
    rerun_of,
)

ID = "20261130T151526Z-3f9c2d"
TRIAL = "negative-amount/current/r2.rerun1"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("plan.json", Place(kind=FileKind.PLAN)),
        (".gitattributes", Place(kind=FileKind.ATTRIBUTES)),
        ("results.csv", Place(kind=FileKind.RESULTS, name="results.csv")),
        (f"{TRIAL}/trial.json", Place(kind=FileKind.TRIAL, trial=TRIAL)),
        (f"{TRIAL}/change.patch", Place(kind=FileKind.ARTIFACT, trial=TRIAL, name="change.patch")),
        (
            f"{TRIAL}/sessions/1/attempt-1/stdout.txt",
            Place(kind=FileKind.ARTIFACT, trial=TRIAL, name="sessions/1/attempt-1/stdout.txt"),
        ),
        (amendment_path(TRIAL, ID), Place(kind=FileKind.AMENDMENT, trial=TRIAL, id=ID)),
        (
            f"{TRIAL}/{regraded_grade(ID, 'checks')}",
            Place(kind=FileKind.REGRADED_GRADE, trial=TRIAL, id=ID, name="checks"),
        ),
        (f"{TRIAL}/reviews/ann.yaml", Place(kind=FileKind.REVIEW, trial=TRIAL, name="ann")),
        (
            "reviews/ann/0123456789ab.yaml",
            Place(kind=FileKind.PACKET_REVIEW, id="0123456789ab", name="ann"),
        ),
        (
            f"{TRIAL}/reconciliations/20261130T151526Z-3f9c2d.yaml",
            Place(kind=FileKind.RECONCILIATION, trial=TRIAL, id="20261130T151526Z-3f9c2d"),
        ),
        (regrade_path(ID), Place(kind=FileKind.REGRADE, id=ID)),
        (incident_path(ID), Place(kind=FileKind.INCIDENT, id=ID)),
        (closing_path(ID, "0123ab"), Place(kind=FileKind.INCIDENT_CLOSING, id=ID)),
        (
            f"{generation_folder(ID)}/report.md",
            Place(kind=FileKind.RESULTS, id=ID, name="report.md"),
        ),
        (f"{generation_folder(ID)}/generation.json", Place(kind=FileKind.GENERATION, id=ID)),
    ],
)
def test_every_path_of_a_run_is_known_by_what_it_is(path: str, place: Place) -> None:
    assert place_of(path) == place


@pytest.mark.parametrize(
    "path",
    [
        "",
        "README.md",
        "plan.json/x",
        f"{TRIAL}/amendments/1.json",
        f"{TRIAL}/amendments/{ID}.json.txt",
        f"{TRIAL}/amendments/{ID}/more.json",
        f"{TRIAL}/regrades/{ID}/checks/more.json",
        f"{TRIAL}/reviews/a/b.yaml",
        f"{TRIAL}/reconciliations/x.yaml",
        "reviews/Ann/0123456789ab.yaml",
        "reviews/ann/0123456789abc.yaml",
        "reviews/ann.yaml",
        "negative-amount/current/r0/trial.json",
        "negative-amount/r2/trial.json",
        f"incidents/{ID}.closed.yaml",
        f"incidents/{ID}/x.yaml",
        f"results/{ID}/other.txt",
        "results/2/results.csv",
        "plan.json\n",
    ],
)
def test_nothing_else_is_taken_for_a_file_of_ours(path: str) -> None:
    assert place_of(path) is None


def test_a_trials_folder_says_repetition_and_rerun() -> None:
    assert rerun_of("r2") == (2, 0)
    assert rerun_of("r12.rerun3") == (12, 3)
    assert rerun_of("r0") is None
    assert rerun_of("r1.rerun0") is None
    assert rerun_of("x") is None
