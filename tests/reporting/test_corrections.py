from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from tests.recorded import HOSTILE
from tests.workflow.corrected import RUN, a_system, mixed_ledger, reader

from trialbook.model.amendment import Intervention, InterventionKind
from trialbook.model.incident import Decision, IncidentKind
from trialbook.model.outcome import Outcome
from trialbook.registry import Registry
from trialbook.reporting.corrections import change_said, correction_counts, people_said
from trialbook.reporting.notices import notices
from trialbook.reporting.report import render_report
from trialbook.reporting.results import RunResults, load_results, results_csv
from trialbook.site.build import build_site
from trialbook.storage.corrections import standing
from trialbook.workflow.amend import AmendRequest, amend
from trialbook.workflow.incidents import (
    CloseRequest,
    OpenRequest,
    close_incident,
    open_incident,
)
from trialbook.workflow.results import newest_results, regenerate

ACCEPTED = "negative-amount/current/r1"
RERUN = "negative-amount/current/r2"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = mixed_ledger(tmp_path / "ledger", closed=True)
    system = a_system()
    amend(
        root,
        system,
        AmendRequest(
            trial=f"{RUN.run}/{ACCEPTED}",
            reason=HOSTILE.replace("\x00", ""),
            outcome=Outcome.POLICY_VIOLATION,
            evidence=("<img src=x onerror=alert(9)> | `x`",),
            note="[a](javascript:alert(1)) @everyone",
        ),
    )
    amend(
        root,
        system,
        AmendRequest(
            trial=f"{RUN.run}/{RERUN}.rerun1",
            reason="stuck",
            interventions=(
                Intervention(kind=InterventionKind.RESCUE, minutes=20),
                Intervention(kind=InterventionKind.CLARIFICATION, minutes=2.5),
            ),
        ),
    )
    return root


def results(root: Path) -> RunResults:
    return load_results(reader(root), RUN)


def test_counts_use_what_stands_and_name_what_was_recorded(root: Path) -> None:
    found = results(root)
    current = found.summary.configurations[0]
    assert current.counts.all_scheduled.accepted == 0
    assert current.counts.outcomes["policy_violation"] == 1
    now = standing(reader(root), RUN, ACCEPTED)
    assert change_said(now) == ("recorded as accepted, amended: counts as policy violation")
    assert people_said(standing(reader(root), RUN, f"{RERUN}.rerun1")) == (
        "rescue 20 min, clarification 2.5 min"
    )


def test_people_are_counted_by_configuration_and_accepted_without_them_apart(root: Path) -> None:
    current, reference = correction_counts(results(root))
    assert (current.amended, current.interventions, current.minutes) == (1, 2, 22.5)
    assert current.rescued == 1
    assert not reference.anything
    assert reference.alone == results(root).summary.configurations[1].counts.all_scheduled


def test_rows_have_both_outcomes(root: Path) -> None:
    found = results(root)
    text = results_csv(found.plan, found.standings.values()).decode()
    rows = {row["trial"]: row for row in csv.DictReader(io.StringIO(text))}
    amended = rows[ACCEPTED]
    assert (amended["outcome"], amended["recorded_outcome"]) == ("policy_violation", "accepted")
    assert (amended["corrected_by"], amended["accepted"]) == ("amendment", "no")
    helped = rows[f"{RERUN}.rerun1"]
    assert (helped["interventions"], helped["intervention_minutes"]) == ("2", "22.5")
    assert (helped["rescued"], helped["corrected_by"]) == ("yes", "")


def test_the_report_tells_all_of_it_and_hostile_text_does_nothing(root: Path) -> None:
    text = render_report(results(root)).decode()
    assert "## Corrections" in text
    assert "recorded as accepted, amended: counts as policy violation" in text
    assert "P*" in text
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(text)
    for active in ("<script", "<img", "\x1b", "\u202e"):
        assert active not in html
    # Nothing of what was said has become a link: those there are lead to trials beside the report.
    assert html.count("<a ") == html.count('<a href="./') > 0


def test_what_a_reader_must_know_is_said_before_any_number(root: Path) -> None:
    def codes() -> set[str]:
        return {notice.code for notice in notices(results(root))}

    assert {"amended", "rescued"} <= codes()
    opened = open_incident(
        root,
        a_system(),
        OpenRequest(where=RUN.run, kind=IncidentKind.LEAK, reason="x", began="2026-11-30T15:00Z"),
    )
    assert "incident_open" in codes()
    close_incident(
        root,
        a_system(),
        CloseRequest(incident=opened.id, decision=Decision.INVALIDATE, reason="leaked"),
    )
    assert "invalidated" in codes()
    assert notices(results(root))[0].code == "invalidated"


def test_every_generation_of_results_is_what_the_records_gave_then(root: Path) -> None:
    now = reader(root)
    folder = newest_results(now, RUN)
    assert folder
    for name, data in regenerate(now, RUN).items():
        assert now.file(RUN, f"{folder}/{name}") == data


def test_the_site_shows_both_and_hostile_text_does_nothing(root: Path, tmp_path: Path) -> None:
    open_incident(
        root,
        a_system(),
        OpenRequest(
            where=RUN.run,
            kind=IncidentKind.HOST,
            reason="<script>alert(5)</script> \u202e {{ 7*7 }}",
            evidence=("javascript:alert(6)",),
        ),
    )
    built = build_site(root, reader(root), tmp_path / "site", registry=Registry())
    assert built.problems == ()
    base = tmp_path / "site" / "runs" / RUN.path
    trial = (base / f"{ACCEPTED}.html").read_text()
    assert "recorded as accepted, amended: counts as policy violation" in trial
    page = (base / "index.html").read_text()
    for text in (trial, page):
        assert text.count("<script") == text.count('<script src="../') > 0
        assert "<img src=x" not in text
        assert 'href="javascript:' not in text
        assert "\u202e" not in text
    assert "Incident open" in page
    assert 'id="incidents"' in page
