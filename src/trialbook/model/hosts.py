"""Hosts and ports as people list them and as programs ask for them, in one normal form.

A host is a name, ``*.`` and a name, or an address. Names are lower case, without a final dot, in
the form that the network uses (``xn--...``). Addresses are written in the one usual way; what only
looks like a number is neither.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

DEFAULT_PORT = 443
"""The port of an entry that names none."""

LOCALHOST = "localhost"

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LONGEST_NAME = 253
_HIGHEST_PORT = 65535


class HostError(ValueError):
    """A host or a port that is none, or is written in an unusual way; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A name or an address, in normal form. ``address`` is None for names."""

    text: str
    address: Address | None = None

    def __str__(self) -> str:
        """As it stands in front of a port."""
        return f"[{self.text}]" if isinstance(self.address, ipaddress.IPv6Address) else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a list of hosts. With ``below``, the names below the host, never itself."""

    host: Host
    port: int
    below: bool = False

    def covers(self, host: Host, port: int) -> bool:
        """Whether the entry lists that host and port."""
        if port != self.port:
            return False
        if self.below:
            return host.address is None and host.text.endswith(f".{self.host.text}")
        return host == self.host

    def __str__(self) -> str:
        """As it could be written, the port always with it."""
        return f"{'*.' if self.below else ''}{self.host}:{self.port}"


def parse_entry(text: str) -> Entry:
    """An entry as people write it: ``host``, ``host:port``, ``*.host``, ``[address]:port``.

    Raises:
        HostError: it is none of these.
    """
    below = text.startswith("*.")
    host_text, port = split_authority(text[2:] if below else text, DEFAULT_PORT)
    if "*" in host_text:
        raise HostError("`*` may only stand first, as in `*.example.com`")
    host = parse_host(host_text)
    if below and host.address is not None:
        raise HostError("`*.` goes before a name, not before an address")
    return Entry(host=host, port=port, below=below)


def split_authority(text: str, default_port: int | None) -> tuple[str, int]:
    """Host and port of ``host:port``, the host as written.

    Args:
        text: The text; an address of version 6 stands in brackets.
        default_port: The port if there is none; None if there must be one.

    Raises:
        HostError: it is nothing of the kind.
    """
    if text.startswith("["):
        host, bracket, rest = text.partition("]")
        host += bracket
        if not bracket or (rest and not rest.startswith(":")):
            raise HostError("an address in brackets is followed by `:` and a port, or by nothing")
        port = rest[1:] if rest else None
    else:
        host, colon, port_text = text.partition(":")
        port = port_text if colon else None
    if port is None:
        if default_port is None:
            raise HostError("the port is missing")
        return host, default_port
    if not _PORT.fullmatch(port) or int(port) > _HIGHEST_PORT:
        raise HostError(f"`{port[:20]}` is no port; one is a number from 1 to 65535")
    return host, int(port)


def parse_host(text: str) -> Host:
    """A host in normal form.

    Raises:
        HostError: it is no host, or an address in another notation than the usual one.
    """
    if text.startswith("["):
        return _version_6(text)
    name = _ascii(text).lower()
    name = name.removesuffix(".")
    labels = name.split(".")
    if not name or len(name) > _LONGEST_NAME:
        raise HostError("the host is missing" if not name else "the host's name is too long")
    if _NUMBER.fullmatch(labels[-1]):
        return _version_4(name, text)
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise HostError(f"`{text[:80]}` is no host name")
    return Host(text=name)


def _version_4(name: str, written: str) -> Host:
    try:
        address = ipaddress.IPv4Address(name)
    except ValueError:
        address = None
    # Other notations name the same address for some programs and another one for others.
    if address is None or str(address) != written:
        raise HostError(f"`{written[:80]}` is an address in an unusual notation")
    return Host(text=name, address=address)


def _version_6(written: str) -> Host:
    inner = written[1:-1] if written.endswith("]") else ""
    try:
        address = ipaddress.IPv6Address(inner)
    except ValueError:
        raise HostError(f"`{written[:80]}` is no address") from None
    if str(address) != inner.lower() or address.scope_id is not None or address.ipv4_mapped:
        raise HostError(f"`{written[:80]}` is an address in an unusual notation")
    return Host(text=str(address), address=address)


def _ascii(text: str) -> str:
    if text.isascii():
        return text
    try:
        name = text.encode("idna").decode("ascii")
        same = name.encode("ascii").decode("idna") == text.lower().removesuffix(".")
    except UnicodeError:
        raise HostError(f"`{text[:80]}` is no host name") from None
    if not same:
        # Two standards disagree on what it means.
        raise HostError(f"`{text[:80]}` can be read in more than one way; write it as `xn--...`")
    return name
