"""Tables that fit: as wide as the place allows, in other shapes where that is too little.

Nothing is ever left out: where columns do not fit side by side, each row becomes a block of lines,
or the columns are spread over several tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

# A cell that may be broken is not made narrower than its longest word, up to this many columns.
_WORD = 32
_GAP = 3
_PAIR = 2
_INDENT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its head, whether it holds numbers, and whether its cells stay on one line."""

    head: str
    number: bool = False
    whole: bool = False


class Grid:
    """A table without vertical lines, of cells that are safe to show.

    Where it is too wide for the place, each row becomes a block: its first cell on a line of its
    own, below it the others, one a line, after the heads of their columns. A ``spread`` table
    becomes several instead, each with the first column and as many others as fit.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        heads: Sequence[Text],
        rows: Sequence[Sequence[Text]],
        *,
        spread: bool = False,
    ) -> None:
        self._columns = columns
        self._heads = heads
        self._rows = rows
        self._spread = spread
        self._least = [self._least_width(number) for number in range(len(columns))]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it for the width that there is."""
        del console
        everything = list(range(len(self._columns)))
        if self._fits(everything, options.max_width):
            yield self._table(everything, options.max_width)
            return
        groups = self._groups(options.max_width) if self._spread else []
        if not groups:
            yield from self._blocks()
            return
        for number, group in enumerate(groups):
            if number:
                yield Text()
            yield self._table(group, options.max_width)

    def _cells(self, number: int) -> Iterator[Text]:
        yield self._heads[number]
        for row in self._rows:
            yield row[number]

    def _widest(self, number: int) -> int:
        return max(_width(cell) for cell in self._cells(number))

    def _least_width(self, number: int) -> int:
        if self._columns[number].whole:
            return self._widest(number)
        words = (word for cell in self._cells(number) for word in cell.plain.split())
        return min(_WORD, max(map(cell_len, words), default=1))

    def _fits(self, columns: Sequence[int], width: int) -> bool:
        return sum(self._least[number] + _GAP for number in columns) - _GAP <= width

    def _groups(self, width: int) -> list[list[int]]:
        """The columns of each table; empty if that would mostly repeat the first one."""
        groups: list[list[int]] = []
        for number in range(1, len(self._columns)):
            if groups and self._fits([*groups[-1], number], width):
                groups[-1].append(number)
            elif self._fits([0, number], width):
                groups.append([0, number])
            else:
                return []
        return [] if all(len(group) == _PAIR for group in groups) else groups

    def _table(self, columns: Sequence[int], width: int) -> Table:
        shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
        for number, cells in zip(columns, self._widths(columns, width), strict=True):
            column = self._columns[number]
            shown.add_column(
                self._heads[number],
                justify="right" if column.number else "left",
                no_wrap=column.whole,
                overflow="fold",
                width=cells,
            )
        for row in self._rows:
            shown.add_row(*(row[number] for number in columns))
        return shown

    def _widths(self, columns: Sequence[int], width: int) -> list[int]:
        """What each column gets: its least, and what is left to those that can use it."""
        got = {number: self._least[number] for number in columns}
        left = width - sum(got.values()) - _GAP * (len(columns) - 1)
        wanting = sorted(columns, key=lambda number: self._widest(number) - got[number])
        for place, number in enumerate(wanting):
            more = min(self._widest(number) - got[number], left // (len(wanting) - place))
            got[number] += more
            left -= more
        return [got[number] for number in columns]

    def _blocks(self) -> RenderResult:
        yield Text(style="dim").append_text(self._heads[0])
        for row in self._rows:
            yield row[0]
            facts = Table(box=None, show_header=False, pad_edge=False)
            facts.add_column(style="dim", overflow="fold")
            facts.add_column(overflow="fold")
            for head, cell in zip(self._heads[1:], row[1:], strict=True):
                if cell.plain:
                    facts.add_row(head, cell)
            yield Padding(facts, (0, 0, 0, _INDENT))


def _width(cell: Text) -> int:
    return max((cell_len(line) for line in cell.plain.split("\n")), default=0)
