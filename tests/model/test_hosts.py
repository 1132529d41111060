from __future__ import annotations

import ipaddress
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.model.hosts import Host, HostError, parse_entry, parse_host, split_authority

LABEL = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12).map(
    lambda text: "x" + text
)
NAME = st.lists(LABEL, min_size=1, max_size=4).map(".".join)
PORT = st.integers(1, 65535)


def host(text: str) -> Host:
    return parse_host(text)


@given(NAME, PORT)
def test_a_name_lists_itself_and_nothing_else(name: str, port: int) -> None:
    entry = parse_entry(f"{name}:{port}")
    assert entry.covers(host(name), port)
    assert entry.covers(host(name.upper() + "."), port)
    assert not entry.covers(host(f"x.{name}"), port)
    assert not entry.covers(host(name + "x"), port)
    assert not entry.covers(host(name), port % 65535 + 1)


@given(NAME, NAME)
def test_a_star_lists_what_is_below_and_never_the_host_itself(name: str, sub: str) -> None:
    entry = parse_entry(f"*.{name}")
    assert entry.covers(host(f"{sub}.{name}"), 443)
    assert entry.covers(host(f"{sub}.{name}.".upper()), 443)
    assert not entry.covers(host(name), 443)
    assert not entry.covers(host(f"{sub}{name}"), 443)
    assert not entry.covers(host(f"{name}.{sub}-evil"), 443)


@given(st.ip_addresses(v=4), PORT)
def test_an_address_is_listed_by_its_one_notation(
    address: ipaddress.IPv4Address, port: int
) -> None:
    entry = parse_entry(f"{address}:{port}")
    assert entry.covers(host(str(address)), port)
    assert not parse_entry(f"*.example.com:{port}").covers(host(str(address)), port)
    number = int(address)
    a, b, c, d = str(address).split(".")
    for odd in (
        *(str(number), hex(number), f"0{number:o}", f"{a}.{b}.{int(c) * 256 + int(d)}"),
        *(f"0x{int(a):x}.{b}.{c}.{d}", f"0{int(a):o}.{b}.{c}.{d}", f"{a}.{b}.{c}.{d}."),
        f"{a}.{int(b) * 65536 + int(c) * 256 + int(d)}",
    ):
        with pytest.raises(HostError):
            parse_host(odd)


@given(st.ip_addresses(v=6))
def test_an_address_of_version_6_has_one_notation_too(address: ipaddress.IPv6Address) -> None:
    if address.ipv4_mapped is not None:
        with pytest.raises(HostError):
            parse_host(f"[{address}]")
        return
    assert host(f"[{address}]").address == address
    assert parse_entry(f"[{address}]:8443").covers(host(f"[{str(address).upper()}]"), 8443)
    if address.exploded != str(address):
        with pytest.raises(HostError):
            parse_host(f"[{address.exploded}]")


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "..", "a..b", ".a", "a b", "a/b", "a?b", "a#b", "user@host", "a%2eb", "-a.b"),
        *("[::1", "[]", "[fe80::1%eth0]", "[::ffff:127.0.0.1]", "[1.2.3.4]", "::1", "a\n", "a\0"),
        *("0x7f.1", "1", "127.1", "1.2.3.4.5", "256.1.1.1", "1.2.3.04", "a." * 200, "x" * 64),
        *("\uff11\uff12\uff17.0.0.1", "faß.example", "a\u3002\u3002b"),
    ],
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(HostError):
        parse_host(text)


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("Bücher.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example.", "xn--bcher-kva.example"),
        ("API.Example.COM.", "api.example.com"),
        ("under_score.example", "under_score.example"),
    ],
)
def test_names_have_one_form(written: str, means: str) -> None:
    assert host(written).text == means


@pytest.mark.parametrize(
    "text",
    [
        *("*", "*.", "*.*.example", "a.*.example", "*example.com", "*.127.0.0.1", "*.[::1]"),
        *("host:", "host:0", "host:65536", "host:080", "host:+1", "host:٣", "host:1:2", "[::1]x"),
        *("http://host", "host/path", "host:443/", " host", "host "),
    ],
)
def test_what_is_no_entry_is_refused(text: str) -> None:
    with pytest.raises(HostError):
        parse_entry(text)


def test_the_port_is_that_of_https_unless_there_is_one() -> None:
    assert parse_entry("example.com").port == 443
    assert parse_entry("[::1]").port == 443
    assert str(parse_entry("*.Example.com:80")) == "*.example.com:80"
    assert str(parse_entry("[::1]:80")) == "[::1]:80"
    with pytest.raises(HostError, match="missing"):
        split_authority("example.com", None)


@given(st.text(max_size=30))
def test_any_text_is_an_entry_or_told_to_be_none(text: str) -> None:
    try:
        entry = parse_entry(text)
    except HostError:
        return
    assert parse_entry(str(entry)) == entry
