from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.egress.addresses import not_public
from trialbook.egress.judge import Forbidden, Judge
from trialbook.model.hosts import Address, parse_host

PUBLIC = ipaddress.ip_address("93.184.215.14")


@pytest.mark.parametrize(
    "text",
    [
        *("0.0.0.0", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.0.1"),
        *("169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.1.1", "224.0.0.1"),
        *("255.255.255.255", "192.0.0.192", "168.63.129.16", "198.18.0.1", "203.0.113.5"),
        *("::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "fe80::1"),
        *("fe80::1%2", "fc00::1", "fd00:ec2::254", "ff02::1", "2002:7f00:1::", "2001::1"),
        *("2001:db8::1", "fec0::1", "::7f00:1", "64:ff9b:1::1", "4000::1", "100::1"),
    ],
)
def test_it_is_not_public(text: str) -> None:
    assert not_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", ["93.184.215.14", "8.8.8.8", "2606:2800:21f::1", "172.32.0.1"])
def test_it_is_public(text: str) -> None:
    assert not_public(ipaddress.ip_address(text)) is None


@given(st.ip_addresses())
def test_nothing_is_public_that_the_standard_library_knows_better(address: Address) -> None:
    if not_public(address) is None:
        assert not address.is_private
        assert not address.is_multicast
        assert not address.is_loopback
        assert not address.is_link_local


def test_only_what_is_listed_is_looked_up() -> None:
    judge = Judge.of(["a.example", "*.b.example:8443"])
    judge.by_name(parse_host("A.example."), 443)
    judge.by_name(parse_host("x.y.b.example"), 8443)
    with pytest.raises(Forbidden, match="not listed"):
        judge.by_name(parse_host("c.example"), 443)
    with pytest.raises(Forbidden, match="port"):
        judge.by_name(parse_host("a.example"), 80)
    with pytest.raises(Forbidden):
        judge.by_name(parse_host("b.example"), 8443)


def test_an_inner_address_has_to_be_listed_itself_and_with_the_port() -> None:
    inner = ipaddress.ip_address("10.1.2.3")
    name = parse_host("mirror.example")
    with pytest.raises(Forbidden, match="private"):
        Judge.of(["mirror.example"]).by_address(name, 443, [inner])
    with pytest.raises(Forbidden):
        Judge.of(["mirror.example", "10.1.2.3:80"]).by_address(name, 443, [inner])
    assert Judge.of(["mirror.example", "10.1.2.3"]).by_address(name, 443, [inner]) == [inner]
    assert Judge.of(["mirror.example"]).by_address(name, 443, [PUBLIC]) == [PUBLIC]


def test_one_inner_address_makes_the_whole_name_suspect_but_translated_ones_do_not() -> None:
    judge = Judge.of(["a.example"])
    name = parse_host("a.example")
    inner, translated = map(ipaddress.ip_address, ("127.0.0.1", "64:ff9b::5db8:d70e"))
    with pytest.raises(Forbidden, match="loopback"):
        judge.by_address(name, 443, [PUBLIC, inner])
    assert judge.by_address(name, 443, [translated, PUBLIC]) == [PUBLIC]
    with pytest.raises(Forbidden):
        judge.by_address(name, 443, [translated])
    with pytest.raises(Forbidden):
        judge.by_address(name, 443, [])


def test_localhost_is_the_loopback_address_and_nothing_else() -> None:
    judge = Judge.of(["localhost:8080"])
    loop = ipaddress.ip_address("127.0.0.1")
    assert judge.by_address(parse_host("localhost"), 8080, [loop]) == [loop]
    with pytest.raises(Forbidden):
        judge.by_address(parse_host("localhost"), 8080, [ipaddress.ip_address("10.0.0.1")])
    with pytest.raises(Forbidden):
        judge.by_name(parse_host("127.0.0.1"), 8080)
