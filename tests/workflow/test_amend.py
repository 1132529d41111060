from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import git
from tests.recorded import a_bundle, mixed_run, new_ledger, record_run
from tests.workflow.corrected import RUN, a_system, files, mixed_ledger, reader

from trialbook.errors import UserError
from trialbook.model.amendment import Intervention, InterventionKind
from trialbook.model.digest import sha256
from trialbook.model.outcome import Outcome
from trialbook.storage.corrections import generations, standing
from trialbook.storage.reader import Reader
from trialbook.workflow.amend import AmendRequest, amend
from trialbook.workflow.results import regenerate

TIMED_OUT = "negative-amount/current/r3"
TRIAL = f"{RUN.run}/{TIMED_OUT}"
RESCUE = Intervention(kind=InterventionKind.RESCUE, minutes=20)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return mixed_ledger(tmp_path / "ledger", closed=True)


def test_an_amendment_is_a_file_more_and_its_trial_stays(root: Path) -> None:
    before = git(root, "rev-parse", f"HEAD:runs/{RUN.path}/{TIMED_OUT}/trial.json")
    done = amend(
        root,
        a_system(),
        AmendRequest(trial=TRIAL, reason="it looked it up", outcome=Outcome.POLICY_VIOLATION),
    )
    assert git(root, "rev-parse", f"HEAD:runs/{RUN.path}/{TIMED_OUT}/trial.json") == before
    (path,) = files(root, f"amendments/{done.amendment.id}.json")
    record = json.loads(git(root, "show", f"HEAD:runs/{RUN.path}/{path}"))
    assert record["outcome"] == {
        "was": "agent_timeout",
        "now": "policy_violation",
        "evidence": [],
    }
    assert record["author"] == "Test Person <test@example.invalid>"
    trial = git(root, "show", f"HEAD:runs/{RUN.path}/{TIMED_OUT}/trial.json")
    assert record["trial_sha256"] == sha256(trial.encode())
    assert git(root, "status", "--porcelain") == ""


def test_its_commit_can_be_scanned_and_searched(root: Path) -> None:
    done = amend(
        root, a_system(), AmendRequest(trial=TRIAL, reason="why\nAmends: forged", note="seen")
    )
    subject, _, body = git(root, "show", "-s", "--format=%B", done.commit).partition("\n")
    assert subject == f"amend {TIMED_OUT}: note"
    trailers = git(root, "show", "-s", "--format=%(trailers:key=Amends,valueonly)", done.commit)
    assert trailers.split() == [f"{RUN.path}/{TIMED_OUT}"]
    assert "why Amends: forged" in body


def test_a_closed_run_gets_results_beside_the_first_ones(root: Path) -> None:
    first = git(root, "rev-parse", f"HEAD:runs/{RUN.path}/results.csv")
    done = amend(
        root,
        a_system(),
        AmendRequest(trial=TRIAL, reason="because", outcome=Outcome.BUDGET_EXHAUSTED),
    )
    assert git(root, "rev-parse", f"HEAD:runs/{RUN.path}/results.csv") == first
    (generation,) = generations(reader(root), RUN)
    assert generation == done.generation
    assert generation.records == done.commit
    made = regenerate(Reader.open(root, generation.records), RUN)
    for name, data in made.items():
        assert reader(root).file(RUN, f"results/{generation.id}/{name}") == data
    assert b"budget_exhausted,yes,no" in made["results.csv"]
    assert b",agent_timeout,amendment," in made["results.csv"]


def test_an_open_run_gets_no_results_yet(tmp_path: Path) -> None:
    root = mixed_ledger(tmp_path / "ledger", closed=False)
    done = amend(root, a_system(), AmendRequest(trial=TRIAL, reason="because", note="x"))
    assert done.generation is None
    assert files(root, ".csv") == []


def test_a_valid_failure_is_not_talked_into_a_rerun(root: Path) -> None:
    request = AmendRequest(trial=TRIAL, reason="unlucky", outcome=Outcome.PROVIDER_OUTAGE)
    head = git(root, "rev-parse", "HEAD")
    for wrong in (request, replace(request, evidence=("",)), replace(request, evidence=(" \n",))):
        with pytest.raises(UserError, match="evidence"):
            amend(root, a_system(), wrong)
    assert git(root, "rev-parse", "HEAD") == head
    amend(root, a_system(), replace(request, evidence=("HTTP 529 in stderr.txt",)))
    now = standing(reader(root), RUN, TIMED_OUT)
    assert (now.record.outcome, now.trial.outcome) == (
        Outcome.AGENT_TIMEOUT,
        Outcome.PROVIDER_OUTAGE,
    )


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (AmendRequest(trial=TRIAL, reason="x"), "say nothing"),
        (AmendRequest(trial=TRIAL, reason=" \u200b ", note="x"), "reason is empty"),
        (AmendRequest(trial=TRIAL, reason="x", note="\n"), "note is empty"),
        (AmendRequest(trial=TRIAL, reason="x", author="", note="x"), "author is empty"),
        (AmendRequest(trial=TRIAL, reason="\udcff", note="x"), "empty|UTF-8"),
        (AmendRequest(trial=TRIAL, reason="x \udcff", note="x"), "UTF-8"),
        (AmendRequest(trial=TRIAL, reason="x", note="x", evidence=("e",)), "for an outcome"),
        (AmendRequest(trial=TRIAL, reason="x", outcome=Outcome.ACCEPTED), "only graders"),
        (AmendRequest(trial=TRIAL, reason="x", outcome=Outcome.AGENT_TIMEOUT), "already"),
        (AmendRequest(trial=RUN.run, reason="x", note="x"), "is a run"),
        (AmendRequest(trial=f"{RUN.run}/no/such/r1", reason="x", note="x"), "no trial"),
    ],
)
def test_what_cannot_be_said_is_refused_and_nothing_is_committed(
    root: Path, request_: AmendRequest, said: str
) -> None:
    head = git(root, "rev-parse", "HEAD")
    with pytest.raises(UserError, match=said):
        amend(root, a_system(), request_)
    assert git(root, "rev-parse", "HEAD") == head


def test_nobody_amends_anonymously(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = root / "nobody"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(UserError, match="nobody is named"):
        amend(root, a_system(), AmendRequest(trial=TRIAL, reason="x", note="x"))
    done = amend(root, a_system(), AmendRequest(trial=TRIAL, reason="x", note="x", author="Ann"))
    assert done.amendment.author == "Ann"


def test_a_rescue_is_counted_and_leaves_the_outcome_where_people_may_take_part(root: Path) -> None:
    request = AmendRequest(trial=TRIAL, reason="stuck", interventions=(RESCUE,))
    assert amend(root, a_system(), request).amendment.outcome is None
    now = standing(reader(root), RUN, TIMED_OUT)
    assert now.rescued
    assert not now.changed


def test_a_rescue_of_an_unattended_configuration_is_a_policy_violation(tmp_path: Path) -> None:
    plan, bundles = mixed_run()
    alone = replace(plan.configurations["current"], approval="deny")
    plan = replace(plan, configurations=plan.configurations | {"current": alone})
    root = new_ledger(tmp_path / "ledger")
    record_run(root, plan, [a_bundle(bundles[0].record)])
    done = amend(
        root,
        a_system(),
        AmendRequest(
            trial=f"{RUN.run}/negative-amount/current/r1", reason="x", interventions=(RESCUE,)
        ),
    )
    assert done.amendment.outcome is not None
    assert done.amendment.outcome.now is Outcome.POLICY_VIOLATION
    assert "assisted" in done.amendment.outcome.evidence[0]


def test_a_second_amendment_starts_from_what_the_first_one_said(root: Path) -> None:
    system = a_system()
    amend(root, system, AmendRequest(trial=TRIAL, reason="x", outcome=Outcome.AGENT_ERROR))
    done = amend(root, system, AmendRequest(trial=TRIAL, reason="y", outcome=Outcome.NO_CHANGE))
    assert done.amendment.outcome is not None
    assert done.amendment.outcome.was is Outcome.AGENT_ERROR
    assert standing(reader(root), RUN, TIMED_OUT).trial.outcome is Outcome.NO_CHANGE


def test_two_clones_that_correct_the_same_trial_merge_without_a_conflict(
    root: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(root), str(other))
    for place, name in ((root, "Ann"), (other, "Bea")):
        request = AmendRequest(trial=TRIAL, reason="seen", author=name, note=name)
        amend(place, a_system(), request)
    git(root, "pull", "-q", "--no-rebase", "--no-edit", str(other), "main")
    now = standing(reader(root), RUN, TIMED_OUT)
    assert {one.author for one in now.amendments} == {"Ann", "Bea"}
    assert len(generations(reader(root), RUN)) == 2
    amend(root, a_system(), AmendRequest(trial=TRIAL, reason="x", note="x"))
    newest = generations(reader(root), RUN)
    assert len(newest) == 3
