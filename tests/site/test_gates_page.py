from __future__ import annotations

from pathlib import Path

import pytest
from tests.recorded import fixed_system
from tests.site.conftest import build
from tests.site.grown import BOTH, SUITE, grown_ledger, name, record

from trialbook.model.alarm import AlarmKind
from trialbook.model.rule import RuleKind
from trialbook.reporting.findings import findings
from trialbook.storage.reader import Reader
from trialbook.workflow.alarming import AlarmRequest, tell_alarm
from trialbook.workflow.resolving import ResolveRequest, resolve


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a ledger that grew; every link of it leads somewhere."""
    folder = tmp_path_factory.mktemp("grown")
    summary = build(grown_ledger(folder / "ledger"), folder / "site")
    assert summary.problems == ()
    return folder / "site"


def row(text: str, anchor: str) -> str:
    start = text.index(f'<tr id="{anchor}"')
    return text[start : text.index("</tr>", start)]


def test_every_gate_has_a_row_with_its_sides_and_what_it_said(grown: Path) -> None:
    text = (grown / "gates.html").read_text()
    assert text.count('<tr id="gate-') == 3
    failed = row(text, f"gate-{SUITE}-{name(0)}")
    assert "the score fell" in failed
    assert "suites/instruction-drift/configurations/candidate.html" in failed
    assert "false alarm" in failed
    assert "twenty &lt;b&gt;more&lt;/b&gt; trials pass" in failed
    twice = row(text, f"gate-{SUITE}-{name(2)}")
    assert "2 stages" in twice
    assert "36 trials" in twice
    assert "not looked into" in row(text, f"gate-{SUITE}-{name(3)}")


def test_the_rate_of_false_alarms_has_counts_and_an_interval(grown: Path) -> None:
    text = (grown / "gates.html").read_text()
    assert "1/3 (33.3 %)" in text
    assert "0.8 % to 90.6 %" in text


def test_a_suite_says_what_is_open_and_which_held_out_tasks_were_opened(grown: Path) -> None:
    text = (grown / f"suites/{SUITE}/index.html").read_text()
    assert "A gate failed, and nobody has said if it was right" in text
    assert f"trialbook alarm {name(3)} false|real" in text
    opened = text[text.index('id="held-out"') :]
    assert f"runs/{SUITE}/{name(4)}/index.html" in opened
    assert 'title="rename-user"' in opened
    assert "decision" in opened
    assert "configurations/candidate.html" in text


def test_a_run_of_a_gate_says_so_and_how_to_ask_again(grown: Path) -> None:
    text = (grown / f"runs/{SUITE}/{name(2)}/index.html").read_text()
    assert f"trialbook gate {name(1)} {name(2)}" in text
    assert 'href="../../../gates.html"' in text
    other = (grown / f"runs/{SUITE}/{name(4)}/index.html").read_text()
    assert "trialbook gate" not in other
    assert "for a decision" in other


def test_a_configuration_that_changed_under_one_name_is_shown_as_it_was(grown: Path) -> None:
    text = (grown / f"suites/{SUITE}/configurations/candidate.html").read_text()
    versions = text[text.index('id="versions"') :]
    assert [f'id="version-{number}"' in versions for number in (1, 2, 3, 4)] == [
        True,
        True,
        True,
        False,
    ]
    second = versions[versions.index('id="version-2"') :]
    assert "<td>m1</td><td>m2</td>" in second
    assert "differences to its neighbours" in text.lower()


def test_findings_rules_and_rubrics_lead_to_each_other(grown: Path) -> None:
    index = (grown / "findings/index.html").read_text()
    assert 'href="../rubrics/merge/v1.html"' in index
    assert "Became rules" in index
    pages = [path for path in (grown / "findings").glob("*.html") if path.name != "index.html"]
    assert len(pages) == 4
    [ruled] = [path for path in pages if "since the rule" in path.read_text()]
    text = ruled.read_text()
    assert f'href="../runs/{SUITE}/{name(0)}/' in text
    assert "Ann &lt;a@x&gt;" in text
    assert f'href="{ruled.name}"' in index


def test_runs_have_every_trial_in_the_order_planned(grown: Path) -> None:
    text = (grown / f"runs/{SUITE}/{name(0)}/trials.html").read_text()
    assert text.count('<tr>\n      <th scope="row"') == 18
    assert "seed 20261130" in text


def pages_of(site: Path) -> dict[str, bytes]:
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file() and not path.relative_to(site).parts[0].startswith(".")
    }


@pytest.mark.slow
def test_what_is_kept_is_what_a_new_site_would_have(tmp_path: Path) -> None:
    root = grown_ledger(tmp_path / "ledger")
    build(root, tmp_path / "kept")
    because = "the log shows it"
    run = name(3)
    tell_alarm(
        root,
        fixed_system(),
        AlarmRequest(run=run, kind=AlarmKind.REAL, because=because, author="Ann <a@x>"),
    )
    for group in findings(Reader.open(root)).groups[1:2]:
        link = "rubrics/merge/v1.md"
        wish = ResolveRequest(group=group.id, kind=RuleKind.HOOK, link=link, author="Ann <a@x>")
        resolve(root, fixed_system(), wish)
    record(root, 5, BOTH, model="m3")
    build(root, tmp_path / "kept")
    build(root, tmp_path / "new")
    assert pages_of(tmp_path / "kept") == pages_of(tmp_path / "new")
    assert because in (tmp_path / "kept/gates.html").read_text()
