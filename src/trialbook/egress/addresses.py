"""Which addresses are public: everything else is only reached where a list names it itself."""

from __future__ import annotations

import ipaddress

from trialbook.model.hosts import Address

# Written out, since what the standard library calls private differs from version to version.
_NOT_PUBLIC_4 = {
    "0.0.0.0/8": "this host",
    "10.0.0.0/8": "a private address",
    "100.64.0.0/10": "a provider's inner address",
    "127.0.0.0/8": "a loopback address",
    "168.63.129.16/32": "a cloud's metadata service",
    "169.254.0.0/16": "a link-local address",
    "172.16.0.0/12": "a private address",
    "192.0.0.0/24": "a reserved address",
    "192.0.2.0/24": "a reserved address",
    "192.88.99.0/24": "a relay to other addresses",
    "192.168.0.0/16": "a private address",
    "198.18.0.0/15": "a reserved address",
    "198.51.100.0/24": "a reserved address",
    "203.0.113.0/24": "a reserved address",
    "224.0.0.0/4": "a multicast address",
    "240.0.0.0/4": "a reserved address",
}
_NOT_PUBLIC_6 = {
    "::1/128": "a loopback address",
    "::/128": "this host",
    "::ffff:0:0/96": "an address of version 4 in disguise",
    "64:ff9b::/96": "an address of version 4 in disguise",
    "64:ff9b:1::/48": "an address of version 4 in disguise",
    "fc00::/7": "a private address",
    "fe80::/10": "a link-local address",
    "fec0::/10": "a private address",
    "ff00::/8": "a multicast address",
    "2001::/23": "a reserved address",
    "2001:db8::/32": "a reserved address",
    "2002::/16": "an address of version 4 in disguise",
    "3fff::/20": "a reserved address",
}
_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
_KINDS_4 = [(ipaddress.IPv4Network(net), what) for net, what in _NOT_PUBLIC_4.items()]
_KINDS_6 = [(ipaddress.IPv6Network(net), what) for net, what in _NOT_PUBLIC_6.items()]
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


def not_public(address: Address) -> str | None:
    """What an address is if it is not public, in words; None for public ones."""
    if isinstance(address, ipaddress.IPv4Address):
        return next((what for net, what in _KINDS_4 if address in net), None)
    plain = ipaddress.IPv6Address(int(address))
    found = next((what for net, what in _KINDS_6 if plain in net), None)
    if found is None and plain not in _PUBLIC_6:
        return "a reserved address"
    return found


def translated(address: Address) -> bool:
    """Whether a resolver made it up from an address of version 4, beside which it then stands."""
    return isinstance(address, ipaddress.IPv6Address) and (
        ipaddress.IPv6Address(int(address)) in _TRANSLATED
    )
