from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import trialbook, write_files

from trialbook.cli.terminal import Column, Text, render, table

HEADS = ("configuration", "accepted", "the rest", "valid executions", "spend")
COLUMNS = [
    Column(head="configuration"),
    Column(head="accepted", number=True, whole=True),
    Column(head="the rest"),
    Column(head="valid executions", number=True, whole=True),
    Column(head="spend", number=True),
]
ROWS = [
    ["baseline", "24/30 (80.0 %)", "3 rejected, 1 agent timeout", "24/28 (85.7 %)", "$1.23"],
    ["candidate", "2/30 (6.7 %)", "28 rejected", "2/30 (6.7 %)", "unknown"],
]


def drawn(width: int) -> str:
    return render([table(COLUMNS, ROWS)], colour=False, width=width)


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_a_table_that_fits_has_a_line_for_each_row() -> None:
    lines = drawn(90).splitlines()
    assert len(lines) == 4
    assert lines[2].split()[0] == "baseline"
    assert lines[2].endswith("$1.23")


@pytest.mark.parametrize("width", [40, 50, 60, 70])
def test_a_table_that_does_not_fit_becomes_a_block_for_each_row(width: int) -> None:
    text = drawn(width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert "baseline" in lines
    assert re.search(r"^  accepted +24/30 \(80\.0 %\)$", text, re.MULTILINE)
    assert re.search(r"^  valid executions +2/30 \(6\.7 %\)$", text, re.MULTILINE)
    assert re.search(r"^  spend +unknown$", text, re.MULTILINE)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 160])
def test_a_matrix_shows_every_column_at_every_width(width: int) -> None:
    names = [f"configuration-{number:02}" for number in range(20)]
    columns = [Column(head="task"), *(Column(head=name) for name in names)]
    cells = [f"A{number:02}" for number in range(20)]
    rows = [[task, *cells] for task in ("first-task", "second-task")]
    text = render([table(columns, rows, spread=True)], colour=False, width=width)
    assert max(map(len, text.splitlines())) <= width
    for name in names:
        assert name in text
    for cell in cells:
        assert text.count(cell) == 2


@given(
    st.integers(10, 120),
    st.lists(st.lists(st.text("abc -\n", max_size=40), min_size=3, max_size=3), max_size=4),
    st.booleans(),
)
def test_no_letter_is_ever_dropped(width: int, rows: list[list[str]], spread: bool) -> None:
    columns = [Column(head="one"), Column(head="two", number=True), Column(head="three")]
    cells = [[Text(cell.strip()) for cell in row] for row in rows]
    text = render([table(columns, cells, spread=spread)], colour=False, width=width)
    for letter in "abc":
        wanted = sum(cell.plain.count(letter) for row in cells for cell in row)
        assert text.count(letter) >= wanted


def on_terminal(folder: Path, columns: int, *arguments: str) -> str:
    """What the program writes to a terminal of so many columns."""
    pid, top = pty.fork()
    if pid == 0:
        os.chdir(folder)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        environment = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES"}}
        command = [sys.executable, "-m", "trialbook", *arguments]
        os.execve(sys.executable, command, environment)
    found = b""
    try:
        while data := os.read(top, 65536):
            found += data
    except OSError:  # this is how Linux says that the other side is closed
        pass
    os.close(top)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return found.decode()


def test_progress_and_results_are_whole_on_a_narrow_terminal(ledger: Path) -> None:
    source = (ledger / "suites/mini/configurations/good.yaml").read_text()
    name = "good-with-a-rather-long-name"
    write_files(
        ledger,
        {f"suites/mini/configurations/{name}.yaml": source.replace(": good", f": {name}", 1)},
    )
    suite = ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text().replace("[good, bad]", f"[{name}, bad]"))
    shown = on_terminal(ledger, 40, "eval", "mini", "-t", "first", "-r", "1")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    lines = [line.rstrip() for line in plain.splitlines()]
    assert name in lines
    for head in ("done", "running", "left", "accepted", "spend", "the rest", "valid executions"):
        assert any(line.startswith(f"  {head} ") for line in lines), head
    run = subprocess.run(
        ["git", "log", "-1", "--format=%(trailers:key=Run,valueonly)"],
        cwd=ledger,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert trialbook(ledger, "show", run.rpartition("/")[2]).stdout.count(name) >= 2
