from __future__ import annotations

from dataclasses import replace

from tests.recorded import PATCH, a_grade

from trialbook.model.evidence import Sighting, SightingSeverity
from trialbook.model.grade import Check, Finding
from trialbook.model.judgement import JudgeFinding, JudgeIdentity, Judgement, JudgeVote
from trialbook.model.severity import Severity
from trialbook.reporting.reviews_said import AnswerSaid, ItemSaid, ReviewsSaid
from trialbook.site.diff.figure import Change
from trialbook.site.trial.evidence import Evidence
from trialbook.storage.reader import RunRef

FILE = "src/user_service.py"


def evidence() -> Evidence:
    return Evidence(Change.read(PATCH), RunRef("s", "r"), "t/c/r1")


def a_judgement(finding: JudgeFinding) -> Judgement:
    identity = JudgeIdentity(
        judge="j",
        client="c",
        client_version=None,
        model=None,
        parameters={},
        prompt_sha256="",
        rubric_sha256="",
        schema_sha256="",
        rules=1,
        sha256="0" * 64,
    )
    vote = JudgeVote(usable=True, verdict="FIX", findings=(finding,))
    return Judgement(
        rubric="merge@1",
        rubric_sha256="",
        identity=identity,
        verdict="FIX",
        asked=1,
        agreed=1,
        answers={},
        votes=(vote,),
    )


def check(*, passed: bool, line: int = 3) -> Check:
    finding = Finding(text="one", file=FILE, line=line)
    return Check(id="a b", question="Is it?", passed=passed, message="no", evidence=(finding,))


def test_what_a_check_found_is_linked_both_ways() -> None:
    found = evidence()
    shown = found.grade(replace(a_grade({"x": False}), checks=(check(passed=False),)))["checks"][0]
    assert shown["anchor"] == "c-checks-a-b"
    assert shown["evidence"][0]["target"] == "runs/s/r/t/c/r1.html#f1n3"
    [remark] = found.remarks
    assert (remark.first, remark.last, remark.back, remark.tone) == (3, 3, "c-checks-a-b", "bad")


def test_what_passed_is_not_put_beside_the_lines() -> None:
    found = evidence()
    found.grade(replace(a_grade({"x": True}), checks=(check(passed=True),)))
    assert found.remarks == []


def test_lines_that_the_change_does_not_show_get_no_remark() -> None:
    found = evidence()
    found.grade(replace(a_grade({"x": False}), checks=(check(passed=False, line=900),)))
    assert found.remarks == []


def test_the_same_id_twice_gives_two_anchors() -> None:
    found = evidence()
    grade = replace(a_grade({"x": False}), checks=(check(passed=False), check(passed=False)))
    anchors = [one["anchor"] for one in found.grade(grade)["checks"]]
    assert anchors == ["c-checks-a-b", "c-checks-a-b.2"]


def test_places_that_reviewers_name_lead_to_lines() -> None:
    found = evidence()
    answer = AnswerSaid(reviewer="ann", answer="no", evidence=(f"{FILE}:3-4", "no place"), note="")
    item = ItemSaid(item="q1", answers=(answer,), differs=False, settled="")
    said = ReviewsSaid(came_to="x", rubric="r", minutes="1", reviewers=("ann",), items=(item,))
    shown = found.reviews(said)
    assert shown is not None
    targets = [one["target"] for one in shown["items"][0]["answers"][0]["evidence"]]
    assert targets == ["runs/s/r/t/c/r1.html#f1n3", ""]
    assert [(one.first, one.last, one.who) for one in found.remarks] == [(3, 4, "reviewer")]


def test_what_was_seen_stands_beside_its_line() -> None:
    found = evidence()
    one = Sighting(
        kind="test_skipped", severity=SightingSeverity.FLAG, detail="<b>", path=FILE, line=3
    )
    assert found.sighting(one)["target"].endswith("#f1n3")
    assert found.remarks[0].text == "<b>"


def test_what_a_judge_quotes_stands_beside_all_lines_of_it() -> None:
    found = evidence()
    quote = "        self._validate(name)\n        return name"
    finding = JudgeFinding(
        question="fits",
        quote=quote,
        file=FILE,
        line=3,
        text="Too much.",
        severity=Severity.HIGH,
        supported=True,
    )
    judgement = a_judgement(finding)
    shown = found.grade(replace(a_grade({"x": False}), judgement=judgement))["judgement"]
    row = shown["votes"][0]["findings"][0]
    assert (row["target"], row["last"]) == ("runs/s/r/t/c/r1.html#f1n3", 4)
    [remark] = found.remarks
    assert (remark.first, remark.last, remark.who) == (3, 4, "checks, vote 1")
    assert remark.back == row["id"]


def test_a_quote_that_is_not_in_the_change_leads_nowhere() -> None:
    found = evidence()
    finding = JudgeFinding(
        question="fits",
        quote="invented",
        file=FILE,
        line=3,
        text="",
        severity=Severity.LOW,
        supported=False,
    )
    grade = replace(a_grade({"x": False}), judgement=a_judgement(finding))
    [row] = found.grade(grade)["judgement"]["votes"][0]["findings"]
    assert row["target"] == ""
    assert found.remarks == []
