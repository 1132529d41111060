from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from hmac import new
from pathlib import Path

import pytest
from tests.recorded import a_grade, a_trial
from tests.review.desk import (
    MODELS,
    RUN,
    YAK,
    ZEBRA,
    a_desk,
    judgement,
    reviewed_ledger,
    reviewed_plan,
)

from trialbook.model.change import ChangeRecord
from trialbook.model.grade import GradeSummary
from trialbook.model.outcome import Outcome
from trialbook.model.packets import Packets
from trialbook.model.plan import Plan
from trialbook.model.trial import Trial

SHA = "ab" * 32


def many(plan: Plan, count: int = 40) -> tuple[Trial, ...]:
    """Trials whose checks pass; of every fourth, they do not."""
    found = []
    slot = plan.schedule[0].key
    for number in range(1, count + 1):
        accepted = number % 4 != 0
        summary = GradeSummary(
            grader="checks", status="graded", accepted=accepted, passed=1, total=1, sha256=SHA
        )
        outcome = Outcome.NEEDS_REVIEW if accepted else Outcome.REJECTED
        change = ChangeRecord(tree="1" * 40, patch_sha256=SHA, files=1, insertions=1, deletions=0)
        trial = a_trial(plan, slot, outcome, grades=(summary,), change=change, repetition=number)
        found.append(trial)
    return tuple(found)


def packets(**changes: object) -> Packets:
    plan = reviewed_plan(**changes)
    known = {
        name: replace(task, controls=("reference", "near-miss:half"))
        for name, task in plan.tasks.items()
    }
    plan = replace(plan, tasks=known)
    return Packets(plan=plan, plan_sha256=SHA, trials=many(plan))


def test_a_packets_name_is_the_hash_that_the_docs_name() -> None:
    found = packets().of("ann")[0]
    key, text = bytes.fromhex(SHA), f"{RUN.path}/{found.item.trial}\x1fann"
    assert found.id == new(key, text.encode(), sha256).hexdigest()[:12]


def test_what_the_checks_rule_out_is_not_reviewed_unless_all_are() -> None:
    assert len(packets().of("ann")) == 30
    assert len(packets(reviewed="all").of("ann")) == 40


def test_a_plan_that_nobody_could_have_made_breaks_nothing() -> None:
    odd = packets(repeats=1e308, controls=-1.0)
    assert odd.most_repeats() == 40
    odd = replace(odd, plan=replace(odd.plan, accept="(checks and"))
    assert odd.of("ann") == ()
    assert len(odd.every("ann")) == 2 * 40 + 4


def test_what_is_no_judgement_of_graders_is_never_reviewed() -> None:
    all_ = packets()
    trials = tuple(replace(one, outcome=Outcome.PROVIDER_OUTAGE) for one in all_.trials)
    assert replace(all_, trials=trials).of("ann") == ()


def test_controls_and_repeats_are_mixed_in_by_their_shares() -> None:
    found = packets(controls=0.1, repeats=0.1).of("ann")
    assert sum(bool(one.item.control) for one in found) == 3
    assert sum(one.repeat for one in found) == 3
    assert len({one.id for one in found}) == 36
    assert {one.item.known_good for one in found} == {None, True, False} - (
        {False} if all(one.item.control in ("", "reference") for one in found) else set()
    ) - ({True} if all(one.item.control != "reference" for one in found) else set())


def test_a_small_share_of_few_trials_is_still_one() -> None:
    few = packets(controls=0.01, repeats=0.01)
    found = few.of("ann")
    assert sum(bool(one.item.control) for one in found) == 1
    assert sum(one.repeat for one in found) == 1


def test_reviewers_get_the_same_things_under_other_names_in_another_order() -> None:
    all_ = packets(controls=0.1)
    ann, bob = all_.of("ann"), all_.of("bob")
    assert {one.item for one in ann} == {one.item for one in bob}
    assert not {one.id for one in ann} & {one.id for one in bob}
    assert [one.item for one in ann] != [one.item for one in bob]
    assert [one.id for one in ann] == sorted(one.id for one in ann)


def test_every_packet_is_among_those_that_could_be() -> None:
    all_ = packets(controls=0.1, repeats=0.1)
    every = all_.every("ann")
    assert {one.id for one in all_.of("ann")} <= every.keys()


def everything(root: Path, reviewer: str) -> dict[str, str]:
    """All files of the reviewer's first packet."""
    opened = a_desk(root).next(reviewer)
    assert opened is not None
    return {path.name: path.read_text() for path in opened.draft.folder.iterdir()}


@pytest.mark.parametrize("reviewer", ["ann", "bob", "cy"])
def test_nothing_in_a_packet_tells_who_made_the_change(tmp_path: Path, reviewer: str) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    desk = a_desk(root)
    reviews = desk.reviews(RUN)
    secrets = [
        *(ZEBRA, YAK, *MODELS.values()),
        *("claude", "anthropic", "co-authored-by", "generated with", "noreply", "\U0001f916"),
        *(str(root), str(tmp_path), "create-user/", "rename-user/", "/r1"),
        *(f"{ZEBRA}-notes", "2.1.332"),
    ]
    seen = 0
    for packet in reviews.waiting(reviewer):
        for name, data in desk.packet_files(RUN, packet).items():
            text = data.decode().lower()
            for secret in secrets:
                assert secret.lower() not in text, (name, secret)
            seen += 1
    assert seen == 4 * 3


def test_a_packet_says_what_was_taken_out(tmp_path: Path) -> None:
    page = everything(reviewed_ledger(tmp_path / "ledger"), "ann")["packet.html"]
    assert "name of a configuration: 2" in page
    assert "name of a model: 1" in page
    assert "path of the ledger: 1" in page
    assert "trailer that names who wrote it: 2" in page


def test_a_packet_shows_only_the_checks_that_the_plan_allows(tmp_path: Path) -> None:
    with_ = everything(reviewed_ledger(tmp_path / "with"), "ann")["packet.html"]
    without = everything(reviewed_ledger(tmp_path / "without", shown=()), "ann")["packet.html"]
    assert "Is name needed so?" in with_
    assert "Is name needed so?" not in without


def test_the_page_of_a_packet_loads_nothing_and_runs_nothing(tmp_path: Path) -> None:
    page = everything(reviewed_ledger(tmp_path / "ledger"), "ann")["packet.html"]
    assert "default-src 'none'; style-src 'sha256-" in page
    for word in ("<script", " src=", "<link", "url(", "onerror", "http://"):
        assert word not in page, word


def test_the_share_of_a_judgement_is_part_of_the_plan() -> None:
    assert judgement(controls=0.5).controls == 0.5
    assert a_grade({"x": True}).accepted
