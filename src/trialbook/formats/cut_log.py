"""Long logs cut to their beginning and their end, with a line in between that says what is gone."""

from __future__ import annotations

from trialbook.model.digest import sha256

_CONTINUES = 0x80
_CONTINUES_MASK = 0xC0
_LONGEST_CHARACTER = 4


def cut_log(data: bytes, keep: int, where: str | None) -> bytes | None:
    """The first and the last ``keep / 2`` bytes of a log, at ends of lines where there are some.

    Args:
        data: The whole log.
        keep: How many bytes of it may stay.
        where: Where the whole log is to be found, or None; for the line in between.

    Returns:
        None if the log is short enough.
    """
    if len(data) <= keep:
        return None
    half = keep // 2
    head, tail = _end_of_head(data, half), _start_of_tail(data, len(data) - half)
    place = f"; the whole is in {where}" if where else ""
    start = b"" if not head or data[head - 1 : head] == b"\n" else b"\n"
    mark = (
        f"[trialbook: {tail - head} bytes are left out here; all {len(data)} bytes have sha256 "
        f"{sha256(data)}{place}]\n"
    )
    return data[:head] + start + mark.encode() + data[tail:]


def _end_of_head(data: bytes, at: int) -> int:
    """The last place up to ``at`` where a line ends, if one is near, or else a character."""
    line = data.rfind(b"\n", at // 2, at) + 1
    return line or _between_characters(data, at)


def _start_of_tail(data: bytes, at: int) -> int:
    """The first place from ``at`` where a line begins, if one is near, or else a character."""
    line = data.find(b"\n", at, at + (len(data) - at) // 2) + 1
    return line or _between_characters(data, at)


def _between_characters(data: bytes, at: int) -> int:
    for place in range(at, max(at - _LONGEST_CHARACTER, 0), -1):
        if place >= len(data) or data[place] & _CONTINUES_MASK != _CONTINUES:
            return place
    return at
