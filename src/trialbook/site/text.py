"""Cut-down text of files for pages: what an agent printed, never longer than a page can bear."""

from __future__ import annotations

from dataclasses import dataclass

from trialbook.formats.visible import decode, unstyled


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """As much of a text file as a page shows: its head and its tail, and how much lies between.

    ``bytes`` is the file's size; ``hidden`` counts the bytes that are left out.
    """

    head: str
    tail: str
    hidden: int
    bytes: int


def excerpt(data: bytes, *, head: int, tail: int) -> Excerpt:
    """A file's text with styles removed, cut in the middle at line ends where it is too long."""
    if len(data) <= head + tail:
        return Excerpt(head=_text(data), tail="", hidden=0, bytes=len(data))
    first = data[:head]
    last = data[len(data) - tail :]
    first = first[: first.rfind(b"\n") + 1] or first
    last = last[last.find(b"\n") + 1 :] or last
    hidden = len(data) - len(first) - len(last)
    return Excerpt(head=_text(first), tail=_text(last), hidden=hidden, bytes=len(data))


def plain_text(text: str) -> str:
    """A text as a log should read: styles removed, line ends made plain."""
    return unstyled(text)


def _text(data: bytes) -> str:
    return unstyled(decode(data))
