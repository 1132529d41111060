"""Stands in for a reviewer's editor: ``python -m reference.reading FORM`` fills in a review.

No person reads here. What each example reader says of a change was written down beforehand, in
``readers.json``: which added lines are beside the point, which are wrong, and what one of the two
overlooks. The minutes are those that the script took.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbook.formats.authored import parse_document
from trialbook.formats.editing import edit_text

WHO = "TRIALBOOK_EXAMPLE_READER"
"""The variable that says which of the two readers it is."""

_HUNK = re.compile(r"@@ -[0-9,]+ \+([0-9]+)")
_SAID = {
    "solves": "Inputs that the brief names still come out wrong.",
    "tested": "No test fails without the change.",
    "minimal": "The function beside it was rewritten, and the brief does not ask for that.",
}
_SURE = 60


@dataclass(frozen=True, slots=True)
class Added:
    """A line that a change adds, and where: ``pantry/units.py:9``."""

    place: str
    text: str


def added_lines(change: str) -> Iterator[Added]:
    """Every line that the diff of a packet adds, with its place on the new side."""
    file, number = "", 0
    for line in change.splitlines():
        hunk = _HUNK.match(line)
        if line.startswith("=== "):
            file = line.removeprefix("=== ").rpartition(" (")[0]
        elif hunk:
            number = int(hunk[1])
        elif line.startswith("+"):
            yield Added(f"{file}:{number}", line[1:])
            number += 1
        elif line.startswith(" "):
            number += 1


def objections(reader: str, change: str) -> dict[str, str]:
    """The questions that a reader answers with no, and the place of the diff that shows it."""
    known = json.loads((Path(__file__).parent / "readers.json").read_text())
    overlooked = known["overlooked"][reader]
    lines = list(added_lines(change))
    found = {}
    for question, kind in (("solves", "wrong"), ("minimal", "beside")):
        seen = [one for one in lines if one.text in known[kind] and one.text not in overlooked]
        if seen:
            found[question] = seen[0].place
    if not any(one.text.startswith("def test_") for one in lines) and "test" not in overlooked:
        found["tested"] = lines[0].place
    return found


def filled(form: str, reader: str, change: str) -> str:
    """The form as the reader leaves it."""
    document, problems = parse_document(form, "review.yaml")
    if document is None or problems:
        raise SystemExit(f"this is no form: {problems}")
    no = objections(reader, change)
    for number, answer in enumerate(document.data["answers"]):
        question = answer["question"]
        said: dict[str, Any] = {"answer": "no" if question in no else "yes"}
        said["evidence"] = [no.get(question, "other-inputs" if question == "verified" else "diff")]
        if question in no:
            said["note"] = _SAID[question]
        for key, value in said.items():
            form = edit_text(form, ("answers", number, key), value)
    verdict = "REJECT" if "solves" in no else "FIX" if no else "MERGE"
    findings = [{"where": place, "text": _SAID[question]} for question, place in no.items()]
    form = edit_text(form, ("verdict",), verdict)
    if findings:
        form = edit_text(form, ("findings",), findings)
    return edit_text(form, ("guess",), _guess(reader, no))


def _guess(reader: str, no: dict[str, str]) -> dict[str, object]:
    """The first reader takes what is tidied for the old instructions; the other does not guess."""
    if reader != "example-reader-1":
        return {"configuration": "unknown"}
    return {"configuration": "current" if "minimal" in no else "narrow", "sure": _SURE}


if __name__ == "__main__":
    path = Path(sys.argv[1])
    change = (path.parent / "change.diff").read_text()
    path.write_text(filled(path.read_text(), os.environ[WHO], change))
