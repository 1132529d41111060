"""What the search box looks through: files of data, read when they are first wanted.

Each file is one statement that puts one value into one variable. The value is JSON in plain ASCII
in which ``<``, ``>`` and ``&`` are escaped too: nothing in it ends a script or acts, wherever it is
put. Addresses are from the site's root down.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from trialbook.formats.visible import visible
from trialbook.reporting.brief import RunBrief
from trialbook.reporting.wording import rate, words
from trialbook.site.addresses import (
    COSTS,
    FINDINGS,
    GATES,
    GLOSSARY,
    OVERVIEW,
    RUBRICS,
    SEARCH,
    configuration_page,
    rubric_page,
    run_folder,
    run_page,
    run_search_file,
    search_file,
    segment,
    suite_page,
    task_page,
    word_anchor,
)
from trialbook.site.figures import when
from trialbook.site.glossary import GROUPS
from trialbook.site.ledger_view import LedgerView
from trialbook.site.render import slug
from trialbook.site.units import File
from trialbook.storage.reader import RunRef

Found = tuple[str, str, str, str]
"""What the box may find: its kind, its title, a line of detail, its address."""

_TRIALS = 20_000
"""How many trials one file names: about half a megabyte."""

_BYTES = 750_000
"""How large the entries in one file may be."""

_LONGEST = 160
_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r" {0,3}(#{1,6}) +(.+?)(?: +#*)?\s*$")
_SHOWN_LEVELS = (2, 3)
_MARKS = re.compile(r"[`*]|\[([^\]]*)\]\([^)]*\)")
_ACTING = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}


def search_of_site(view: LedgerView, _: None) -> Iterator[File]:
    """The list that is read first, and the prose of the site; it names the other files."""
    yield from _entries_files("docs", _prose(view))
    first, *rest = _parts(_of_ledger(view))
    names = [search_file(f"ledger-{number}") for number, _ in enumerate(rest, start=2)]
    yield from (_file(name, {"entries": part}) for name, part in zip(names, rest, strict=True))
    files = [*names, search_file("docs")]
    if view.runs:
        files.append(search_file("findings"))
    # The newest runs first: they are what people look for.
    files += [name for run in reversed(view.runs) for name in _run_files(view, run)]
    yield _file(SEARCH, {"entries": first, "files": files})


def search_of_run(view: LedgerView, run: RunRef) -> Iterator[File]:
    """The trials of a run, in short: the script makes names and addresses of them."""
    rows = view.rows(run)
    tasks = sorted({row.task for row in rows})
    configurations = sorted({row.configuration for row in rows})
    outcomes = sorted({row.outcome.value for row in rows})
    place = {
        name: {value: index for index, value in enumerate(values)}
        for name, values in (("t", tasks), ("c", configurations), ("o", outcomes))
    }
    trials = [
        (
            place["t"][row.task],
            place["c"][row.configuration],
            row.repetition,
            row.rerun,
            place["o"][row.outcome.value],
        )
        for row in rows
    ]
    for number, name in enumerate(_run_files(view, run)):
        yield _file(
            name,
            {
                "suite": visible(run.suite),
                "run": visible(run.run),
                "folder": run_folder(run),
                "tasks": [(visible(task), segment(task)) for task in tasks],
                "configurations": [(visible(name), segment(name)) for name in configurations],
                "outcomes": [words(outcome) for outcome in outcomes],
                "trials": trials[number * _TRIALS : (number + 1) * _TRIALS],
            },
        )


def search_of_findings(groups: Iterable[tuple[str, str, str]]) -> Iterator[File]:
    """The findings: each group's title, a line of detail, and its address."""
    yield from _entries_files("findings", [("Finding", *group) for group in groups])


def prose_key(view: LedgerView) -> object:
    """What the site's prose says to the search box."""
    return _prose(view)


def _run_files(view: LedgerView, run: RunRef) -> list[str]:
    parts = -(-len(view.rows(run)) // _TRIALS)
    return [run_search_file(run, number) for number in range(1, parts + 1)]


def _of_ledger(view: LedgerView) -> Iterator[Found]:
    yield "Page", "Results", "Suites, latest decisions, newest runs", OVERVIEW
    yield "Page", "Glossary", "What the words mean", GLOSSARY
    if view.runs:
        yield "Page", "Gates", "Every gate, and how often they were false alarms", GATES
        yield "Page", "Costs", "What runs and accepted trials cost", COSTS
        yield "Page", "Findings and rules", "What is sent back again and again", FINDINGS
    if view.rubrics:
        yield "Page", "Rubrics", "Questions that need judgement", RUBRICS
    for suite in view.suites:
        yield from _of_suite(view, suite)
    for rubric in view.rubrics:
        yield "Rubric", rubric.reference, rubric.title, rubric_page(rubric.name, rubric.version)
    for run in reversed(view.runs):
        brief = view.brief(run)
        yield "Run", run.run, _run_said(brief), run_page(run)


def _of_suite(view: LedgerView, suite: str) -> Iterator[Found]:
    newest = view.runs_of(suite)[-1:]
    authored = view.authored(suite)
    decision = view.brief(newest[0]).decision if newest else authored.decision if authored else ""
    yield "Suite", suite, decision, suite_page(suite)
    for task in view.tasks(suite):
        yield "Task", task.task, suite, task_page(suite, task.task)
    for one in view.configurations(suite):
        place = configuration_page(suite, one.configuration)
        yield "Configuration", one.configuration, suite, place


def _run_said(brief: RunBrief) -> str:
    accepted = rate(brief.total.all_scheduled)
    return f"{brief.suite}@{brief.protocol} · {when(brief.created)} · {accepted} accepted"


def _prose(view: LedgerView) -> list[Found]:
    """Pages of plugins with their sections, and the words of the glossary."""
    found: list[Found] = []
    for name in view.registry.names("pages"):
        for page in view.registry.pages(name).pages(view.root):
            found.append(("Docs", page.title, "", page.path))
            source = page.context.get("source")
            if isinstance(source, str):
                found += [
                    ("Section", title, page.title, f"{page.path}#{anchor}")
                    for title, anchor in headings(source)
                ]
    for _, listed in GROUPS:
        found += [
            ("Word", word.term, word.means, f"{GLOSSARY}#{word_anchor(word.term)}")
            for word in listed
        ]
    return found


def headings(source: str) -> Iterator[tuple[str, str]]:
    """The second and third headings of Markdown, with the anchors that they have on their page."""
    used: set[str] = set()
    fence = ""
    for line in source.split("\n"):
        mark = _FENCE.match(line)
        if mark:
            fence = "" if mark[1] == fence else fence or mark[1]
        elif not fence and (heading := _HEADING.match(line)):
            level, text = len(heading[1]), heading[2]
            anchor = slug(text, used)
            if level in _SHOWN_LEVELS:
                yield _MARKS.sub(lambda mark: mark[1] or "", text), anchor


def _entries_files(name: str, entries: Iterable[Found]) -> Iterator[File]:
    first, *rest = _parts(entries)
    names = [search_file(f"{name}-{number}") for number, _ in enumerate(rest, start=2)]
    yield from (_file(other, {"entries": part}) for other, part in zip(names, rest, strict=True))
    yield _file(search_file(name), {"entries": first, "files": names})


def _parts(entries: Iterable[Found]) -> list[list[list[str]]]:
    """Entries as they are written, in parts that fit into a file; one part at least."""
    parts: list[list[list[str]]] = [[]]
    size = 0
    for entry in entries:
        shown = [*map(_short, entry[:3]), entry[3]]
        size += len(_data(shown)) + 1
        if size > _BYTES:
            parts.append([])
            size = len(_data(shown)) + 1
        parts[-1].append(shown)
    return parts


def _short(text: str) -> str:
    """One line, in which nothing acts."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _data(value: object) -> str:
    return json.dumps(value, separators=(",", ":")).translate(_ACTING)


def _file(path: str, value: Mapping[str, object]) -> File:
    name = f"(window.trialbookSearch = window.trialbookSearch || {{}})[{_data(path)}]"
    return File(path, f"{name} = {_data(value)};\n".encode("ascii"))
