from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.formats.authored import parse_document
from trialbook.formats.authored_text import to_yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
SCALARS = TEXTS | st.booleans() | st.integers(-(10**9), 10**9)
VALUES = (
    SCALARS
    | st.lists(SCALARS, min_size=1, max_size=4)
    | st.lists(st.dictionaries(NAMES, SCALARS, min_size=1, max_size=3), min_size=1, max_size=3)
)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=5), TEXTS)
def test_what_is_written_is_read_back_as_the_same_values(values: dict[str, Any], lead: str) -> None:
    lead = " ".join(char for char in lead if char.isprintable())
    document, problems = parse_document(to_yaml(values, lead=lead).decode(), "f")
    assert problems == []
    assert document is not None
    assert document.data == values


def test_it_reads_as_people_would_write_it() -> None:
    text = to_yaml(
        {
            "kind": "provider",
            "closed": None,
            "added": (),
            "evidence": ["https://status.example.com/1", "said: no"],
            "slots": [{"task": "a", "repetition": 2}],
        },
        lead="Added to.\n\nNever edited.",
    )
    assert text.decode() == (
        "# Added to.\n#\n# Never edited.\nkind: provider\nevidence:\n"
        '  - "https://status.example.com/1"\n  - "said: no"\nslots:\n'
        "  - task: a\n    repetition: 2\n"
    )


@pytest.mark.parametrize("text", ["no", "1.5", "2026-11-30T15:15:26.123Z", "", " x ", "a: b", "#"])
def test_text_that_could_be_something_else_is_quoted(text: str) -> None:
    document, _ = parse_document(to_yaml({"key": text}).decode(), "f")
    assert document is not None
    assert document.data == {"key": text}
