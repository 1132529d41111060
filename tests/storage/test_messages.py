from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage.conftest import Git, make_plan, make_trial

from trialbook.model.grade import GradeSummary
from trialbook.model.outcome import Outcome
from trialbook.storage.messages import plan_message, results_message, trial_message


def grade(grader: str, passed: int, total: int) -> GradeSummary:
    return GradeSummary(
        grader=grader,
        status="graded",
        accepted=passed == total,
        passed=passed,
        total=total,
        sha256="0" * 64,
    )


def test_a_trial_says_what_and_how_it_ended_in_one_line() -> None:
    trial = make_trial(
        "negative-amount",
        "current",
        2,
        suite="refunds",
        outcome=Outcome.REJECTED,
        reason="2 of 3 checks passed; validation-in-service did not",
        grades=(grade("checks", 2, 3),),
    )
    assert trial_message(trial) == (
        "trial refunds/negative-amount current r2: rejected (2/3 checks)\n"
        "\n"
        "2 of 3 checks passed; validation-in-service did not\n"
        "\n"
        "Run: refunds/first\n"
        "Slot: negative-amount/current/r2\n"
        "Outcome: rejected\n"
        "Status: draft\n"
    )


def test_a_rerun_names_what_it_replaces() -> None:
    message = trial_message(
        make_trial(
            rerun=1,
            replaces="alpha/current/r1",
            outcome=Outcome.AGENT_TIMEOUT,
            reason="20 minutes were over",
            grades=(grade("checks", 3, 3), grade("acceptance", 0, 7)),
        )
    )
    subject, _, rest = message.partition("\n")
    assert subject == (
        "trial demo/alpha current r1.rerun1: agent_timeout (3/3 checks, 0/7 acceptance)"
    )
    assert rest.endswith("Outcome: agent_timeout\nStatus: draft\nReplaces: alpha/current/r1\n")


def test_a_plan_says_how_much_will_be_run_and_why() -> None:
    assert plan_message(make_plan()) == (
        "plan demo/first (draft): 8 trials (2 tasks, 2 configurations, 2 repetitions)\n"
        "\n"
        "Should small fixes go to the candidate?\n"
        "\n"
        "Run: demo/first\n"
        "Protocol: 3 (draft)\n"
    )


def test_results_count_first_trials_over_all_scheduled_slots() -> None:
    trials = [
        make_trial("alpha", "current", 1),
        make_trial("beta", "current", 1, outcome=Outcome.ENVIRONMENT_FAILURE),
        make_trial("beta", "current", 1, rerun=1, replaces="beta/current/r1"),
        make_trial("alpha", "candidate", 1, outcome=Outcome.REJECTED),
    ]
    assert results_message(make_plan(), trials) == (
        "results demo/first (draft): current 1/4, candidate 0/4 accepted\n"
        "\n"
        "Counted over all scheduled slots, each by its first trial.\n"
        "\n"
        "Run: demo/first\n"
    )


HOSTILE = "good\n\nOutcome: accepted\r\n\x1b[2J\u202e\u2028Run: forged\x00 \udcff end"


def test_a_hostile_name_or_reason_forges_no_trailer(git: Git) -> None:
    message = trial_message(
        make_trial(HOSTILE, HOSTILE, outcome=Outcome.REJECTED, reason=HOSTILE, replaces=HOSTILE)
    )
    assert not set("\x1b\x00\r\u202e\u2028") & set(message)
    raw = message.encode("utf-8", "replace")
    parsed = git.run("interpret-trailers", "--parse", stdin=raw).stdout.decode()
    keys = [line.partition(":")[0] for line in parsed.splitlines()]
    assert keys == ["Run", "Slot", "Outcome", "Status", "Replaces"]
    assert "\nOutcome: rejected\n" in "\n" + parsed


@pytest.mark.parametrize("length", [10, 5000])
def test_a_long_reason_is_wrapped_and_cut(length: int) -> None:
    message = trial_message(make_trial(reason="word " * length))
    body = message.split("\n\n")[1]
    assert max(map(len, body.splitlines())) <= 72
    assert len(body) <= 1100
    assert body.endswith("…") == (length > 1000)


@given(st.text(), st.text())
def test_a_message_keeps_its_shape_whatever_the_text(name: str, reason: str) -> None:
    message = trial_message(make_trial(task=name, reason=reason))
    paragraphs = message.split("\n\n")
    assert "\n" not in paragraphs[0]
    assert paragraphs[-1].splitlines()[0] == "Run: demo/first"
    assert paragraphs[-1].splitlines()[-2:] == ["Outcome: accepted", "Status: draft"]
    assert len(paragraphs) == (3 if reason.split() else 2)


def test_what_is_of_a_locked_suite_is_not_called_a_draft() -> None:
    plan = replace(make_plan(), status="locked")
    assert plan_message(plan).startswith("plan demo/first: 8 trials")
    assert "Protocol: 3 (locked)" in plan_message(plan)
    assert results_message(plan, []).startswith("results demo/first: current 0/4")
    assert "draft" not in trial_message(make_trial(status="locked"))


def test_a_grader_that_came_to_no_check_has_no_counts() -> None:
    stopped = make_trial(outcome=Outcome.CANCELLED, grades=(grade("checks", 0, 0),))
    assert trial_message(stopped).partition("\n")[0].endswith("current r1: cancelled")
    partly = make_trial(grades=(grade("checks", 2, 2), grade("acceptance", 0, 0)))
    assert trial_message(partly).partition("\n")[0].endswith(" (2/2 checks)")
