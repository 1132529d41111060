"""Judges as processes: what they are shown, what becomes of what they say, good and broken."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git, trialbook
from tests.judging.conftest import MERGE, REJECT, Judges, judged, vote

GOOD, BAD = "first/good/r1", "first/bad/r1"


def shown(ledger: Path, what: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(trialbook(ledger, "show", what, "--json").stdout)
    return found


@pytest.mark.slow
def test_a_judge_makes_a_generation_beside_the_other_grades_and_decides_nothing(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    judge_named("strict", REJECT)
    before = git(ledger, "ls-tree", "-r", "HEAD", "runs").splitlines()
    found = judged(ledger, run, "strict")
    after = git(ledger, "ls-tree", "-r", "HEAD", "runs").splitlines()
    assert set(before) < set(after)
    name = found["regrade"]["id"]
    added = {path.split(f"{run}/")[1] for path in set(after) - set(before)}
    assert {one for one in added if not one.startswith("results/")} == {
        f"regrades/{name}.json",
        f"{GOOD}/regrades/{name}/judge-strict.json",
        f"{BAD}/regrades/{name}/judge-strict.json",
    }
    grade = found["grades"][GOOD]
    assert (grade["status"], grade["accepted"]) == ("graded", False)
    assert [(one["id"], one["passed"]) for one in grade["checks"]] == [("solves", False)]
    judgement = grade["judgement"]
    assert (judgement["rubric"], judgement["verdict"]) == ("merge@1", "REJECT")
    assert judgement["not_asked"] == ["verified"]
    assert judgement["trust"] == "uncalibrated"
    assert judgement["isolated"] is True
    assert judgement["answers"] == {"solves": "no", "small": "not_applicable"}
    finding = judgement["votes"][0]["findings"][0]
    assert (finding["file"], finding["line"], finding["supported"]) == ("answer.txt", 1, True)
    standing = shown(ledger, f"{run}/{GOOD}")["standing"]
    assert (standing["outcome"], standing["corrected_by"]) == ("accepted", "")
    trialbook(ledger, "verify")


SAY_ALL = """\
around = prompt.replace(diff, "").replace(re.search("DATA ([0-9a-f]+)", prompt)[1], "MARK")
there = [str(path) for path in pathlib.Path.cwd().rglob("*")]
text = json.dumps([around, sorted(os.environ), sorted(os.environ.values()), there])
parts = [text[at : at + 3900] for at in range(0, len(text), 3900)]
answer["findings"] = [finding(added(), severity="low", text=part) for part in parts]
"""


@pytest.mark.slow
def test_a_judge_is_shown_brief_diff_and_rubric_and_nothing_of_who_did_it(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    judge_named("curious", SAY_ALL)
    found = judged(ledger, run, "curious")
    around = set()
    for trial in (GOOD, BAD):
        prompt, _, values, there = json.loads(
            "".join(one["text"] for one in vote(found, trial)["findings"])
        )
        around.add(prompt)
        assert there == []
        for word in (run, "mini", str(ledger), "driver", "agent.py"):
            assert word not in prompt
            assert not any(word in value for value in values)
    # But for the diff, of all configurations alike.
    (prompt,) = around
    assert "Write first into answer.txt." in prompt
    assert "A requirement of the brief is not met." in prompt


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("answer['verdict'] = 'LGTM'", "`verdict` must be"),
        ("del answers['small']", "small"),
        ("answer['more'] = 1", "more"),
        ("print('I would merge it.'); sys.exit()", "not JSON"),
        ("sys.exit()", "empty"),
        ("print('{' * 100_000); sys.exit()", "not JSON"),
        ('print(\'{"verdict": "REJECT", "verdict": "MERGE"}\'); sys.exit()', "'verdict' twice"),
        ("print('[' * 200_000 + ']' * 200_000); sys.exit()", "not JSON"),
        ("sys.stdout.buffer.write(b'\\xff\\xfe'); sys.exit()", "not JSON"),
        ("sys.exit(3)", "status 3"),
        ("answer['findings'] = [finding('x' * 5000)]", "5000 characters"),
        ("answer['findings'] = [finding(added())] * 60", "60 findings"),
        ("answer['findings'] = [finding('\\ud800' * 9)] * 60", "60 findings"),
    ],
)
def test_an_answer_that_does_not_fit_twice_is_no_verdict(
    ledger: Path, run: str, judge_named: Judges, body: str, said: str
) -> None:
    judge_named("broken", body)
    found = judged(ledger, run, "broken")
    grade = found["grades"][GOOD]
    assert (grade["status"], grade["accepted"]) == ("failed", None)
    assert grade["judgement"]["verdict"] is None
    assert said in vote(found)["problem"]
    assert vote(found)["usable"] is False
    assert shown(ledger, f"{run}/{GOOD}")["standing"]["outcome"] == "accepted"
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_an_answer_is_repaired_once_with_what_was_wrong_with_it(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    body = (
        "if 'Your last answer' not in prompt:\n"
        "    print('MERGE, said the judge.'); sys.exit()\n"
        "assert 'what it printed is not JSON' in prompt\n"
        "assert 'MERGE, said the judge.' in prompt"
    )
    judge_named("learner", body)
    found = judged(ledger, run, "learner")
    assert found["grades"][GOOD]["judgement"]["verdict"] == "MERGE"
    assert vote(found)["repaired"] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        # Quotes of lines that are not there.
        (
            REJECT.replace("added()", "'eval(user_input)'"),
            "no finding whose quote is in the diff",
        ),
        ("answers['solves'] = 'no'; answer['verdict'] = 'FIX'", "FIX, with no finding"),
        ("answer['verdict'] = 'FIX'", "no question is answered no"),
        # Its own findings and answers against its verdict.
        ("answer['findings'] = [finding(added())]", "beside a finding of severity must"),
        ("answers['solves'] = 'no'", "MERGE, although solves is answered no"),
        ("answer['findings'] = [finding(added(), 'small')]", "on small, which is answered"),
    ],
)
def test_an_answer_that_contradicts_itself_is_kept_and_does_not_count(
    ledger: Path, run: str, judge_named: Judges, body: str, said: str
) -> None:
    judge_named("torn", body)
    found = judged(ledger, run, "torn")
    grade = found["grades"][GOOD]
    assert grade["status"] == "failed"
    one = vote(found)
    assert (one["usable"], one["verdict"]) == (False, None)
    assert one["said"] in {"MERGE", "FIX", "REJECT"}
    assert said in "; ".join(one["contradictions"])
    assert said in grade["message"]


@pytest.mark.slow
def test_findings_without_support_are_told_beside_one_that_has_it(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    judge_named("half", REJECT + "\nanswer['findings'].append(finding('rm -rf /', 'small', 'low'))")
    found = judged(ledger, run, "half")
    assert [one["supported"] for one in vote(found)["findings"]] == [True, False]
    assert found["grades"][GOOD]["judgement"]["verdict"] == "REJECT"
    assert (
        "1 of 2 findings quote lines that are not in the diff" in (found["grades"][GOOD]["message"])
    )


@pytest.mark.slow
def test_a_judge_that_hangs_is_stopped_and_gave_no_answer(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    judge_named("slow", "time.sleep(600)", "limits: {minutes: 0.02, grace_seconds: 0.2}\n")
    found = judged(ledger, run, "slow", "--jobs", "2")
    assert found["grades"][GOOD]["status"] == "failed"
    assert "stopped" in vote(found)["problem"]


@pytest.mark.slow
def test_a_judge_that_prints_fifty_megabytes_gave_no_answer(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    judge_named("loud", "for _ in range(50): print(' ' * 1_000_000)")
    found = judged(ledger, run, "loud", "--jobs", "2")
    assert "cut at the limit" in vote(found)["problem"]
    sizes = [
        len(
            git(
                ledger,
                "show",
                f"HEAD:runs/mini/{run}/{trial}/regrades/{found['regrade']['id']}/judge-loud.json",
            )
        )
        for trial in (GOOD, BAD)
    ]
    assert max(sizes) < 20_000


@pytest.mark.slow
def test_a_secret_that_a_judge_prints_is_nowhere(
    ledger: Path, run: str, judge_named: Judges, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "correct-horse-battery-staple-99"
    monkeypatch.setenv("JUDGE_KEY", secret)
    body = (
        "answer['findings'] = [finding(added(), severity='low', text=os.environ['JUDGE_KEY'])]\n"
        "answer['verdict'] += os.environ['JUDGE_KEY'] if 'last answer' not in prompt else ''"
    )
    judge_named("leaky", body, "secrets: [JUDGE_KEY]\n")
    found = judged(ledger, run, "leaky")
    assert vote(found)["findings"][0]["text"] == "[redacted:JUDGE_KEY]"
    everything = subprocess.run(
        ["git", "-C", str(ledger), "grep", "-c", secret, "HEAD"], capture_output=True, check=False
    )
    assert everything.returncode == 1
    for path in (ledger / ".git").rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes()


@pytest.mark.slow
def test_a_secret_that_is_not_set_is_told_before_anything_runs(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    judge_named("needy", MERGE, "secrets: [NO_SUCH_KEY]\n")
    assert "needs NO_SUCH_KEY" in judged(ledger, run, "needy", check=2)["stderr"]


@pytest.mark.slow
def test_votes_need_more_than_half_and_a_tie_is_no_verdict(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    # Each vote has a home of its own: what differs is only the mark around the data.
    by_mark = "mark = re.search(r'DATA ([0-9a-f]+)', prompt)[1]\n"
    rare = (
        by_mark
        + "if int(mark[0], 16) < 8:\n"
        + "\n".join(f"    {line}" for line in REJECT.splitlines())
    )
    judge_named("dice", rare, "votes: 9\n")
    found = judged(ledger, run, "dice", "--jobs", "2")
    for trial in (GOOD, BAD):
        judgement = found["grades"][trial]["judgement"]
        verdicts = [one["verdict"] for one in judgement["votes"]]
        most = max(verdicts.count("MERGE"), verdicts.count("REJECT"))
        assert (judgement["asked"], judgement["agreed"]) == (9, most)
        assert judgement["verdict"] == max(set(verdicts), key=verdicts.count)
    judge_named("silent", "print('no'); sys.exit()", "votes: 3\n")
    found = judged(ledger, run, "silent", "--jobs", "2")
    assert "no verdict has more than half of 3 votes" in found["grades"][GOOD]["message"]


@pytest.mark.slow
def test_the_same_judge_is_not_asked_twice_and_another_is(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    judge_named("strict", REJECT)
    first = judged(ledger, run, "strict")
    head = git(ledger, "rev-parse", "HEAD")
    second = judged(ledger, run, "strict")
    assert (second["commit"], second["taken_over"]) == (None, 2)
    assert git(ledger, "rev-parse", "HEAD") == head
    judge_named("strict", MERGE)  # other files: another judge of the same name
    third = judged(ledger, run, "strict")
    assert third["taken_over"] == 0
    assert third["judge"]["sha256"] != first["judge"]["sha256"]
    assert third["grades"][GOOD]["judgement"]["verdict"] == "MERGE"
    assert {one["flaky"] for one in third["regrade"]["differences"]} == {False}
    fourth = judged(ledger, run, "strict", "--again")
    assert (fourth["commit"], fourth["taken_over"]) == (None, 0) or fourth["commit"]
    trialbook(ledger, "regrade", run)
    trialbook(ledger, "verify")


def test_a_judge_that_became_another_and_fails_is_on_record_as_such(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    judge_named("liar", MERGE)
    assert judged(ledger, run, "liar")["grades"]["first/good/r1"]["accepted"] is True
    judge_named("liar", "print('I would merge it.'); raise SystemExit")
    found = judged(ledger, run, "liar")
    assert found["commit"] is not None
    grade = found["grades"]["first/good/r1"]
    assert (grade["status"], grade["accepted"]) == ("failed", None)
    shown = trialbook(ledger, "show", f"{run}/first/good/r1").stdout
    assert "MERGE" not in shown
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_an_interrupted_judging_goes_on_with_what_it_had(
    ledger: Path, run: str, judge_named: Judges, tmp_path: Path
) -> None:
    waits = "if 'nothing to see' in diff and not os.environ.get('GO'):\n    time.sleep(60)"
    judge_named("patient", waits, "pass_environment: [GO]\n")
    command = [sys.executable, "-m", "trialbook", "judge", run, "--judge", "patient", "-j", "2"]
    head = git(ledger, "rev-parse", "HEAD")
    process = subprocess.Popen(command, cwd=ledger, stderr=subprocess.PIPE, text=True)
    notes = ledger / ".git/trialbook/runs/mini" / run / "judging"
    deadline = time.monotonic() + 60
    while not list(notes.glob("*.json")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert git(ledger, "rev-parse", "HEAD") == head
    kept = [path.name for path in notes.iterdir()]
    assert len(kept) == 1
    os.environ["GO"] = "1"
    try:
        found = judged(ledger, run, "patient")
    finally:
        del os.environ["GO"]
    assert set(found["grades"]) == {GOOD, BAD}
    assert list(notes.iterdir()) == []


@pytest.mark.slow
def test_a_diff_that_is_too_long_is_refused_where_everybody_sees_it(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    judge_named("short", MERGE, "diff_kb: 0.05\n")
    found = judged(ledger, run, "short")
    grade = found["grades"][GOOD]
    assert grade["status"] == "failed"
    assert "0.05 kB is the most that this judge is shown" in grade["message"]
    assert grade["judgement"]["votes"] == []
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_a_rubric_that_was_changed_since_it_was_used_is_refused(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    judge_named("strict", MERGE)
    judged(ledger, run, "strict")
    path = ledger / "rubrics/merge/v1.md"
    path.write_text(path.read_text() + "\nOne more sentence.\n")
    assert "is not what was used" in judged(ledger, run, "strict", check=2)["stderr"]


@pytest.mark.slow
def test_every_mistake_in_a_judges_file_is_told_with_its_place(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    judge_named("wrong", MERGE, "votes: 2\nsandbox: nowhere\nnetwork: {allow: ['no host']}\n")
    said = judged(ledger, run, "wrong", check=2)["stderr"]
    for line in ("wrong.yaml:5:8: `votes`", "wrong.yaml:6:10: no sandbox", "wrong.yaml:7:19:"):
        assert line in said, said
    (ledger / "rubrics/judges/replaying.yaml").write_text("judge: replaying\nclient: replay\n")
    assert "cannot judge" in judged(ledger, run, "replaying", check=2)["stderr"]
    assert "there is no judge 'nobody'" in judged(ledger, run, "nobody", check=2)["stderr"]
