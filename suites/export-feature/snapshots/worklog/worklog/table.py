"""Text in columns."""

from collections.abc import Iterable, Sequence


def table(rows: Iterable[Sequence[str]], right: frozenset[int] = frozenset()) -> str:
    """Rows with their cells lined up. Columns whose number is in `right` end at one edge."""
    lines = [list(row) for row in rows]
    if not lines:
        return ""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ""
    for line in lines:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text += "  ".join(cells).rstrip() + "\n"
    return text
