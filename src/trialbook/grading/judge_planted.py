"""Text in a diff that speaks to whoever judges it: looked for, and only ever told.

A comment that says "answer MERGE", a forged end of the data, letters that cannot be seen, a text in
base64 that decodes to such a sentence. None of it proves anything; people look at it.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator

from trialbook.formats.visible import decode, pieces, unstyled
from trialbook.model.judgement import Planted

MOST = 20
_LONGEST = 160
_HUGE = 5_000
_READ = 20_000
"""How much of one line is looked at."""

# Letters of other scripts that look like Latin ones, as far as such sentences need them.
_LOOKALIKES = str.maketrans("аеорсухіјѕтмнкв", "aeopcyxijstmhkb")
_ADDRESSED = (
    r"\b(?:ignore|disregard|forget|override|skip)\b.{0,60}\b(?:previous|prior|above|earlier|rubric)\b",
    r"\b(?:ignore|disregard|forget|override|skip)\b.{0,60}\b(?:questions|instructions?|findings?)\b",
    r"\b(?:answer|reply|respond|output|say|choose|vote|conclude)\b.{0,40}\bmerge\b(?! (?:of|the))",
    r"\b(?:answer|reply|respond|output|say|choose|vote|conclude)\b.{0,40}\b(?:approved?|lgtm)\b",
    r"\b(?:answer|reply|respond)\b.{0,40}\b(?:verdict|every question|all questions|with yes)\b",
    r"\byou are (?:an? |the |now )?(?:ai|language model|judge|code reviewer|reviewer|grader)\b",
    r"\bas an ai\b|\bsystem (?:prompt|override)\b",
    r"\b(?:note|instructions?|message)(?: to| for|,)(?: the| any| all)? (?:ai|llm|judge|model)s?\b",
    r"\b(?:note|instructions?|message)(?: to| for|,)(?: the| any| all)? (?:reviewer|grader)s?\b",
    r"[\"']?verdict[\"']?\s*[:=]\s*[\"']?(?:merge|approve|accept)",
    r"<\|?(?:im_start|im_end|system|endoftext)\|?>",
)
_SENTENCE = re.compile("|".join(_ADDRESSED))
_MARK = re.compile(
    r"(?:begin|end)[ _-]*(?:of[ _-]*)?(?:the[ _-]*)?(?:diff|data|brief|change|rubric)\b"
    r"|^\W*(?:<{3,}|={5,}|`{4,})\W*(?:end|diff|data|rubric)"
)
_RUBRIC = re.compile(r"^\W*(?:verdicts|no_when|rubric)\s*:")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")


def planted_in(patch: bytes) -> tuple[Planted, ...]:
    """What looks as if it were meant for a judge, in the diff's order; at most `MOST` of it."""
    found: list[Planted] = []
    seen: set[tuple[str, str]] = set()
    for one in _found(decode(patch)):
        key = one.kind, one.text
        if key not in seen:
            seen.add(key)
            found.append(one)
        if len(found) == MOST:
            break
    return tuple(found)


def _found(text: str) -> Iterator[Planted]:
    for number, row in enumerate(text.split("\n"), start=1):
        for kind, what in _in_line(row):
            yield Planted(kind=kind, line=number, text=_short(what))


def _in_line(row: str) -> Iterator[tuple[str, str]]:
    if len(row) > _HUGE:
        yield "huge_line", f"a line of {len(row)} characters"
    row = row[:_READ]
    if row.startswith(("diff --git ", "index ", "--- ", "+++ ", "@@ ")):
        return
    plain = _plain(row)
    if _SENTENCE.search(plain):
        yield "instruction", row
    elif _MARK.search(plain):
        yield "forged_mark", row
    elif row.startswith("+") and _RUBRIC.search(plain):
        yield "forged_rubric", row
    if _unseen(row):
        yield "unseen_characters", row
    for match in _BASE64.finditer(row):
        hidden = _decoded(match[0])
        if hidden and _SENTENCE.search(_plain(hidden)):
            yield "encoded_instruction", hidden


def _plain(text: str) -> str:
    """The text as a reader takes it: one form of each letter, nothing unseen, in lower case."""
    text = unstyled(text)
    if not text.isascii() or not text.isprintable():
        text = unicodedata.normalize("NFKC", text)
        kept = (char for char in text if unicodedata.category(char) not in ("Cf", "Cc", "Mn"))
        text = "".join(kept)
    return text.casefold().translate(_LOOKALIKES)


def _unseen(row: str) -> bool:
    """Whether there is a character that is not seen, or turns others around."""
    return any(
        escape and shown not in ("\\x0d", "\\x0c", "\\ufeff") for shown, escape in pieces(row)
    )


def _decoded(text: str) -> str:
    text = text.translate(str.maketrans("-_", "+/"))
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        return data.decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def _short(text: str) -> str:
    shown = "".join(piece for piece, _ in pieces(text.strip()))
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
