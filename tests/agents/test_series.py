"""A real client does a series of four sessions: a fresh conversation each time, notes carried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.agents.conftest import Start
from tests.agents.test_written_records import claude as configured
from tests.agents.test_written_records import evaluate, ledger
from tests.conftest import git, trialbook, write_files

pytestmark = pytest.mark.agents

NAMES = ("core", "docs", "change", "repair")
TASK = """\
task: answer
snapshot: {folder: snapshot}
graders:
  - checks: checks.yaml
sessions:
"""
SESSION = """\
  - session: {name}
    brief: sessions/{name}.md
    checks: sessions/{name}.yaml
"""
CHECK = """\
checks:
  - id: {name}
    type: file_contains
    file: NOTES.md
    pattern: "{name} is done"
"""
LOOK = 'cat NOTES.md; find "$HOME" -name "*.jsonl" | grep -c projects; echo said >> "$HOME/mark"'


def scenes(tool: str, key: str) -> list[dict[str, Any]]:
    """A script for each session, chosen by what its brief says."""
    return [
        {
            "when": f"SESSION-{name}",
            "steps": [
                {
                    "text": f"I work on {name}.",
                    "tools": [
                        {
                            "name": tool,
                            "input": {
                                key: f"{LOOK}; echo '{name} is done' >> NOTES.md; "
                                f"git add -A; git commit -qm 'Do {name}'"
                            },
                        }
                    ],
                    "usage": {"in": 1000, "out": 30},
                },
                {"text": f"Done with {name}.", "usage": {"in": 1200, "out": 10}},
            ],
        }
        for name in NAMES
    ]


def series(folder: Path, configurations: dict[str, str]) -> Path:
    """A ledger with one task of four sessions."""
    made = ledger(folder, configurations)
    task = "suites/real/tasks/answer"
    files = {f"{task}/task.yaml": TASK + "".join(SESSION.format(name=name) for name in NAMES)}
    for name in NAMES:
        files[f"{task}/sessions/{name}.md"] = f"Do SESSION-{name}, and say so in NOTES.md.\n"
        files[f"{task}/sessions/{name}.yaml"] = CHECK.format(name=name)
    files[f"{task}/checks.yaml"] = CHECK.format(name="repair")
    (made / task / "brief.md").unlink()
    suite = made / "suites/real/suite.yaml"
    suite.write_text(suite.read_text().replace("minutes: 1", "minutes: 4"))
    write_files(made, files)
    git(made, "add", "-A")
    git(made, "commit", "-qm", "sessions")
    return made


def sessions_of(folder: Path) -> tuple[dict[str, Any], Path]:
    """The record of the one trial, and its folder."""
    (path,) = folder.glob("runs/real/*/answer/*/r1/trial.json")
    return json.loads(path.read_text()), path.parent


def test_a_client_goes_through_four_sessions_each_in_a_fresh_conversation(
    model: Start, claude: str, tmp_path: Path
) -> None:
    served = model(priced=scenes("Bash", "command"))
    folder = series(tmp_path / "ledger", {"client": configured(claude, served, "model: priced\n")})
    ran = evaluate(folder, served, "--sandbox", "none")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    record, trial = sessions_of(folder)
    assert record["outcome"] == "accepted", record["reason"]
    assert [one["outcome"] for one in record["sessions"]] == ["accepted"] * 4
    # Every session has a conversation of its own, and begins with its own brief alone.
    ids = [one["session_id"] for one in record["attempts"]]
    assert None not in ids
    assert len(set(ids)) == 4
    firsts = [one["body"] for one in served.requests if len(one["body"]["messages"]) == 1]
    for body in firsts:
        assert sum(f"SESSION-{name}" in json.dumps(body) for name in NAMES) == 1
    for number in (2, 3, 4):
        handed = json.loads((trial / f"sessions/{number}/handover.json").read_text())
        things = {one["thing"]: one["state"] for one in handed["things"]}
        assert things["conversation"] == things["home"] == "cleared"
        assert things["files"] == things["history"] == "carried"
        (note,) = handed["notes"]
        assert (note["path"], note["written_by"]) == ("NOTES.md", f"session-{number - 1}")
        subjects = [one["subject"] for one in handed["start"]["commits"]]
        assert subjects == [f"Do {name}" for name in NAMES[: number - 1]]
        # What the client could read: the notes of those before, and no record of them at home.
        said = (trial / f"sessions/{number}/attempt-1/trajectory.json").read_text()
        assert f"{NAMES[number - 2]} is done" in said
        assert f"I work on {NAMES[number - 2]}" not in said
    assert record["usage"]["turns"] == sum(one["usage"]["turns"] for one in record["sessions"])
    trialbook(folder, "verify")
    exported_and_counted(folder, trial)


def exported_and_counted(folder: Path, trial: Path) -> None:
    """Each session goes out as a trajectory of its own, and has facts of its own."""
    name = f"{trial.parents[2].name}/answer/client/r1"
    several = trialbook(folder, "export", "--format", "atif", name, check=2)
    assert "1/1, 2/1, 3/1, 4/1" in several.stderr
    for number, session in enumerate(NAMES, 1):
        chosen = ("--format", "atif", name, "--attempt", f"{number}/1")
        document = json.loads(trialbook(folder, "export", *chosen).stdout)
        assert f"/sessions/{number}/attempt-1" in document["trajectory_id"]
        text = json.dumps(document)
        assert [f"I work on {other}" in text for other in NAMES] == [
            other == session for other in NAMES
        ]
    shown = json.loads(trialbook(folder, "show", name, "--json").stdout)
    attempts = shown["facts"]["attempts"]
    assert [(one["session"], one["attempt"]) for one in attempts] == [(n, 1) for n in (1, 2, 3, 4)]
    assert all(one["conduct"]["commands"] for one in attempts)
    assert "session 4, attempt 1" in trialbook(folder, "show", name).stdout


def test_another_client_does_the_same(model: Start, mini: str, tmp_path: Path) -> None:
    scripts = scenes("bash", "command")
    for scene in scripts:
        submit = {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}
        scene["steps"][1]["tools"] = [{"name": "bash", "input": submit}]
    served = model(priced=scripts)
    text = (
        "configuration: {name}\nagent: mini-swe-agent\nmodel: openai/priced\n"
        f'secrets: [OPENAI_API_KEY]\nnetwork: {{{{allow: ["127.0.0.1:{served.port}"]}}}}\n'
        f"with: {{{{program: {mini}, base_url: '{served.url}/v1', retries: 0}}}}\n"
    )
    folder = series(tmp_path / "ledger", {"client": text})
    ran = evaluate(folder, served, "--sandbox", "none")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    record, trial = sessions_of(folder)
    assert [one["outcome"] for one in record["sessions"]] == ["accepted"] * 4, record["reason"]
    handed = json.loads((trial / "sessions/4/handover.json").read_text())
    assert [one["path"] for one in handed["notes"]] == ["NOTES.md"]
    for number, name in enumerate(NAMES, 1):
        said = (trial / f"sessions/{number}/attempt-1/trajectory.json").read_text()
        assert f"I work on {name}" in said
        assert sum(f"I work on {other}" in said for other in NAMES) == 1
    trialbook(folder, "verify")
