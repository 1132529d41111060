from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.calibration.compared import (
    Case,
    add_run,
    compared_ledger,
    reader_of,
    the_plan,
    trust_by_hand,
)
from tests.conftest import git, trialbook, write_files
from tests.recorded import full_ledger
from trialbook.formats.records import from_json, to_json
from trialbook.model.rule import About, Rule
from trialbook.model.trust import TrustLevel
from trialbook.reporting.findings import Findings, alike, findings
from trialbook.storage.ledger import Ledger
from trialbook.system import System
from trialbook.verify.codes import Code
from trialbook.workflow.verify_ledger import VerifyRequest, verify_ledger

AGENTS = "suites/refunds/instructions/current/AGENTS.md"
REFUSED = Case(people=("REJECT", "MERGE"), no=("solves",), second=(), votes=("REJECT",))


def found(root: Path) -> Findings:
    return findings(reader_of(root))


def by_item(root: Path, *arguments: str) -> dict[str, Any]:
    listed = json.loads(trialbook(root, "findings", "--json", *arguments).stdout)
    return {one["about"]["item"]: one for one in listed["groups"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two changes of three were sent back by one reviewer."""
    root = compared_ledger(tmp_path, [REFUSED, REFUSED, Case(people=("MERGE", "MERGE"))])
    write_files(root, {AGENTS: "Look at empty names.\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "instructions")
    return root


def test_what_reviewers_send_back_is_grouped_by_question_and_words(root: Path) -> None:
    groups = by_item(root)
    assert groups.keys() == {"merge:solves", ""}
    solves = groups["merge:solves"]
    assert (solves["times"], solves["trials"], solves["by"]) == (2, 2, ["ann"])
    assert solves["about"]["place"] == "src/user_service.py"
    assert groups[""]["about"]["source"] == "remark"
    assert groups[""]["about"]["text"] == "An empty name gets in."
    assert solves["first"] == "2026-11-01T08:00:00.000Z"


def test_an_untrusted_judges_findings_are_counted_apart(root: Path) -> None:
    assert found(root).opinions == 2
    said = trialbook(root, "findings").stdout
    assert "left out: 2 findings of judges that are not trusted so far" in said


def test_failed_checks_are_a_group_each(tmp_path: Path) -> None:
    groups = by_item(full_ledger(tmp_path))
    failed = groups["checks:service-uses-class"]
    assert failed["about"]["source"] == "check"
    assert failed["times"] == failed["trials"] == 3
    assert failed["by"] == ["checks"]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("An empty name gets in", "an empty name still gets in here", True),
        ("An empty name gets in", "The migration is missing for names", False),
        ("", "", True),
        ("no", "The migration is missing", True),
    ],
)
def test_half_of_all_words_make_findings_alike_and_without_words_the_file(
    one: str, other: str, *, together: bool
) -> None:
    first = About(source="question", item="merge:solves", place="a.py", text=one)
    second = replace(first, text=other)
    assert alike(first, second) is together
    assert alike(second, first) is together
    elsewhere = replace(second, place="b.py")
    assert alike(first, elsewhere) is (together and len(one.split()) > 2)
    assert not alike(first, replace(second, item="merge:safe"))


def test_a_finding_becomes_a_rule_with_a_link_and_its_repeats_are_shown(root: Path) -> None:
    group = by_item(root)["merge:solves"]["group"]
    trialbook(
        root, "finding", "resolve", group[:5], "--rule", "instructions", "--link", f"{AGENTS}#names"
    )
    said = by_item(root)["merge:solves"]
    (rule,) = said["rules"]
    assert (rule["kind"], rule["link"]) == ("instructions", f"{AGENTS}#names")
    assert rule["commit"] == git(root, "rev-parse", "HEAD~1").strip()
    assert said["repeats"] == 0
    assert "not sent back since" in " ".join(trialbook(root, "findings").stdout.split())
    later = the_plan(2, "20270105-080000-bbbb")
    add_run(root, [REFUSED, REFUSED], later, started="2027-01-05T08:00:00.000Z")
    said = by_item(root)["merge:solves"]
    assert (said["group"], said["times"], said["repeats"]) == (group, 4, 2)
    assert "SENT BACK 2 TIMES SINCE" in " ".join(trialbook(root, "findings").stdout.split())
    assert by_item(root, later.path).keys() == {"merge:solves", ""}


def test_a_link_has_to_be_there_when_it_is_a_path(root: Path) -> None:
    group = by_item(root)["merge:solves"]["group"]
    for link, said in (
        ("suites/refunds/nowhere.md", "there is no suites/refunds/nowhere.md in HEAD"),
        ("../../etc/passwd", "is no link"),
        ("file:///etc/passwd", "is no link"),
        ("https://", "is no link"),
    ):
        arguments = ("finding", "resolve", group, "--rule", "hook", "--link", link)
        assert said in trialbook(root, *arguments, check=2).stderr
    write_files(root, {"suites/refunds/new.md": "not committed\n"})
    arguments = ("finding", "resolve", group, "--rule", "hook", "--link", "suites/refunds/new.md")
    assert "commit the rule first" in trialbook(root, *arguments, check=2).stderr
    address = "https://example.invalid/pull/7"
    trialbook(root, "finding", "resolve", group, "--rule", "hook", "--link", address)


def test_a_group_that_is_not_there_is_named_with_where_to_look(root: Path) -> None:
    arguments = ("finding", "resolve", "zzzz", "--rule", "task", "--link", AGENTS)
    assert "there is no group of findings 'zzzz'" in trialbook(root, *arguments, check=2).stderr


def rule_faults(root: Path) -> list[Code]:
    verdict = verify_ledger(root, System(), VerifyRequest(), lambda *_: None)
    return [one.code for one in verdict.faults if one.path.startswith("rules/")]


def test_rules_are_verified(root: Path) -> None:
    group = by_item(root)["merge:solves"]["group"]
    trialbook(root, "finding", "resolve", group, "--rule", "hook", "--link", AGENTS)
    assert rule_faults(root) == []
    (path,) = (root / "rules").iterdir()
    rule = from_json(Rule, path.read_bytes(), path.name)
    ledger = Ledger.open(root, System())
    name = "20261202T100000Z-0b0b0b"
    wrong = replace(rule, id=name, link="suites/nowhere.md")
    ledger.commit({f"rules/{name}.json": to_json(wrong)}, "by hand\n")
    name = "20261202T100000Z-0c0c0c"
    ledger.commit({f"rules/{name}.json": to_json(rule)}, "by hand\n")
    ledger.close()
    assert sorted(rule_faults(root)) == [Code.RECORD_MISPLACED, Code.RULE_LINK]
    path.unlink()
    git(root, "commit", "-qam", "gone")
    assert Code.RECORD_REMOVED in rule_faults(root)


def test_findings_of_a_judge_count_once_it_is_advisory(root: Path) -> None:
    trust_by_hand(root, TrustLevel.ADVISORY, "2026-11-02T08:00:00.000Z")
    now = found(root)
    assert now.opinions == 0
    (group,) = [one for one in now.groups if "judge-strict" in one.by]
    assert group.about.item == "merge:solves"
    assert group.about.text == "An empty name is let through."
    assert group.trials == 2
