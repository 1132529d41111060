"""Judges where a connection may go: by the list, and by the addresses that a name has right now."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trialbook.egress.addresses import not_public, translated
from trialbook.model.hosts import LOCALHOST, Address, Entry, Host, parse_entry

LOOPBACK = (ipaddress.IPv4Address("127.0.0.1"), ipaddress.IPv6Address("::1"))


class Forbidden(Exception):
    """A connection that the policy does not allow; the text says why."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Knows the list of one policy."""

    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, allow: Iterable[str]) -> Judge:
        """The judge for a list as it is written.

        Raises:
            HostError: an entry is none.
        """
        return cls(tuple(parse_entry(text) for text in allow))

    def by_name(self, host: Host, port: int) -> None:
        """See that the host and port are listed, before anybody is asked about the name.

        Raises:
            Forbidden: they are not.
        """
        if any(entry.covers(host, port) for entry in self.entries):
            return
        if any(entry.covers(host, entry.port) for entry in self.entries):
            raise Forbidden("the host is listed, but not with this port")
        raise Forbidden("it is not listed")

    def by_address(self, host: Host, port: int, found: Sequence[Address]) -> list[Address]:
        """The addresses that may be connected to: of those of the host, in order.

        An address that is not public has to be listed itself, with the port. One that is not makes
        all of the name suspect, but for those that resolvers translate.

        Raises:
            Forbidden: there is none.
        """
        good: list[Address] = []
        trouble = ""
        for address in found:
            what = not_public(address)
            if what is None or self._lists(host, address, port):
                good.append(address)
                continue
            trouble = trouble or f"its address {address} is {what}, which the list does not name"
            if not translated(address):
                raise Forbidden(trouble)
        if not good:
            raise Forbidden(trouble or "it has no address")
        return good

    def _lists(self, host: Host, address: Address, port: int) -> bool:
        # These were found on the list already.
        if host.address is not None:
            return address == host.address
        if host.text == LOCALHOST:
            return address in LOOPBACK
        literal = Host(text=str(address), address=address)
        return any(entry.covers(literal, port) for entry in self.entries)
