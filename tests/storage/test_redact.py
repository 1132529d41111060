from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.storage.redact import redact

SECRET = 'p@ss "word"/1+2=3'


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET, safe=""),
        json.dumps(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_every_form_in_which_programs_print_a_value_goes(form: str) -> None:
    clean, counts = redact(f"before {form} after".encode(), {"TOKEN": SECRET})
    assert form.strip('"').encode() not in clean
    assert b"[redacted: TOKEN]" in clean
    assert counts == {"TOKEN": 1}


def test_text_without_secrets_stays_as_it_is() -> None:
    data = b"nothing \x00\xff here"
    assert redact(data, {"TOKEN": SECRET}) == (data, {})


def test_a_short_value_is_left_since_it_would_shred_the_text() -> None:
    assert redact(b"a a a", {"TOKEN": "a"}) == (b"a a a", {})


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_a_value_between_any_bytes_goes(before: bytes, after: bytes) -> None:
    clean, counts = redact(before + SECRET.encode() + after, {"TOKEN": SECRET})
    assert SECRET.encode() not in clean
    assert counts["TOKEN"] >= 1
