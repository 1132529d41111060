"""Whether an agent says that a check fails: only what speaks of that is taken for it."""

from __future__ import annotations

import pytest

from trialbook.execution.handover import _declared


@pytest.mark.parametrize(
    ("said", "declared"),
    [
        ("tests are red", True),
        ("`test_a.py::test_columns` fails, all three cases.", True),
        ("Make it configurable; checking columns of the settings is not done", True),
        ("## Not done\n\nSettings take what is there.", True),
        ("docs-page fails, it has no table yet", None),
        ("An unknown column fails with status 2.", None),
        ("Add docs-page to the export", None),
        ("All tests pass, nothing is unfinished.", False),
        ("Nothing is left open: no test fails.", False),
        ("Write rows", False),
    ],
)
def test_what_is_written_declares_a_failing_check(said: str, declared: bool | None) -> None:
    where = "NOTES.md" if declared else ""
    assert _declared("docs-page", [("NOTES.md", said)]) == (declared, where)
