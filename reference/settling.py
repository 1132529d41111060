"""Stands in for the editor in which two reviewers settle what they differ on.

No people talk here: where one of the two example readers objects and the other does not, the one
who objects is right, since the script of the other overlooks something on purpose.
"""

from __future__ import annotations

import sys
from pathlib import Path

from trialbook.formats.authored import parse_document
from trialbook.formats.editing import edit_text

_STRICT = ("no", "REJECT", "FIX")
_TEXT = {
    "minimal": "The other reader had not seen that the function beside it was rewritten.",
    "tested": "One reads the question as asking for any test, the other for a new one.",
    "verdict": "It follows from the answer above.",
}


def settled(form: str) -> str:
    """The form with the stricter answer to everything on which the two differ."""
    document, problems = parse_document(form, "reconciliation.yaml")
    if document is None or problems:
        raise SystemExit(f"this is no form: {problems}")
    for number, item in enumerate(document.data["items"]):
        name = item["item"]
        given = {one["answer"] for one in item["answers"]}
        final = next(one for one in _STRICT if one in given)
        reason = "rubric_ambiguous" if name == "tested" else "missed_fact"
        for key, value in (("final", final), ("reason", reason), ("text", _TEXT[name])):
            form = edit_text(form, ("items", number, key), value)
    return form


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(settled(path.read_text()))
