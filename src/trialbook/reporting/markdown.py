"""Text from people and agents inside Markdown, so that it shows as it is and does nothing.

A report is read on forges whose Markdown links addresses, mentions and issue numbers by itself.
Text of authors is escaped; text that an agent had a hand in goes into code spans, where none of
that happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from trialbook.formats.visible import visible_line

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~!#&@$^])")
_LINE_START = re.compile(r"^(\s*)([-+=>]|\d+[.)])")
_ADDRESS = re.compile(r"(?i)(://|\bwww\.)")
_TICKS = re.compile("`+")


def prose(text: str) -> str:
    """An author's text as one line that means nothing but itself."""
    line = " ".join(visible_line(" ".join(text.split())).split())
    line = _SPECIAL.sub(r"\\\1", line)
    line = _ADDRESS.sub(lambda match: match[0][:-1] + "\\" + match[0][-1], line)
    return _LINE_START.sub(lambda match: match[1] + match[2][:-1] + "\\" + match[2][-1], line)


def code(text: str) -> str:
    """Any text as a code span on one line; safe in a table's cell too."""
    line = visible_line(text)
    if "|" in line:
        # A bar ends a table's cell even inside a code span; its escape stands for it everywhere.
        line = line.replace("|", "\\x7c")
    if not line.strip():
        # A code span of nothing but spaces would show nothing.
        line = line.replace(" ", "\u00b7") or "(empty)"
    fence = "`" * (max((len(run) for run in _TICKS.findall(line)), default=0) + 1)
    pad = " " if line.startswith(("`", " ")) or line.endswith(("`", " ")) else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def link(text: str, path: str) -> str:
    """Any text as a link to a file or folder beside the document, which a forge shows too."""
    # The dot keeps the first name from being taken for a scheme or a host.
    return f"[{code(text)}](./{quote(path, errors='replace')})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """A table of cells that are Markdown already; the columns in ``numbers`` align to the right."""
    right = set(numbers)
    rule = ["--:" if index in right else "---" for index in range(len(head))]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, rule, *rows))
