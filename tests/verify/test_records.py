"""Ledgers with an honest history whose records do not agree with each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.recorded import a_grade
from tests.verify.book import BASE, BROKEN, PATCH, Book, Bundles, changed

from trialbook.formats.records import from_json, to_json
from trialbook.model.digest import sha256
from trialbook.model.evidence import Sighting, SightingSeverity
from trialbook.model.grade import Grade, GradeStatus
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan, SlotKey
from trialbook.model.trial import Attempt, ProcessEvidence, Trial, TrialBundle

GOOD = "large/new/r1"
RERUN = BROKEN.trial_path(1)

Cook = Callable[..., Book]


def on(path: str, **fields: Any) -> Callable[[Bundles], Bundles]:
    return changed(path, lambda trial: replace(trial, **fields))


def deep(path: str, part: str, **fields: Any) -> Callable[[Bundles], Bundles]:
    def change(trial: Trial) -> Trial:
        return replace(trial, **{part: replace(getattr(trial, part), **fields)})

    return changed(path, change)


def without(path: str) -> Callable[[Bundles], Bundles]:
    return lambda bundles: [bundle for bundle in bundles if bundle.record.path != path]


def moved(old: str, new: str) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    def step(files: dict[str, bytes]) -> dict[str, bytes]:
        return {path.replace(f"/{old}/", f"/{new}/"): data for path, data in files.items()}

    return step


def regraded(path: str, grade: Grade, **fields: Any) -> Callable[[Bundles], Bundles]:
    """A trial with another grade, and a record that says so."""

    def step(bundles: Bundles) -> Bundles:
        found = []
        for bundle in bundles:
            if bundle.record.path != path:
                found.append(bundle)
                continue
            name = f"grades/{grade.grader}.json"
            data = to_json(grade)
            use = replace(
                bundle.record.grades[0],
                status=grade.status.value,
                accepted=grade.accepted,
                passed=grade.passed,
                total=grade.total,
                sha256=sha256(data),
            )
            artifacts = bundle.record.artifacts | {name: sha256(data)}
            record = replace(bundle.record, grades=(use,), artifacts=artifacts, **fields)
            found.append(TrialBundle(record=record, files=bundle.files | {name: data}))
        return found

    return step


def file_of(path: str, change: Callable[[bytes], bytes | None]) -> Callable[..., dict[str, bytes]]:
    """One file of one trial with other bytes (None: left out)."""

    def step(files: dict[str, bytes]) -> dict[str, bytes]:
        name = f"{BASE}/{path}"
        if name not in files:
            return files
        new = change(files[name])
        rest = {key: data for key, data in files.items() if key != name}
        return rest if new is None else rest | {name: new}

    return step


FAILED = a_grade({}, status=GradeStatus.FAILED, accepted=None, message="crashed")
BROKEN_RULES = a_grade({}, status=GradeStatus.VIOLATION, accepted=None, message="tampered")
TIMED_OUT = ProcessEvidence(
    ended="timed_out",
    exit_code=None,
    signal=9,
    seconds=60.0,
    leftover_processes=0,
    stdout_bytes=0,
    stderr_bytes=0,
    output_cut=False,
)

FAULTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "another suite's plan": (
        {"plan": lambda plan: replace(plan, run="20261130T000000Z-000000")},
        {"plan-misplaced"},
    ),
    "a schedule of one's own": (
        {"plan": lambda plan: replace(plan, schedule=plan.schedule[::-1])},
        {"schedule-differs"},
    ),
    "a slot that no seed gave": (
        {"plan": lambda plan: replace(plan, repetitions=1)},
        {"schedule-differs"},
    ),
    "a method of scheduling that nobody knows": (
        {"plan": lambda plan: replace(plan, schedule_method="by-hand/v1")},
        {"schedule-differs"},
    ),
    "a digest of the suite that is not its files'": (
        {"plan": lambda plan: replace(plan, suite_digest="0" * 64)},
        {"suite-digest-differs"},
    ),
    "a digest of a task that is not its files'": (
        {
            "plan": lambda plan: replace(
                plan, tasks=plan.tasks | {"small": replace(plan.tasks["small"], digest="0" * 64)}
            )
        },
        {"suite-digest-differs"},
    ),
    "a plan that is said to be locked": (
        {"plan": lambda plan: replace(plan, status="locked")},
        {"lock-missing"},
    ),
    "a record of another plan": (
        {"bundles": on(GOOD, plan_sha256="0" * 64)},
        {"plan-digest-wrong"},
    ),
    "a record of another plan's commit": (
        {"bundles": on(GOOD, plan_commit="0" * 40)},
        {"plan-commit-wrong"},
    ),
    "a record of another protocol": ({"bundles": on(GOOD, protocol=2)}, {"record-misplaced"}),
    "a record of another run": (
        {"bundles": on(GOOD, run="20261130T000000Z-000000")},
        {"record-misplaced"},
    ),
    "a record that is no JSON": (
        {"files": file_of(f"{GOOD}/trial.json", lambda _: b"not JSON"), "close": False},
        {"record-unreadable"},
    ),
    "a record with a word that no vocabulary has": (
        {
            "files": file_of(
                f"{GOOD}/trial.json", lambda data: data.replace(b'"accepted"', b'"splendid"', 1)
            ),
            "close": False,
        },
        {"record-unreadable"},
    ),
    "a record with another indent": (
        {"files": file_of(f"{GOOD}/trial.json", lambda data: data.replace(b"\n  ", b"\n "))},
        {"record-not-canonical"},
    ),
    "a record with a key that is none": (
        {
            "files": file_of(
                f"{GOOD}/trial.json", lambda data: data.replace(b"{\n", b'{\n  "more": 1,\n', 1)
            )
        },
        {"record-not-canonical"},
    ),
    "a record with a key twice": (
        {
            "files": file_of(
                f"{GOOD}/trial.json",
                lambda data: data.replace(b'"rerun": 0', b'"rerun": 1,\n  "rerun": 0', 1),
            )
        },
        {"record-not-canonical"},
    ),
    "a trial without its record": (
        {"files": file_of(f"{GOOD}/trial.json", lambda _: None)},
        {"record-missing"},
    ),
    "an artifact that is not listed": (
        {"files": lambda files: files | {_beside(files, "more.txt"): b"more\n"}},
        {"file-unlisted"},
    ),
    "an artifact that is not there": (
        {"files": file_of(f"{GOOD}/sessions/1/attempt-1/stdout.txt", lambda _: None)},
        {"artifact-missing"},
    ),
    "an artifact with other bytes": (
        {"files": file_of(f"{GOOD}/sessions/1/attempt-1/stdout.txt", lambda _: b"other\n")},
        {"artifact-differs"},
    ),
    "a grade that its record does not know": (
        {"bundles": on(GOOD, grades=(), outcome=Outcome.AGENT_ERROR)},
        {"grade-differs"},
    ),
    "a grade with other counts than its record": (
        {
            "bundles": changed(
                GOOD, lambda t: replace(t, grades=(replace(t.grades[0], passed=1, total=1),))
            )
        },
        {"grade-differs"},
    ),
    "a patch that its record does not know": (
        {"bundles": on(GOOD, change=None)},
        {"patch-differs"},
    ),
    "a patch with another digest than its record": (
        {"bundles": deep(GOOD, "change", patch_sha256="0" * 64)},
        {"patch-differs"},
    ),
    "a patch that gives another tree": (
        {"bundles": deep(GOOD, "change", tree="0" * 40)},
        {"patch-tree-differs"},
    ),
    "another baseline than planned": (
        {"bundles": deep(GOOD, "workspace", source="folder elsewhere")},
        {"workspace-differs"},
    ),
    "accepted against its grades": (
        {"bundles": on("large/current/r1", outcome=Outcome.ACCEPTED)},
        {"outcome-differs"},
    ),
    "rejected against its grades": (
        {"bundles": on(GOOD, outcome=Outcome.REJECTED)},
        {"outcome-differs"},
    ),
    "excused against its grades": (
        {"bundles": on("large/current/r1", outcome=Outcome.ENVIRONMENT_FAILURE)},
        {"outcome-differs"},
    ),
    "accepted without a grade": (
        {"bundles": on(BROKEN.path, outcome=Outcome.ACCEPTED)},
        {"outcome-differs", "rerun-reason", "rerun-never"},
    ),
    "accepted although a grader failed": (
        {"bundles": regraded(GOOD, FAILED)},
        {"outcome-differs"},
    ),
    "accepted although a grader found the rules broken": (
        {"bundles": regraded(GOOD, BROKEN_RULES)},
        {"outcome-differs"},
    ),
    "accepted after the time was over": (
        {"bundles": on(GOOD, attempts=(Attempt(session=1, attempt=1, process=TIMED_OUT),))},
        {"outcome-differs"},
    ),
    "accepted without a change": (
        {"bundles": deep(GOOD, "change", files=0, insertions=0, deletions=0)},
        {"outcome-differs"},
    ),
    "no change with a change": (
        {"bundles": regraded(GOOD, a_grade({"a": True}), outcome=Outcome.NO_CHANGE)},
        {"outcome-differs"},
    ),
    "a slot that the plan does not have": (
        {
            "bundles": on(GOOD, task="medium"),
            "files": moved("large/new/r1", "medium/new/r1"),
        },
        {"slot-unplanned"},
    ),
    "a chain without its first trial": (
        {"bundles": without(BROKEN.path)},
        {"rerun-gap", "rerun-before-replaced"},
    ),
    "a rerun that replaces nothing": (
        {"bundles": on(RERUN, replaces=None)},
        {"rerun-link"},
    ),
    "a rerun that replaces another slot": (
        {"bundles": on(RERUN, replaces="small/new/r2")},
        {"rerun-link"},
    ),
    "a first trial that replaces one": (
        {"bundles": on(GOOD, replaces="small/new/r2", rerun_reason="cancelled")},
        {"rerun-link"},
    ),
    "a rerun for another reason than the outcome": (
        {"bundles": on(RERUN, rerun_reason="cancelled")},
        {"rerun-reason"},
    ),
    "a rerun of a valid execution": (
        {
            "bundles": lambda bundles: on(RERUN, rerun_reason="agent_error")(
                on(BROKEN.path, outcome=Outcome.AGENT_ERROR)(bundles)
            )
        },
        {"rerun-never"},
    ),
    "a rerun that the plan does not allow": (
        {"plan": lambda plan: replace(plan, rerun={})},
        {"rerun-beyond-policy"},
    ),
    "a rerun more than the plan allows": (
        {"plan": lambda plan: replace(plan, rerun={"environment_failure": 0})},
        {"rerun-beyond-policy"},
    ),
}


def _beside(files: dict[str, bytes], name: str) -> str:
    record = next(path for path in files if path.endswith("/trial.json"))
    return record.replace("trial.json", name)


@pytest.mark.parametrize("name", FAULTS)
def test_records_that_disagree_are_seen(cook: Cook, name: str) -> None:
    steps, codes = FAULTS[name]
    # Nothing was changed after it was committed: only what the records say is wrong.
    found = cook(**steps).verify().faults
    hidden = {"slot-hidden"} if name.startswith("a trial without") else set()
    assert {fault.code.value for fault in found} - hidden == codes


def test_one_repetition_less_is_another_schedule(cook: Cook) -> None:
    book = cook(plan=lambda plan: replace(plan, schedule=plan.schedule[:-1]))
    faults = book.verify().faults
    assert {fault.code.value for fault in faults} == {"schedule-differs"}
    assert "gives 8 slots, the plan has 7" in faults[0].detail


@pytest.mark.parametrize("accept", ["((", "", "checks and"])
def test_an_acceptance_expression_that_is_none_is_told(cook: Cook, accept: str) -> None:
    book = cook()
    plan = from_json(Plan, book.file(f"{BASE}/plan.json"), "plan")
    book.commit({f"{BASE}/plan.json": to_json(replace(plan, accept=accept))})
    told = [f.detail for f in book.verify().faults if f.code.value == "outcome-differs"]
    assert told
    assert "acceptance expression cannot be read" in told[0]


def test_a_plan_of_a_size_that_nobody_can_make_is_told(cook: Cook) -> None:
    book = cook()
    plan = from_json(Plan, book.file(f"{BASE}/plan.json"), "plan")
    book.commit({f"{BASE}/plan.json": to_json(replace(plan, repetitions=10**18))})
    assert "schedule-differs" in book.codes()


def honest(cook: Cook, **steps: Any) -> None:
    faults = cook(**steps).verify().faults
    assert faults == ()


def test_a_trial_that_was_cut_off_while_it_was_graded_is_no_fault(cook: Cook) -> None:
    honest(cook, bundles=regraded(GOOD, FAILED, outcome=Outcome.CANCELLED))


def test_a_grader_failure_follows_from_a_failed_grade(cook: Cook) -> None:
    honest(cook, bundles=regraded(GOOD, FAILED, outcome=Outcome.GRADER_FAILURE))


@pytest.mark.parametrize("lenient", [False, True])
def test_after_a_limit_the_plan_says_whether_a_pass_counts(cook: Cook, lenient: bool) -> None:
    outcome = Outcome.ACCEPTED if lenient else Outcome.AGENT_TIMEOUT
    honest(
        cook,
        plan=lambda plan: replace(plan, limits_are_failures=not lenient),
        bundles=on(
            GOOD,
            outcome=outcome,
            graded_anyway=True,
            attempts=(Attempt(session=1, attempt=1, process=TIMED_OUT),),
        ),
    )


def test_a_record_of_an_older_version_may_lack_what_came_later(cook: Cook) -> None:
    def older(data: bytes) -> bytes:
        assert b'  "incident": null,\n' in data
        return data.replace(b'  "incident": null,\n', b"")

    honest(cook, files=file_of(f"{GOOD}/trial.json", older))


def test_a_patch_that_was_redacted_is_not_checked_and_told(cook: Cook) -> None:
    book = cook(bundles=deep(GOOD, "change", redacted=True, tree="0" * 40))
    verdict = book.verify()
    assert verdict.holds
    assert [(entry.times, "taken out" in entry.reason) for entry in verdict.unchecked] == [
        (1, True)
    ]


def test_a_patch_whose_baseline_is_not_here_is_not_checked_and_told(cook: Cook) -> None:
    def elsewhere(plan: Plan) -> Plan:
        tasks = {name: replace(task, tree="1" * 40) for name, task in plan.tasks.items()}
        spaces = dict.fromkeys(tasks, "1" * 40)
        configurations = {
            name: replace(one, workspaces=spaces) for name, one in plan.configurations.items()
        }
        return replace(plan, tasks=tasks, configurations=configurations)

    def trials(bundles: Bundles) -> Bundles:
        found = []
        for bundle in bundles:
            space = bundle.record.workspace
            assert space is not None
            there = replace(space, snapshot_tree="1" * 40, baseline_tree="1" * 40)
            record = replace(bundle.record, workspace=there)
            found.append(TrialBundle(record=record, files=bundle.files))
        return found

    verdict = cook(plan=elsewhere, bundles=trials).verify()
    assert verdict.holds
    (entry,) = verdict.unchecked
    assert entry.times == 8
    assert "trialbook eval demo --dry-run" in entry.hint


def test_a_patch_that_does_not_apply_is_a_fault(cook: Cook) -> None:
    def other(bundles: Bundles) -> Bundles:
        found = []
        for bundle in bundles:
            if bundle.record.path == GOOD and bundle.record.change is not None:
                patch = PATCH.format(number=2).replace("-x = 1", "-x = 5").encode()
                change = replace(bundle.record.change, patch_sha256=sha256(patch))
                artifacts = bundle.record.artifacts | {"change.patch": sha256(patch)}
                record = replace(bundle.record, change=change, artifacts=artifacts)
                files = bundle.files | {"change.patch": patch}
                found.append(TrialBundle(record=record, files=files))
            else:
                found.append(bundle)
        return found

    (fault,) = cook(bundles=other).verify().faults
    assert fault.code.value == "patch-tree-differs"
    assert "does not apply" in fault.detail


def test_a_missing_slot_of_an_open_run_is_told_and_no_fault(cook: Cook) -> None:
    verdict = cook(bundles=without(GOOD), close=False).verify()
    assert verdict.holds
    assert any("is open; 1 of 8 slots have no trial" in note for note in verdict.notes)


def test_a_missing_slot_that_results_show_is_told_and_no_fault(cook: Cook) -> None:
    verdict = cook(bundles=without(GOOD)).verify()
    assert verdict.holds
    assert any("is closed; 1 of 8 slots have no trial" in note for note in verdict.notes)


def test_a_missing_slot_that_results_hide_is_a_fault(cook: Cook) -> None:
    book = cook(bundles=without(GOOD), close=False)
    made = book.derived()
    name = f"{BASE}/results.csv"
    lines = made[name].decode().splitlines(keepends=True)
    made[name] = "".join(line for line in lines if "not_run" not in line).encode()
    book.commit(made)
    assert book.codes() == {"slot-hidden", "results-differ"}


def test_results_that_say_more_than_the_records_are_a_fault(cook: Cook) -> None:
    book = cook(close=False)
    made = book.derived()
    name = f"{BASE}/report.md"
    made[name] = made[name].replace(b"4/8", b"8/8", 1) + b"."
    book.commit(made)
    (fault,) = book.verify().faults
    assert (fault.code.value, fault.path) == ("results-differ", name)


def test_results_are_held_against_the_records_of_their_own_commit(book: Book) -> None:
    """A rerun that is added to a closed run does not make its results wrong."""
    trial = SlotKey("small", "current", 2)
    path = f"{BASE}/{trial.trial_path(1)}"
    assert book.file(f"{path}/trial.json")
    assert book.codes() == set()


@pytest.mark.parametrize("only", ["results.csv", "report.md"])
def test_results_and_report_come_together(cook: Cook, only: str) -> None:
    book = cook(close=False)
    made = book.derived()
    first = {path: data for path, data in made.items() if path.endswith(only)}
    book.commit(first)
    assert "results-apart" in book.codes()


def test_trials_that_started_out_of_order_are_counted_and_no_fault(cook: Cook) -> None:
    def late(bundles: Bundles) -> Bundles:
        first = bundles[0].record.path
        return on(first, started="2026-11-30T23:00:00.000Z", finished="2026-11-30T23:01:00.000Z")(
            bundles
        )

    verdict = cook(bundles=late).verify()
    assert verdict.holds
    assert any("started after one planned later" in note for note in verdict.notes)


def test_a_plan_after_its_trial_is_a_fault(cook: Cook) -> None:
    book = cook()
    trial = {path: book.file(path) for path in book.paths(f"{BASE}/{GOOD}")}
    rest = {path: book.file(path) for path in book.paths() if path not in trial}
    book.move(book.git("rev-parse", "main~11"))
    early = book.commit(trial)
    book.commit(rest)
    faults = [fault for fault in book.verify().faults if fault.path == f"{BASE}/{GOOD}"]
    assert [(fault.code.value, fault.commit) for fault in faults] == [("plan-after-trial", early)]


def test_everything_in_one_commit_shows_no_order(cook: Cook) -> None:
    book = cook()
    everything = {path: book.file(path) for path in book.paths()}
    book.move(book.git("rev-parse", "main~11"))
    book.commit(everything)
    assert book.codes() == {"plan-after-trial", "plan-commit-wrong", "rerun-before-replaced"}


def test_a_rebased_run_names_commits_that_are_not_its_own(book: Book) -> None:
    book.git("checkout", "-q", "-f", "-b", "topic", "main")
    book.git("branch", "-q", "-f", "main", "main~11")
    book.branch = "refs/heads/main"
    book.commit({"other.txt": b"meanwhile\n"})
    book.git("rebase", "-q", "main")
    book.branch = "refs/heads/topic"
    assert book.codes() == {"plan-commit-wrong"}


def test_a_record_that_comes_after_its_artifacts_is_a_fault(book: Book) -> None:
    new = f"{BASE}/large/new/r1"
    files = {path: book.file(path) for path in book.paths(new)}
    book.move(book.git("rev-parse", "main~11"))
    head = book.head
    assert head
    plan = {path: b for path, b in files.items() if not path.endswith("trial.json")}
    book.commit(plan)
    late = book.commit(files)
    found = {(fault.code.value, fault.commit) for fault in book.verify().faults}
    assert ("trial-apart", late) in found


def test_a_folder_without_a_plan_is_a_fault(book: Book) -> None:
    book.commit({"runs/demo/other/small/new/r1/trial.json": b"{}\n"})
    assert "plan-missing" in book.codes()


FORGED = Sighting(
    kind="report_forged",
    severity=SightingSeverity.VIOLATION,
    detail="the result of a test is set to passed",
    path="conftest.py",
    line=2,
)


@pytest.mark.parametrize(
    ("sightings", "outcome", "codes"),
    [
        ((), Outcome.ACCEPTED, set()),
        ((replace(FORGED, severity=SightingSeverity.FLAG),), Outcome.ACCEPTED, set()),
        ((FORGED,), Outcome.POLICY_VIOLATION, set()),
        ((FORGED,), Outcome.ACCEPTED, {"outcome-differs"}),
        ((FORGED,), Outcome.REJECTED, {"outcome-differs"}),
        ((), Outcome.POLICY_VIOLATION, {"outcome-differs"}),
        (None, Outcome.POLICY_VIOLATION, {"outcome-differs"}),
    ],
)
def test_an_outcome_has_to_follow_from_what_was_seen(
    cook: Cook, sightings: tuple[Sighting, ...] | None, outcome: Outcome, codes: set[str]
) -> None:
    book = cook(bundles=on(GOOD, sightings=sightings, outcome=outcome))
    assert book.codes() == codes
