"""What differs inside of a line that was changed: the words, not the letters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

Spans = tuple[tuple[int, int], ...]
"""Parts of a line, each by where it begins and ends."""

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 500
_MOST_PAIRS = 6_000
_UNLIKE = 0.7
"""Lines that share less than the rest of this are two lines, not one that was changed."""


def changed_words(old: str, new: str) -> tuple[Spans, Spans]:
    """What of an old line is gone, and what of the new one in its place came.

    Nothing is marked in lines that have little in common, and in very long ones.
    """
    if old == new or len(old) > _LONGEST or len(new) > _LONGEST:
        return (), ()
    before, after = _WORD.findall(old), _WORD.findall(new)
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    gone, came = before[head : len(before) - tail], after[head : len(after) - tail]
    start = sum(map(len, before[:head]))
    spans = _within(gone, came, start)
    kept = len(old) - sum(end - at for at, end in spans[0])
    if kept - _blank(old) <= (1 - _UNLIKE) * max(len(old.strip()), len(new.strip())):
        return (), ()
    return spans


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _blank(text: str) -> int:
    return len(text) - len(text.strip())


def _within(gone: Sequence[str], came: Sequence[str], start: int) -> tuple[Spans, Spans]:
    """The parts of what is between the beginning and the end that both lines share."""
    if not gone or not came or len(gone) * len(came) > _MOST_PAIRS:
        return _whole(gone, start), _whole(came, start)
    old: list[tuple[int, int]] = []
    new: list[tuple[int, int]] = []
    matcher = SequenceMatcher(None, gone, came, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        # A space between two changed words is no reason for two marks.
        if kind != "equal" or (old and new and not "".join(gone[i:j]).strip()):
            _add(old, gone, (i, j), start)
            _add(new, came, (k, m), start)
    return tuple(old), tuple(new)


def _whole(words: Sequence[str], start: int) -> Spans:
    length = sum(map(len, words))
    return ((start, start + length),) if length else ()


def _add(
    spans: list[tuple[int, int]], words: Sequence[str], part: tuple[int, int], start: int
) -> None:
    at = start + sum(map(len, words[: part[0]]))
    end = at + sum(map(len, words[part[0] : part[1]]))
    if at == end:
        return
    if spans and spans[-1][1] == at:
        spans[-1] = (spans[-1][0], end)
    else:
        spans.append((at, end))
