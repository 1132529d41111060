from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import write_files

from trialbook.errors import UserError
from trialbook.grading.judge_prompt import asked_of
from trialbook.model.judge import Judge, judge_grader
from trialbook.model.rubric import EvidenceKind, Question, Rubric
from trialbook.registry import Registry
from trialbook.storage.judges import check_judges, judge_names, load_judge
from trialbook.workflow.judge_setup import identity_of

FULL = """\
judge: strict
description: Looks closely.
client: claude-code
version: "2.1.332"
model: claude-sonnet-4-5
reasoning: high
votes: 3
diff_kb: 100
sandbox: none
network: {allow: ["api.anthropic.com:443"]}
environment: {LEVEL: "3"}
secrets: [ANTHROPIC_API_KEY]
limits: {minutes: 5, usd: 0.5}
with: {retries: 1}
files: beside
readable: [/opt/client]
"""


def test_a_judge_is_read_with_the_digests_of_its_files(tmp_path: Path) -> None:
    files = {"rubrics/judges/strict.yaml": FULL, "rubrics/judges/beside/a/b.txt": "x\n"}
    write_files(tmp_path, files)
    judge = load_judge(tmp_path, "strict", Registry())
    assert (judge.client, judge.votes, judge.diff_kb) == ("claude-code", 3, 100.0)
    assert judge.network.allow == ("api.anthropic.com:443",)
    assert list(judge.digests) == ["a/b.txt"]
    assert judge_names(tmp_path) == ["strict"]


def test_without_a_word_the_network_is_closed(tmp_path: Path) -> None:
    write_files(tmp_path, {"rubrics/judges/a.yaml": "judge: a\nclient: codex\n"})
    assert load_judge(tmp_path, "a", Registry()).network.mode == "none"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("judge: b\nclient: codex\n", "a.yaml:1:8: the judge is called `b`"),
        ("judge: a\n", "client"),
        ("judge: a\nclient: codx\n", "a.yaml:2:9: no agent is named 'codx'; did you mean"),
        ("judge: a\nclient: replay\n", "these can: claude-code, codex, command"),
        ("judge: a\nclient: codex\nvotes: 2\n", "a.yaml:3:8: `votes`"),
        ("judge: a\nclient: codex\nvote: 3\n", "did you mean `votes`"),
        ("judge: a\nclient: codex\nwith: {colour: red}\n", "a.yaml:3:8: "),
        ("judge: a\nclient: command\n", "argv"),
        ("judge: a\nclient: codex\nreasoning: huge\n", "a.yaml:3:12: "),
        ("judge: a\nclient: codex\nnetwork: {allow: ['a b']}\n", "a.yaml:3:19: "),
        ("judge: a\nclient: codex\nfiles: gone\n", "there is no folder `rubrics/judges/gone`"),
        (
            "judge: a\nclient: codex\nsecrets: [KEY]\nenvironment: {KEY: x}\n",
            "a.yaml:4:15: `KEY` is a secret",
        ),
        ("judge: a\nclient: codex\nlimits: {file_mb: 3}\n", "a.yaml:3:10: "),
        ("- a\n", "a.yaml:1:1: "),
        ("judge: [\n", "a.yaml:"),
    ],
)
def test_mistakes_are_told_with_their_places(tmp_path: Path, text: str, said: str) -> None:
    write_files(tmp_path, {"rubrics/judges/a.yaml": text})
    told = "\n".join(map(str, check_judges(tmp_path, Registry())))
    assert said in told
    with pytest.raises(UserError):
        load_judge(tmp_path, "a", Registry())


def test_files_that_lead_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    text = "judge: a\nclient: codex\nfiles: beside\n"
    write_files(tmp_path, {"rubrics/judges/a.yaml": text, "rubrics/judges/beside/x": "x"})
    (tmp_path / "rubrics/judges/beside/link").symlink_to("/etc/hosts")
    assert "leads out of it" in str(check_judges(tmp_path, Registry())[0])


RUBRIC = Rubric(
    name="merge",
    version=1,
    title="Merge?",
    verdicts=("MERGE", "FIX"),
    questions=(Question(id="a", text="Is it?", no_when="Not.", evidence=EvidenceKind.DIFF),),
    prose="Look.\n",
    sha256="1" * 64,
)
JUDGE = Judge(name="strict", client="codex", model="m", parameters={"program": "/a", "retries": 1})


@pytest.mark.parametrize(
    "other",
    [
        {"model": "n"},
        {"reasoning": "high"},
        {"votes": 3},
        {"parameters": {"retries": 2}},
        {"environment": {"A": "b"}},
        {"digests": {"judge.py": "0" * 64}},
        {"limits": {"minutes": 1}},
        {"client": "command"},
    ],
)
def test_whatever_could_change_its_answers_makes_another_judge(other: dict[str, object]) -> None:
    asked = asked_of(RUBRIC)
    mine = identity_of(JUDGE, asked, "1.0", "1").sha256
    assert identity_of(replace(JUDGE, **other), asked, "1.0", "1").sha256 != mine  # type: ignore[arg-type]


def test_client_adapter_and_rubric_are_part_of_it_and_names_and_places_are_not() -> None:
    asked = asked_of(RUBRIC)
    mine = identity_of(JUDGE, asked, "1.0", "1").sha256
    assert identity_of(JUDGE, asked, "1.1", "1").sha256 != mine
    assert identity_of(JUDGE, asked, "1.0", "2").sha256 != mine
    reworded = replace(RUBRIC, sha256="2" * 64)
    assert identity_of(JUDGE, asked_of(reworded), "1.0", "1").sha256 != mine
    moved = replace(JUDGE, name="b", parameters={"program": "/b", "retries": 1}, description="x")
    assert identity_of(moved, asked, "1.0", "1").sha256 == mine


def test_grades_by_another_rubric_than_the_usual_one_have_a_name_that_no_policy_has() -> None:
    assert judge_grader("strict", "merge@1") == "judge-strict"
    assert judge_grader("strict", "repair@2") == "judge-strict@repair.v2"
    assert judge_grader("strict", "merge@1", "merge@2") == "judge-strict@merge.v1"
