r"""Hostile text made fit to look at: every character that acts instead of showing becomes visible.

Control characters (ANSI and OSC sequences among them), bidirectional overrides, zero-width and
other format characters, line separators, lone surrogates and private-use characters turn into
escapes such as ``\x1b`` and ``\u202e``. Bytes that are no UTF-8 turn into ``\xff``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Not the unassigned ones: which those are depends on the version of Python.
_ACTING = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
# Letters by category that nevertheless show nothing, or all of the line's width.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffc")
# Printable ASCII, tab and newline need no look at the Unicode database.
_PLAIN = re.compile(r"[\t\n\x20-\x7e]+")
# Colours and other styles (SGR): the only sequences that may go without a trace.
_STYLE = re.compile("\x1b\\[[0-9;:]*m")


def decode(data: bytes) -> str:
    """Text for people from any bytes; nothing is lost, nothing raises."""
    return data.decode("utf-8", "backslashreplace")


def visible(text: str) -> str:
    """The text with every acting character escaped; newlines and tabs stay."""
    if not text or _PLAIN.fullmatch(text):
        return text
    return "".join(piece for piece, _ in pieces(text))


def visible_line(text: str) -> str:
    """As `visible`, on one line: newlines and tabs are escaped too."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def unstyled(text: str) -> str:
    """The text as a log should read: styles removed, Windows line ends made plain.

    Everything else that acts is left for `visible` to show.
    """
    return _STYLE.sub("", text).replace("\r\n", "\n")


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is an escape that stands for an acting character."""
    if _PLAIN.fullmatch(text):
        yield text, False
        return
    plain: list[str] = []
    for char in text:
        if not _acts(char):
            plain.append(char)
            continue
        if plain:
            yield "".join(plain), False
            plain.clear()
        yield escape(char), True
    if plain:
        yield "".join(plain), False


def escape(char: str) -> str:
    r"""One character as an escape: ``\x1b``, ``\u202e`` or ``\U000e0041``."""
    code = ord(char)
    if code <= 0xFF:  # noqa: PLR2004 - what two hexadecimal digits hold
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four digits


def _acts(char: str) -> bool:
    if char in "\n\t":
        return False
    return char in _BLANK or unicodedata.category(char) in _ACTING


def json_for_terminal(text: str) -> str:
    """A JSON text in which acting characters are written as JSON escapes: the same value."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_json_escape(char) if _acts(char) else char for char in text)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
