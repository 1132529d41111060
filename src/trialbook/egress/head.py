"""The head of an HTTP request or response, read strictly: what can be read in two ways is refused.

A request's target is taken apart here, and its head is written anew for the server, so that no byte
of it gets through that was not understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from trialbook.model.hosts import Host, parse_host, split_authority

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_PATH = re.compile(rb"[\x21-\x7e]*")
_VERSION = re.compile(rb"HTTP/1\.[01]")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: [\t\x20-\x7e\x80-\xff]*)?")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_MOST_FIELDS = 200
_HTTP_PORT = 80
# Fields that are about one connection only, and are not passed on.
_OF_CONNECTION = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization"),
        *(b"proxy-authenticate", b"te", b"trailer", b"upgrade", b"http2-settings"),
    )
)
# Fields that say where a message ends, or where it goes: they cannot be of one connection only.
_FRAMING = frozenset((b"host", b"content-length", b"transfer-encoding"))

Fields = list[tuple[bytes, bytes]]


class BadHead(ValueError):
    """A head that is no HTTP, or that two readers could read differently; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """How a body is delimited: by ``length`` in bytes, or in chunks."""

    length: int = 0
    chunked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that a proxy was sent: a tunnel to a host, or a message for one.

    ``head`` is what the host is sent; empty for tunnels.
    """

    method: str
    host: Host
    port: int
    tunnel: bool
    head: bytes = b""
    body: Body = Body()


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The head of a response. ``length`` is the body's; None if the connection's end ends it."""

    status: int
    head: bytes
    length: int | None


PING = b"OPTIONS * HTTP/1.1\r\nHost: proxy\r\n\r\n"
"""Asks the proxy itself whether it is there."""

PONG = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
"""What it answers."""


def parse_request(data: bytes) -> Request:
    """The request of a head, its final empty line included.

    Raises:
        BadHead: it is none, or not for a proxy of this kind.
        HostError: its host is none, or an address in an unusual notation.
    """
    first, fields = _parts(data)
    words = first.split(b" ")
    if len(words) != 3:  # noqa: PLR2004 - method, target, version
        raise BadHead("the first line is no request")
    method, target, version = words
    if not _TOKEN.fullmatch(method) or not _VERSION.fullmatch(version):
        raise BadHead("the first line is no request of HTTP/1.1")
    if method == b"CONNECT":
        return _tunnel(target, fields)
    return _message(method, target, fields)


def parse_response(data: bytes, method: str) -> Response:
    """The response of a head, its final empty line included, as it is passed on.

    Raises:
        BadHead: it is none.
    """
    first, fields = _parts(data)
    status = _STATUS.fullmatch(first)
    if status is None:
        raise BadHead("the first line is no status")
    code = int(status[1])
    kept = _passed_on(fields)
    # A server may say both; what then ends the body is not for us to guess.
    lengths = {value for name, value in fields if name.lower() == b"content-length"}
    chunked = any(name.lower() == b"transfer-encoding" for name, _ in fields)
    if len(lengths) > 1 or (lengths and chunked):
        raise BadHead("the response says in two ways where it ends")
    length = _length(lengths.pop()) if lengths else None
    if code in (204, 304) or method == "HEAD" or 100 <= code < 200:  # noqa: PLR2004 - HTTP
        length = 0
    if code >= 200:  # noqa: PLR2004 - HTTP
        kept.append((b"Connection", b"close"))
    return Response(status=code, head=_written(first, kept), length=length)


def _tunnel(target: bytes, fields: Fields) -> Request:
    host, port = _authority(target, None)
    named = _values(fields, b"host")
    if len(named) > 1 or (named and _authority(named[0], port) != (host, port)):
        raise BadHead("the Host field names another host than the request")
    if _values(fields, b"transfer-encoding") or any(
        value != b"0" for value in _values(fields, b"content-length")
    ):
        raise BadHead("a tunnel is asked for with a body")
    return Request(method="CONNECT", host=host, port=port, tunnel=True)


def _message(method: bytes, target: bytes, fields: Fields) -> Request:
    scheme, separator, rest = target.partition(b"://")
    if not separator or scheme.lower() != b"http":
        raise BadHead("a proxy is asked for a whole http:// address, or for a tunnel by CONNECT")
    cut = min((rest.index(c) for c in (b"/", b"?", b"#") if c in rest), default=len(rest))
    authority, path = rest[:cut], rest[cut:]
    if not _PATH.fullmatch(path) or b"#" in path:
        raise BadHead("the path holds what no path can")
    host, port = _authority(authority, _HTTP_PORT)
    named = _values(fields, b"host")
    if len(named) > 1:
        raise BadHead("there is more than one Host field")
    if named and _authority(named[0], _HTTP_PORT) != (host, port):
        raise BadHead("the Host field names another host than the request")
    body = _body(fields)
    # Written anew, whatever the spelling of the request was.
    where = str(host) if port == _HTTP_PORT else f"{host}:{port}"
    kept = [(b"Host", where.encode()), *_passed_on(fields, also=frozenset((b"host",)))]
    if not path.startswith(b"/"):
        path = b"/" + path
    head = _written(b"%s %s HTTP/1.1" % (method, path), [*kept, (b"Connection", b"close")])
    text = method.decode("ascii")
    return Request(method=text, host=host, port=port, tunnel=False, head=head, body=body)


def _body(fields: Fields) -> Body:
    codings = _values(fields, b"transfer-encoding")
    lengths = _values(fields, b"content-length")
    if codings and lengths:
        raise BadHead("it has a Transfer-Encoding and a Content-Length")
    if len(codings) > 1 or len(lengths) > 1:
        raise BadHead("it says more than once where it ends")
    if codings:
        if codings[0].lower() != b"chunked":
            raise BadHead("its Transfer-Encoding is not `chunked`")
        return Body(chunked=True)
    return Body(length=_length(lengths[0])) if lengths else Body()


def _length(value: bytes) -> int:
    if not _LENGTH.fullmatch(value):
        raise BadHead("its Content-Length is no number")
    return int(value)


def _authority(data: bytes, default_port: int | None) -> tuple[Host, int]:
    try:
        text, port = split_authority(data.decode("ascii"), default_port)
    except UnicodeDecodeError:
        raise BadHead("the host is not plain ASCII") from None
    if "@" in text:
        raise BadHead("the address holds a user")
    return parse_host(text), port


def _parts(data: bytes) -> tuple[bytes, Fields]:
    """The first line and the fields of a head."""
    if not data.endswith(b"\r\n\r\n"):
        raise BadHead("the head has no end")
    first, *lines = data[:-4].split(b"\r\n")
    if len(lines) > _MOST_FIELDS:
        raise BadHead("there are too many fields")
    fields: Fields = []
    for line in lines:
        name, colon, value = line.partition(b":")
        # A folded line begins with a blank; a blank before the colon is read in different ways.
        if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise BadHead("a field is malformed")
        fields.append((name, value.strip(b" \t")))
    return first, fields


def _passed_on(fields: Fields, also: frozenset[bytes] = frozenset()) -> Fields:
    named = {
        word.strip(b" \t").lower()
        for value in _values(fields, b"connection")
        for word in value.split(b",")
    }
    if named & _FRAMING:
        raise BadHead("its Connection field names what no connection may drop")
    dropped = _OF_CONNECTION | named | also
    return [(name, value) for name, value in fields if name.lower() not in dropped]


def _values(fields: Fields, wanted: bytes) -> list[bytes]:
    return [value for name, value in fields if name.lower() == wanted]


def _written(first: bytes, fields: Fields) -> bytes:
    lines = [first, *(b"%s: %s" % field for field in fields)]
    return b"\r\n".join(lines) + b"\r\n\r\n"
