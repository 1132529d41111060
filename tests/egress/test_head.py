from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trialbook.egress import forward
from trialbook.egress.head import PING, BadHead, parse_request, parse_response
from trialbook.model.hosts import HostError


def head(*lines: str) -> bytes:
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1")


def test_a_request_is_written_anew_for_the_server() -> None:
    request = parse_request(
        head(
            "GET http://API.Example.com.:8080/a?b=c HTTP/1.0",
            "Host: api.example.com:8080",
            "Proxy-Authorization: Basic x",
            "Proxy-Connection: keep-alive",
            "Connection: keep-alive, X-Own",
            "X-Own: 1",
            "Upgrade: websocket",
            "Accept: */*",
        )
    )
    assert (request.host.text, request.port, request.tunnel) == ("api.example.com", 8080, False)
    assert request.head == head(
        "GET /a?b=c HTTP/1.1",
        "Host: api.example.com:8080",
        "Accept: */*",
        "Connection: close",
    )


def test_a_tunnel_is_a_host_and_a_port() -> None:
    request = parse_request(head("CONNECT example.com:443 HTTP/1.1", "Host: example.com"))
    assert (str(request.host), request.port, request.tunnel) == ("example.com", 443, True)
    request = parse_request(head("CONNECT [2600::1]:443 HTTP/1.1"))
    assert str(request.host) == "[2600::1]"


@pytest.mark.parametrize(
    ("first", "fields"),
    [
        # Two hosts in one request.
        ("GET http://a.example/ HTTP/1.1", ["Host: b.example"]),
        ("GET http://a.example/ HTTP/1.1", ["Host: a.example", "Host: b.example"]),
        ("GET http://a.example/ HTTP/1.1", ["Host: a.example", "host: a.example"]),
        ("GET http://a.example/ HTTP/1.1", ["Host: a.example:81"]),
        ("GET http://b.example@a.example/ HTTP/1.1", []),
        ("GET http://a.example\\@b.example/ HTTP/1.1", []),
        ("GET http://a.example#@b.example/ HTTP/1.1", []),
        ("CONNECT a.example:443 HTTP/1.1", ["Host: b.example:443"]),
        # Two ends of one body.
        ("POST http://a.example/ HTTP/1.1", ["Content-Length: 1", "Transfer-Encoding: chunked"]),
        ("POST http://a.example/ HTTP/1.1", ["Content-Length: 1", "Content-Length: 2"]),
        ("POST http://a.example/ HTTP/1.1", ["Content-Length: 1", "Content-Length: 1"]),
        ("POST http://a.example/ HTTP/1.1", ["Content-Length: 1, 1"]),
        ("POST http://a.example/ HTTP/1.1", ["Content-Length: +1"]),
        ("POST http://a.example/ HTTP/1.1", ["Content-Length: 0x1"]),
        ("POST http://a.example/ HTTP/1.1", ["Content-Length: 1_0"]),
        ("POST http://a.example/ HTTP/1.1", ["Transfer-Encoding: gzip, chunked"]),
        ("POST http://a.example/ HTTP/1.1", ["Transfer-Encoding: xchunked"]),
        ("POST http://a.example/ HTTP/1.1", ["Transfer-Encoding: chunked"] * 2),
        ("POST http://a.example/ HTTP/1.1", ["Transfer-Encoding : chunked"]),
        ("POST http://a.example/ HTTP/1.1", ["Connection: content-length", "Content-Length: 3"]),
        ("POST http://a.example/ HTTP/1.1", ["Connection: close, host"]),
        ("CONNECT a.example:443 HTTP/1.1", ["Content-Length: 5"]),
        ("CONNECT a.example:443 HTTP/1.1", ["Transfer-Encoding: chunked"]),
        # What some read as a line's end, a fold, or a blank.
        ("GET http://a.example/ HTTP/1.1", ["X: a\nHost: b.example"]),
        ("GET http://a.example/ HTTP/1.1", ["X: a\rHost: b.example"]),
        ("GET http://a.example/ HTTP/1.1", ["X: a", " folded"]),
        ("GET http://a.example/ HTTP/1.1", ["X: a\0"]),
        ("GET http://a.example/ HTTP/1.1", ["no colon"]),
        ("GET http://a.example/ HTTP/1.1", [": no name"]),
        ("GET\thttp://a.example/ HTTP/1.1", []),
        ("GET http://a.example/ b HTTP/1.1", []),
        ("GET  http://a.example/ HTTP/1.1", []),
        ("GET http://a.example/ HTTP/1.1 ", []),
        ("GET http://a.example/\x7f HTTP/1.1", []),
        # What is for no proxy, or for another kind of it.
        ("GET / HTTP/1.1", ["Host: a.example"]),
        ("GET https://a.example/ HTTP/1.1", []),
        ("GET ftp://a.example/ HTTP/1.1", []),
        ("GET //a.example/ HTTP/1.1", []),
        ("PRI * HTTP/2.0", []),
        ("GET http://a.example/", []),
        ("GET http://a.example/ HTTP/1.2", []),
        ("CONNECT a.example HTTP/1.1", []),
        ("CONNECT http://a.example:443 HTTP/1.1", []),
        ("CONNECT a.example:443/ HTTP/1.1", []),
        ("", []),
        ("GET http://a.example/ HTTP/1.1", ["X: y"] * 201),
        # Hosts in unusual notations.
        ("GET http://2130706433/ HTTP/1.1", []),
        ("GET http://0x7f000001/ HTTP/1.1", []),
        ("GET http://127.1/ HTTP/1.1", []),
        ("GET http://0177.0.0.1/ HTTP/1.1", []),
        ("GET http://[::ffff:127.0.0.1]/ HTTP/1.1", []),
        ("GET http://a.example%00.b.example/ HTTP/1.1", []),
        ("GET http://\xe4.example/ HTTP/1.1", []),
        ("GET http:/// HTTP/1.1", []),
        ("CONNECT :443 HTTP/1.1", []),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(first: str, fields: list[str]) -> None:
    with pytest.raises((BadHead, HostError)):
        parse_request(head(first, *fields))


@given(st.binary(max_size=200))
@example(b"\r\n\r\n")
def test_any_bytes_are_a_request_or_told_to_be_none(data: bytes) -> None:
    for end in (b"", b"\r\n\r\n"):
        with contextlib.suppress(BadHead, HostError):
            assert parse_request(data + end).host.text


@given(st.lists(st.sampled_from(["GET ", "http://", "a.example", ":", "/", "\r\n", "Host: ", "b"])))
def test_a_head_written_for_a_server_is_one_request_to_one_host(parts: list[str]) -> None:
    try:
        request = parse_request(("".join(parts) + " HTTP/1.1\r\n\r\n").encode())
    except (BadHead, HostError):
        return
    assert request.head.count(b"\r\n\r\n") == 1
    assert request.head.lower().count(b"\nhost:") == 1
    assert request.head.count(b"HTTP/1.1\r\n") == 1


def test_a_response_is_passed_on_as_the_last_of_its_connection() -> None:
    data = head("HTTP/1.1 200 OK", "Content-Length: 3", "Keep-Alive: 5", "Connection: keep-alive")
    response = parse_response(data, "GET")
    assert response.length == 3
    assert response.head == head("HTTP/1.1 200 OK", "Content-Length: 3", "Connection: close")
    assert parse_response(data, "HEAD").length == 0
    assert parse_response(head("HTTP/1.1 304 Not Modified"), "GET").length == 0
    assert parse_response(head("HTTP/1.1 200", "Transfer-Encoding: chunked"), "GET").length is None
    assert parse_response(head("HTTP/1.1 100 Continue"), "GET").head == head(
        "HTTP/1.1 100 Continue"
    )


@pytest.mark.parametrize(
    "data",
    [
        head("HTTP/2 200"),
        head("SSH-2.0-OpenSSH"),
        head("HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2"),
        head("HTTP/1.1 200 OK", "Content-Length: 1", "Transfer-Encoding: chunked"),
        head("HTTP/1.1 200 OK", "Content-Length: x"),
        head("HTTP/1.1 200 OK", "X: a\nb: c"),
    ],
)
def test_what_is_no_response_is_not_passed_on(data: bytes) -> None:
    with pytest.raises(BadHead):
        parse_response(data, "GET")


def test_the_forwarder_asks_what_the_proxy_answers() -> None:
    assert forward.PING == PING
