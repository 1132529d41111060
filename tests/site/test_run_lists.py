from __future__ import annotations

from dataclasses import replace

from tests.recorded import (
    HOSTILE,
    a_bundle,
    a_configuration,
    a_plan,
    a_trial,
    drift_run,
    mixed_run,
    results_of,
)

from trialbook.model.outcome import Outcome
from trialbook.model.plan import SlotKey
from trialbook.model.rule import About, Rule, RuleKind
from trialbook.model.suite import Limits, Network
from trialbook.reporting.findings import Group
from trialbook.reporting.results import RunResults
from trialbook.site.findings_page import with_pages
from trialbook.site.instruction_texts import text_differences
from trialbook.site.run_numbers import enforced_figure, kinds_figure
from trialbook.site.run_page import page_of_run
from trialbook.site.run_schedule import happened, schedule_pages
from trialbook.site.setup_facts import differing, setup_facts, told_facts
from trialbook.storage.reader import RunRef


def rows(results: RunResults) -> list[dict[str, object]]:
    ref = RunRef(results.plan.suite, results.plan.run)
    pages = schedule_pages(ref, results, results.summary)
    return [row for page in pages for row in page.context["rows"]]


def test_every_slot_stands_in_the_order_planned_with_all_its_trials() -> None:
    results = results_of(*mixed_run())
    found = rows(results)
    assert len(found) == 13
    planned = [slot.key.path for slot in results.plan.schedule]
    assert list(dict.fromkeys(str(row["path"]).removesuffix(".rerun1") for row in found)) == planned
    again = [row for row in found if row["task"] == "negative-amount" and row["repetition"] == 2]
    mine = [row["code"] for row in again if row["configuration"] == "current"]
    assert mine == ["environment_failure", "accepted"]
    never = [row for row in found if not row["page"]]
    assert [row["rank"] for row in never] == ["", ""]


def test_how_it_happened_has_order_times_and_what_ran_side_by_side() -> None:
    plan, bundles = drift_run()
    ordered = {slot.key.path: number for number, slot in enumerate(plan.schedule)}
    moved = []
    for bundle in bundles:
        number = ordered[bundle.record.path]
        turn = {0: 1, 1: 0}.get(number, number)
        moved.append(
            replace(
                bundle,
                record=replace(
                    bundle.record,
                    started=f"2026-11-30T15:16:{2 * turn:02}.000Z",
                    finished=f"2026-11-30T15:16:{2 * turn + 3:02}.000Z",
                ),
            )
        )
    found = happened(results_of(plan, moved))
    assert found is not None
    assert (found.most, found.moved, found.slots) == (2, 2, 18)
    assert (found.whole, found.working) == (37.0, 54.0)
    assert happened(results_of(plan, [])) is None


def test_a_large_run_is_paged_and_its_page_stays_small() -> None:
    tasks = [f"task-{number:03}" for number in range(150)]
    plan = a_plan({"one": a_configuration(), "two": a_configuration()}, tasks, repetitions=1)
    trial = a_trial(plan, SlotKey("task-007", "one", 1), Outcome.ACCEPTED)
    results = results_of(plan, [a_bundle(trial)])
    ref = RunRef(plan.suite, plan.run)
    pages = list(schedule_pages(ref, results, results.summary))
    assert [len(page.context["rows"]) for page in pages] == [200, 100]
    assert pages[1].path.endswith("trials-page-2.html")
    context = page_of_run(ref, results, results.summary, closed=True).context
    assert len(context["matrix"]["rows"]) == 100
    assert context["matrix_more"].endswith("matrix.html")
    assert len(context["schedule"]) == 60
    assert context["slots"] == 300


def test_kinds_of_tasks_are_counted_in_both_views() -> None:
    plan, bundles = drift_run()
    odd = replace(plan.tasks["create-user"], category="large_change")
    results = results_of(replace(plan, tasks=plan.tasks | {"create-user": odd}), bundles)
    kinds = {part["name"]: part for part in kinds_figure(results)}
    assert set(kinds) == {"large change", "small-fix"}
    assert kinds["small-fix"]["configurations"][0]["scheduled"] == "6/6 (100.0 %)"
    assert kinds_figure(results_of(*drift_run())) == []


def test_what_agents_were_held_to_is_said_as_recorded() -> None:
    [baseline, _] = enforced_figure(results_of(*drift_run()))
    assert baseline["isolated"] == "0/9"
    assert baseline["network"] == "open: open"
    assert baseline["not_limits"] == "memory_mb"
    assert baseline["requests"] == "no proxy between"


def test_two_configurations_differ_field_by_field() -> None:
    one = setup_facts(a_configuration(model="m1", limits=Limits(minutes=5)))
    other = setup_facts(
        a_configuration(
            model="m2",
            limits=Limits(minutes=5),
            network=Network(mode="allow", allow=("a:443",), refused="violation"),
        )
    )
    assert differing(one, other) == [
        {"name": "Model", "one": "m1", "other": "m2"},
        {
            "name": "Network",
            "one": "open",
            "other": "allow: a:443; asking for others is a violation",
        },
    ]
    assert ["Model", "m1"] in told_facts(one)
    assert "Reference" not in dict(told_facts(one))


def test_instruction_files_differ_line_by_line_as_far_as_their_texts_are_known() -> None:
    old, new = b"a\nb\n" + HOSTILE.encode(), b"a\nc\n" + HOSTILE.encode()
    found = text_differences(
        {"A.md": old, "B.md": None, "same": b""},
        {"A.md": new, "C.md": b"new\n", "same": b""},
        {"A.md": ("1", "x"), "B.md": ("2", ""), "same": ("3", "x")},
        {"A.md": ("4", "y"), "C.md": ("5", "y"), "same": ("3", "x")},
    )
    assert [(one["place"], one["how"]) for one in found] == [
        ("A.md", "both"),
        ("B.md", "first"),
        ("C.md", "second"),
    ]
    told = [(line["tone"], line["text"]) for line in found[0]["lines"]]
    assert ("minus", "-b") in told
    assert ("plus", "+c") in told
    assert found[1]["lines"] is None
    assert [line["text"] for line in found[2]["lines"]][1:] == ["+new"]


def test_of_very_many_findings_the_most_frequent_and_those_that_became_rules_have_pages() -> None:
    about = About(source="remark", item="", place="a.py", text="x")
    rule = Rule(
        id="20261130T151526Z-3f9c2d",
        created="2026-11-30T15:15:26.000Z",
        author="a",
        trialbook="0.1.0",
        group="g399",
        about=about,
        kind=RuleKind.HOOK,
        link="https://a.example/",
        commit="",
    )
    groups = [
        Group(id=f"g{n:03}", about=about, sightings=(), rules=(rule,) if n == 399 else ())
        for n in range(400)
    ]
    found = with_pages(groups)
    assert len(found) == 301
    assert {"g000", "g299", "g399"} <= found
