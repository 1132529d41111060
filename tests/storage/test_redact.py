from __future__ import annotations

import base64
import html
import json
import random
import shlex
import string
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.storage.exact_values import ExactValues
from trialbook.storage.redact import Redactor

SECRET = 'p@ss "word"/1+2=3&<é>'
PLAIN = "s3cr3t-value-of-some-length"
TOKEN = "[redacted:TOKEN]"


def redact(data: bytes, secret: str = SECRET) -> tuple[bytes, dict[str, int]]:
    clean, counts = Redactor({"TOKEN": secret}).redact(data)
    return clean, dict(counts)


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote(SECRET, safe="/"),
        quote(quote(SECRET, safe="")),
        quote_plus(SECRET),
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        json.dumps(json.dumps(SECRET)),
        json.dumps(SECRET).replace("/", "\\/"),
        repr(SECRET),
        html.escape(SECRET),
        html.escape(SECRET, quote=False),
        shlex.quote(SECRET),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.b64encode(SECRET.encode("utf-16-le")).decode(),
    ],
)
def test_every_form_in_which_programs_print_a_value_goes(form: str) -> None:
    clean, counts = redact(f"before {form} after".encode())
    assert form.strip("\"'\\").encode() not in clean
    assert clean.startswith(b"before ")
    assert clean.endswith(b" after")
    assert TOKEN.encode() in clean
    assert counts == {"TOKEN": 1}


@pytest.mark.parametrize("before", ["", "u", "us", "user", "user:"])
@pytest.mark.parametrize("after", ["", "x", "xy", "xyz"])
@pytest.mark.parametrize("secret", ["secret", "secret7", "secret78", PLAIN, SECRET])
def test_a_value_inside_of_base64_goes_whatever_its_neighbours(
    before: str, after: str, secret: str
) -> None:
    encode = base64.b64encode
    text = b"Basic " + encode((before + secret + after).encode()) + b"\n"
    clean, counts = redact(text, secret)
    assert counts == {"TOKEN": 1}
    # Whatever character of base64 is left, no bit of the value can be had from it.
    left = clean.replace(TOKEN.encode(), b"|").split()[1].split(b"|")
    assert len(left[0]) * 6 <= len(before.encode()) * 8
    assert len(left[1].rstrip(b"=")) * 6 <= (len(after) + 1) * 8


def test_a_value_whose_base64_is_broken_into_lines_goes_whole() -> None:
    wrapped = base64.encodebytes(b"x" * 50 + PLAIN.encode() + b"y" * 90)
    clean, counts = redact(b"begin\n" + wrapped + b"end\n", PLAIN)
    assert counts["TOKEN"] == 1
    joined = clean.replace(b"\n", b"").replace(TOKEN.encode(), b"")
    assert not Redactor({"TOKEN": PLAIN}).known_values(joined)
    assert clean.startswith(b"begin\n")
    assert clean.endswith(b"end\n")


@pytest.mark.parametrize("broken", ["\n", "\r\n", "\\n", "\\\\n", "\n    "])
def test_a_value_that_a_program_broke_over_two_lines_goes(broken: str) -> None:
    text = f"key: {PLAIN[:9]}{broken}{PLAIN[9:]} end"
    assert redact(text.encode(), PLAIN) == (f"key: {TOKEN} end".encode(), {"TOKEN": 1})


@pytest.mark.parametrize("position", [(1 << 16) - 9, (1 << 16) - 1, (1 << 20) - 13, 65535 * 3])
def test_a_value_across_the_border_of_two_chunks_goes(position: int) -> None:
    text = b"a" * position + PLAIN.encode() + b"b" * 70000
    clean, counts = redact(text, PLAIN)
    assert counts == {"TOKEN": 1}
    assert clean == b"a" * position + TOKEN.encode() + b"b" * 70000


def test_the_beginning_of_a_value_where_output_was_cut_off_goes() -> None:
    redactor = Redactor({"TOKEN": PLAIN})
    mark = "\n[trialbook: output cut here; 5 more bytes were dropped]\n"
    clean, _ = redactor.redact(f"key: {PLAIN[:15]}{mark}".encode(), cut=True)
    assert clean == f"key: {TOKEN}{mark}".encode()
    assert redactor.redact(f"key: {PLAIN[:15]}".encode(), cut=True)[0] == f"key: {TOKEN}".encode()
    few = f"key: {PLAIN[:3]}".encode()
    assert redactor.redact(few, cut=True)[0] == few


def test_each_telling_line_of_a_value_with_several_lines_goes() -> None:
    lines = ["-----BEGIN THING-----", "MIIEpAIBAAKCAQEA7bq1", "kQ0yqP3v8zM4nXw2uT5r"]
    clean, counts = redact(f"it is {lines[2]} and {lines[1]}.".encode(), "\n".join(lines))
    assert clean == f"it is {TOKEN} and {TOKEN}.".encode()
    assert counts == {"TOKEN": 2}


def test_a_value_read_from_a_file_is_found_without_its_line_end() -> None:
    assert redact(b"<" + PLAIN.encode() + b">", PLAIN + "\n")[0] == f"<{TOKEN}>".encode()


def test_text_without_secrets_stays_as_it_is() -> None:
    data = b"nothing \x00\xff here"
    assert redact(data) == (data, {})


def test_a_short_value_is_left_since_it_would_shred_the_text() -> None:
    assert redact(b"a a a", "a") == (b"a a a", {})


def test_redacting_twice_changes_nothing_more() -> None:
    for name in ("TOKEN", "redacted"):
        redactor = Redactor({name: PLAIN, "OTHER": "redacted"})
        once, _ = redactor.redact(f"a {PLAIN} b ghp_{'a1' * 18}".encode())
        assert redactor.redact(once) == (once, {})


def test_of_two_names_for_overlapping_places_nothing_is_left() -> None:
    redactor = Redactor({"A": "abcdefgh", "B": "efghijkl"})
    assert redactor.redact(b"<abcdefghijkl>")[0] == b"<[redacted:A]>"


def test_a_longer_value_that_holds_another_is_named_by_the_longer() -> None:
    redactor = Redactor({"SHORT": "abcdef", "LONG": "abcdefghij"})
    assert redactor.redact(b"abcdefghij abcdef")[0] == b"[redacted:LONG] [redacted:SHORT]"


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_a_value_between_any_bytes_goes(before: bytes, after: bytes) -> None:
    clean, counts = redact(before + SECRET.encode() + after)
    assert SECRET.encode() not in clean
    assert counts["TOKEN"] >= 1


@given(
    st.text(st.characters(blacklist_categories=["Cs"]), min_size=6, max_size=40),
    st.integers(0, 5),
    st.binary(max_size=20),
)
def test_any_value_goes_in_any_form(value: str, spare: int, around: bytes) -> None:
    encoded = base64.b64encode(b"#" * spare + value.encode() + around)
    forms = [value.encode(), quote(value, safe="").encode(), json.dumps(value).encode(), encoded]
    values = ExactValues({"T": value})
    for form in forms:
        assert values.spans(b"<" + form + b">")


def test_a_log_of_megabytes_is_done_in_seconds() -> None:
    letters = random.Random(7)
    line = "".join(letters.choices(string.ascii_letters + string.digits + " /:-_", k=110))
    data = "".join(f"{number} {line}\n" for number in range(45_000)).encode()
    began = time.monotonic()
    assert redact(data, PLAIN) == (data, {})
    assert time.monotonic() - began < 10, "ten times what it takes on a slow machine"


def test_of_many_texts_only_those_kinds_are_looked_for_that_can_be_in_them() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{'A' * 64}\n-----END RSA PRIVATE KEY-----"
    for texts in (["nothing", "task-one"], ["nothing", f"see {token}"], [key, "x"]):
        whole = "\n".join(texts).encode()
        plain, narrow = Redactor({}), Redactor({}).narrowed(whole)
        for text in texts:
            found = (text, {}) if narrow is None else narrow.redact_text(text)
            assert found == plain.redact_text(text)
    assert Redactor({}).narrowed(b"nothing at all") is None
    assert Redactor({"TOKEN": PLAIN}).narrowed(b"nothing at all") is not None
    assert Redactor({}, lambda data: ()).narrowed(b"nothing at all") is not None
