from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.recorded import HOSTILE, drift_run, hostile_run, mixed_run, results_of

from trialbook.model.client import Claim, ClaimKind, Denial, Trouble
from trialbook.model.plan import Plan
from trialbook.model.trial import TrialBundle
from trialbook.reporting.trial_facts import trial_facts
from trialbook.site.run_page import page_of_run
from trialbook.site.trial.files import TrialFiles, trajectories_of
from trialbook.site.trial.page import pages_of_trial
from trialbook.storage.reader import RunRef

Recorded = tuple[Plan, list[TrialBundle]]


def run_context(recorded: Recorded) -> Mapping[str, Any]:
    plan, bundles = recorded
    results = results_of(plan, bundles)
    ref = RunRef(plan.suite, plan.run)
    return page_of_run(ref, results, results.summary, closed=True).context


def trial_context(recorded: Recorded, path: str) -> Mapping[str, Any]:
    plan, bundles = recorded
    results = results_of(plan, bundles)
    [bundle] = [bundle for bundle in bundles if bundle.record.path == path]
    trajectories = {n: d for n, d in bundle.files.items() if n.endswith("/trajectory.json")}
    files = TrialFiles(
        trial=bundle.record,
        facts=trial_facts(bundle.record, trajectories, bundle.files.get("change.patch")),
        grades=results.grades[path],
        patch=bundle.files.get("change.patch"),
        trajectories=trajectories_of(bundle.files),
        texts={n: d for n, d in bundle.files.items() if n.endswith((".txt", ".md"))},
    )
    ref = RunRef(plan.suite, plan.run)
    return next(pages_of_trial(ref, results.summary, files)).context


def test_a_run_shows_both_views_of_each_configuration() -> None:
    context = run_context(mixed_run())
    current = context["configurations"][0]["counts"]
    assert current["scheduled"] == "1/6 (16.7 %)"
    assert current["valid"] == "2/3 (66.7 %)"
    assert current["bounds"] == "2/6 to 5/6 (33.3 % to 83.3 %)"
    assert current["replacements"] == 1
    assert [part["tone"] for part in current["bar"]] == [
        "accepted",
        "pending",
        "failed",
        "errored",
        "absent",
    ]
    assert sum(part["slots"] for part in current["bar"]) == 6


def test_the_matrix_leads_from_each_slot_to_its_last_trial() -> None:
    context = run_context(mixed_run())
    rows = {row["task"]: row["groups"] for row in context["matrix"]["rows"]}
    cells = rows["negative-amount"][0]["cells"]
    assert [cell["letter"] for cell in cells] == ["A", "e", "T"]
    assert cells[1]["page"].endswith("/negative-amount/current/r2.rerun1.html")
    assert cells[1]["said"] == "environment failure, run again: accepted"
    assert rows["refund-twice"][0]["cells"][2]["page"] == ""


def test_checks_that_somebody_failed_stand_apart() -> None:
    checks = run_context(drift_run())["checks"]
    assert (len(checks["failed"]), len(checks["passed"]), checks["hidden"]) == (4, 5, 0)
    assert checks["failed"][0]["id"] == "service-uses-class"
    assert [count["said"] for count in checks["failed"][0]["passed"]] == ["3/3", "0/3"]


def test_a_finding_leads_to_its_line_in_the_change() -> None:
    context = trial_context(drift_run(), "create-user/candidate/r1")
    [finding] = context["grades"][0]["checks"][0]["evidence"]
    assert finding["target"].endswith("/create-user/candidate/r1.html#f1n3")
    [file] = context["diff"]["files"]
    assert 'id="f1n3"' in file["rows"]


def test_a_finding_elsewhere_leads_to_the_file_or_nowhere() -> None:
    context = trial_context(hostile_run(), "task/evil/r1")
    evidence = context["grades"][0]["checks"][0]["evidence"]
    assert [finding["target"].partition("#")[2] for finding in evidence] == ["", "f1n2"]


def test_a_trial_says_how_its_agent_worked_where_that_is_on_record() -> None:
    groups = trial_context(hostile_run(), "task/evil/r1")["facts"]
    assert [group["title"] for group in groups] == [
        "How the agent worked (session 1, attempt 1)",
        "How the agent worked (session 2, attempt 1)",
    ]
    rows = {row["name"]: row for row in groups[0]["facts"]}
    assert (rows["risky commands"]["value"], rows["risky commands"]["notable"]) == ("1", True)
    assert "not a trajectory record" in groups[1]["note"]
    groups = trial_context(drift_run(), "create-user/baseline/r1")["facts"]
    assert [group["title"] for group in groups] == ["The change"]


def test_a_trial_lists_the_others_of_its_slot_and_of_its_task() -> None:
    context = trial_context(mixed_run(), "negative-amount/current/r2.rerun1")
    assert [(entry["code"], entry["here"]) for entry in context["chain"]] == [
        ("environment_failure", False),
        ("accepted", True),
    ]
    names = [row["configuration"] for row in context["neighbours"]]
    assert names == ["current", "reference"]
    assert [cell["here"] for cell in context["neighbours"][0]["cells"]] == [False, True, False]


def test_prompt_and_output_are_text_without_styles() -> None:
    context = trial_context(drift_run(), "create-user/baseline/r1")
    assert [text["name"] for text in context["prompts"]] == ["prompt.md"]
    assert [(t["name"], t["empty"]) for t in context["logs"]] == [
        ("stdout.txt", False),
        ("stderr.txt", True),
    ]
    assert context["logs"][0]["text"]["head"] == "done: one file changed\n"


def test_what_is_not_known_of_usage_is_said_to_be_unknown() -> None:
    usage = {
        row["name"]: row["value"] for row in trial_context(hostile_run(), "task/evil/r1")["usage"]
    }
    assert "cost" in usage["not known"]
    mixed = trial_context(mixed_run(), "negative-amount/current/r1")["usage"]
    known = {row["name"]: row["value"] for row in mixed}
    assert known["cost"] == "$0.4200 (provider reported)"
    assert known["input tokens"] == "12,345"


def test_commands_survive_a_shell() -> None:
    context = trial_context(drift_run(), "create-user/baseline/r1")
    assert context["commands"][0] == (
        "git log --stat -- runs/instruction-drift/20261130-151526-3f9c/create-user/baseline/r1"
    )


def test_hostile_names_stay_plain_data() -> None:
    context = run_context(hostile_run())
    assert context["decision"] == HOSTILE


def test_what_an_agent_claims_stands_beside_what_was_not_permitted() -> None:
    plan, bundles = mixed_run()
    first = bundles[0]
    attempt = replace(
        first.record.attempts[0],
        end="outage",
        message="it gave up",
        trouble=Trouble.RATE_LIMIT,
        denied=(Denial(tool="Write", detail="/etc/passwd"),),
        claims=(Claim(kind=ClaimKind.PASSED, text="All tests pass."),),
    )
    record = replace(first.record, attempts=(attempt,))
    changed = (plan, [replace(first, record=record), *bundles[1:]])
    [shown] = trial_context(changed, record.path)["attempts"]
    assert [(row["name"], row["value"]) for row in shown["said"]] == [
        ("Ended", "outage: it gave up"),
        ("The model did not answer", "rate limit"),
        ("Not permitted", "Write /etc/passwd"),
        ("Says: tests passed", "All tests pass."),
    ]
