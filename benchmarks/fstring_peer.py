"""The pages of a site written from f-strings: the bound that a build is held against.

``python -m benchmarks.fstring_peer SITE TARGET LEDGER`` takes a site that was built, and pulls each
of its pages apart into markup and values: the texts between tags and the values of attributes, as
they are without escaping. That is not timed, and stands for data that is already in memory, in the
very form that a page needs it. Then, timed, every page is put together again, each value by an
f-string of the markup before it and the value escaped, and written into a new folder; every page
must come out as it was, byte for byte. Assets are left out on both sides, they are a few files.

What it does not do, and a build does: work out what stands on a page (counts, intervals, diffs,
words for numbers), check links, keep what it needs to build again. ``reading``, timed apart, is the
least that getting the data takes: `git cat-file` of every file below ``runs/``, and every JSON
record parsed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from html import unescape
from pathlib import Path

from markupsafe import escape

Part = tuple[str, str]
"""Markup, and the value behind it."""

_VALUE = re.compile(r'>([^<>]+)(?=<)|="([^"<>]*)"')


def pulled_apart(page: str, known: dict[str, str]) -> list[Part]:
    """A page as markup and values. ``known`` lets pages share the texts that they have in common.

    A value that would not be escaped to the same bytes stays markup.
    """
    parts: list[Part] = []
    at = 0
    for found in _VALUE.finditer(page):
        group = 1 if found[1] is not None else 2
        value = unescape(found[group])
        if not value or str(escape(value)) != found[group]:
            continue
        markup = page[at : found.start(group)]
        parts.append((known.setdefault(markup, markup), known.setdefault(value, value)))
        at = found.end(group)
    rest = page[at:]
    parts.append((known.setdefault(rest, rest), ""))
    return parts


def written(pages: dict[Path, list[Part]]) -> tuple[float, float]:
    """The seconds that it takes to put the pages together and to write them.

    By the clock, and processor time alone.
    """
    began, used = time.perf_counter(), time.process_time()
    folders = set()
    for path, parts in pages.items():
        if path.parent not in folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            folders.add(path.parent)
        page = "".join([f"{markup}{escape(value)}" for markup, value in parts])
        path.write_bytes(page.encode())
    return time.perf_counter() - began, time.process_time() - used


def read(ledger: Path) -> float:
    """The seconds that it takes to get every file below ``runs/``, and to parse the records."""
    git = ("git", "-C", str(ledger))
    began = time.perf_counter()
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "HEAD", "runs/"], stdout=subprocess.PIPE, check=True
    ).stdout
    entries = [entry.split(b"\t", 1) for entry in listed.split(b"\0") if entry]
    wanted = b"".join(told.split()[2] + b"\n" for told, _ in entries)
    data = subprocess.run(
        [*git, "cat-file", "--batch", "--buffer"], input=wanted, stdout=subprocess.PIPE, check=True
    ).stdout
    at = 0
    for _, name in entries:
        end = data.index(b"\n", at)
        size = int(data[at:end].split()[2])
        body = data[end + 1 : end + 1 + size]
        at = end + size + 2
        if name.endswith(b".json"):
            json.loads(body)
    return time.perf_counter() - began


def main() -> None:
    """Print what was measured, as JSON."""
    site, target, ledger = map(Path, sys.argv[1:4])
    known: dict[str, str] = {}
    pages, size = {}, 0
    for path in sorted(site.rglob("*.html")):
        page = path.read_bytes()
        size += len(page)
        pages[target / path.relative_to(site)] = pulled_apart(page.decode(), known)
    values = sum(map(len, pages.values()))
    took, used = written(pages)
    for path in pages:
        if path.read_bytes() != (site / path.relative_to(target)).read_bytes():
            sys.exit(f"{path} did not come out as it was")
    told = {"writing": took, "reading": read(ledger), "pages": len(pages), "bytes": size}
    print(json.dumps({**told, "values": values, "processor": used}))


if __name__ == "__main__":
    main()
