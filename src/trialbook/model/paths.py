"""Git path names as text, without loss.

Git paths are bytes. A name that is valid UTF-8 and has no control characters stands for itself;
any other is written the way ``git status`` writes it: in double quotes with C escapes. A name that
begins with a double quote is quoted too, so that the two forms cannot be confused.
"""

from __future__ import annotations

import re
import unicodedata

_NAMED = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
_BACK = {name: code for code, name in _NAMED.items()}
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
_HIDDEN = {"Cc", "Cf", "Zl", "Zp", "Cs"}


def path_to_text(path: bytes) -> str:
    """The text form of a git path."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return _quote(path)
    if text.startswith('"') or any(unicodedata.category(char) in _HIDDEN for char in text):
        return _quote(path)
    return text


def text_to_path(text: str) -> bytes:
    """The git path that `path_to_text` wrote as ``text``.

    Raises:
        ValueError: a quoted form that is not well formed.
    """
    if not text.startswith('"'):
        return text.encode("utf-8")
    raw = text.encode("utf-8")
    if len(raw) < 2 or not raw.endswith(b'"'):  # noqa: PLR2004 - the two quotes
        raise ValueError(f"not a quoted path: {text!r}")
    return _ESCAPE.sub(_unescape, raw[1:-1])


def _quote(path: bytes) -> str:
    out = ['"']
    for byte in path:
        if byte in _NAMED:
            out.append("\\" + _NAMED[byte])
        elif 0x20 <= byte < 0x7F:  # noqa: PLR2004 - printable ASCII
            out.append(chr(byte))
        else:
            out.append(f"\\{byte:03o}")
    return "".join(out) + '"'


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match.group(1).decode("ascii")
    return bytes([_BACK[code] if code in _BACK else int(code, 8)])
