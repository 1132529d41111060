"""Times as medians of interleaved repetitions, tables of them, and the machine they hold for."""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "site/pages/explanation/performance.md"
"""The page that the figures are written into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """How long one thing takes in seconds, and the repetitions that say so."""

    seconds: float
    times: tuple[float, ...]

    @classmethod
    def of(cls, times: Sequence[float]) -> Timed:
        """The median of some repetitions."""
        return cls(seconds=statistics.median(times), times=tuple(times))


def seconds(action: Callable[[], object]) -> float:
    """How long an action takes, in seconds."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def interleaved(cases: Mapping[str, Callable[[], float]], repetitions: int) -> dict[str, Timed]:
    """Each case once, then each again, and so on: what disturbs the machine disturbs all alike.

    A case gives the seconds that it took, so that it can prepare something without being timed.
    """
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repetitions):
        for name, case in cases.items():
            times[name].append(case())
    return {name: Timed.of(found) for name, found in times.items()}


def run(*argv: str, cwd: Path, stdin: bytes | None = None) -> bytes:
    """A command's output; it must succeed."""
    return subprocess.run(argv, cwd=cwd, input=stdin, check=True, stdout=subprocess.PIPE).stdout


def ms(value: float | None) -> str:
    """Seconds as milliseconds, with as many digits as mean something."""
    if value is None:
        return "not measured"
    thousandths = value * 1000
    return f"{thousandths:,.0f} ms" if thousandths >= 100 else f"{thousandths:.2g} ms"  # noqa: PLR2004


def ratio(value: float | None, to: float | None) -> str:
    """How many times ``to`` this is."""
    if value is None or not to:
        return ""
    share = value / to
    return f"{share:.2f}" if share >= 0.1 else f"{share:.2g}"  # noqa: PLR2004


def megabytes(size: float) -> str:
    """Bytes in megabytes."""
    return f"{size / 1e6:,.1f} MB"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """What the figures were measured on: no names, no paths."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    git = run("git", "--version", cwd=Path.cwd()).decode().split()[2]
    parts = [
        f"{os.cpu_count()} cores",
        f"{memory:.0f} GiB of memory",
        f"{platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        f"git {git}",
        f"dulwich {version('dulwich')}",
        f"msgspec {version('msgspec')}",
    ]
    return "Measured on " + ", ".join(parts) + "."


def write_between(path: Path, marker: str, text: str) -> None:
    """Put text between ``<!-- marker -->`` and ``<!-- /marker -->`` of a page."""
    page = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)", re.DOTALL)
    if not pattern.search(page):
        sys.exit(f"{path} has no markers {marker}")
    new = pattern.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page)
    path.write_text(new, encoding="utf-8")


def say(text: str) -> None:
    """Tell how it goes on, apart from the results."""
    print(text, file=sys.stderr, flush=True)
