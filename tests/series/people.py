"""What two people answered about the recorded series, and how they hand it in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import trialbook

ANSWERS = Path(__file__).parent / "answers"
"""One file a project: by configuration and rubric, each question with its answer and evidence."""


def given(project: str) -> dict[str, dict[str, Any]]:
    """What people answered about a project, by configuration and rubric."""
    found: dict[str, dict[str, Any]] = json.loads((ANSWERS / f"{project}.json").read_text())
    return found


def filled(form: str, answers: dict[str, Any]) -> str:
    """A form as a person leaves it, with the answers in it."""
    head = form.partition("answers:")[0]
    lines = [head.rstrip(), "answers:"]
    for question, (answer, evidence, note) in answers.items():
        if question == "verdict":
            continue
        lines += [
            f"  - question: {question}",
            f"    answer: {answer}",
            f"    evidence: {json.dumps(evidence)}",
            f"    note: {json.dumps(note)}",
        ]
    if "verdict" in answers:
        verdict, where, text = answers["verdict"]
        lines += [f"verdict: {verdict}"]
    if "verdict" in answers and text:
        lines += ["findings:", f"  - where: {json.dumps(where)}", f"    text: {json.dumps(text)}"]
    else:
        lines += ["findings: []"]
    return "\n".join([*lines, "minutes: 12"]) + "\n"


def hand_in(ledger: Path, trial: str, reviewer: str, rubric: str, answers: dict[str, Any]) -> str:
    """Take a packet, fill in its form, hand it in; gives the path in the ledger."""
    folder = ledger.parent / f"packet-{trial.replace('/', '-')}-{reviewer}-{rubric}"
    arguments = ["--reviewer", reviewer, "--rubric", rubric, "-o", str(folder)]
    trialbook(ledger, "series", "questions", trial, *arguments)
    form = folder / "review.yaml"
    form.write_text(filled(form.read_text(), answers))
    done = trialbook(ledger, "series", "answer", str(form), "--json")
    return str(json.loads(done.stdout)["path"])
