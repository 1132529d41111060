"""Where each page is and how pages lead to each other; no name leads out of the site."""

from __future__ import annotations

import re
from functools import lru_cache

from trialbook.storage.reader import RunRef

OVERVIEW = "index.html"
RUBRICS = "rubrics/index.html"
GLOSSARY = "glossary.html"
SEARCH = "assets/search-index.js"
GATES = "gates.html"
COSTS = "costs.html"
FEED = "feed.xml"
FINDINGS = "findings/index.html"
_SAFE = re.compile(r"[A-Za-z0-9_-]")
_SAFE_NAME = re.compile(r"[A-Za-z0-9_-]+")
_NO_ID = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_ID = 80
_SPLIT = re.compile(r"[#?]")


def segment(name: str) -> str:
    """A name as one segment of a path: the same name gives the same segment, others give others.

    Letters, digits, ``-``, ``_`` and inner dots stay; every other byte becomes ``=XX``, which is
    safe in file names and addresses alike. No segment is empty, hidden, ``.`` or ``..``.
    """
    if _SAFE_NAME.fullmatch(name):
        return name
    out: list[str] = []
    for index, char in enumerate(name):
        if _SAFE.fullmatch(char) or (char == "." and 0 < index < len(name) - 1):
            out.append(char)
        else:
            out += [f"={byte:02X}" for byte in char.encode("utf-8", "surrogatepass")]
    return "".join(out) or "="


def relative(page: str, target: str) -> str:
    """The address that leads from one page to another file of the site.

    Both are paths from the site's root; the target may carry a fragment.
    """
    found = _SPLIT.search(target)
    if found and target[: found.start()] == page:
        return target[found.start() :]
    return _from_folder(page.rpartition("/")[0], target)


@lru_cache(maxsize=16_384)
def _from_folder(folder: str, target: str) -> str:
    """The address that leads from the pages of one folder to a file of the site."""
    found = _SPLIT.search(target)
    path, rest = (target[: found.start()], target[found.start() :]) if found else (target, "")
    here, there = folder.split("/") if folder else [], path.split("/")
    shared = 0
    for one, other in zip(here, there[:-1], strict=False):
        if one != other:
            break
        shared += 1
    return "../" * (len(here) - shared) + "/".join(there[shared:]) + rest


def suite_page(suite: str) -> str:
    """The page of a suite."""
    return f"suites/{segment(suite)}/index.html"


def task_page(suite: str, task: str) -> str:
    """The page of a task."""
    return f"suites/{segment(suite)}/tasks/{segment(task)}.html"


def configuration_page(suite: str, configuration: str) -> str:
    """The page of a configuration of a suite."""
    return f"suites/{segment(suite)}/configurations/{segment(configuration)}.html"


def suite_runs_page(suite: str) -> str:
    """The first page of all runs of a suite, where its own page does not have all."""
    return f"suites/{segment(suite)}/runs.html"


def rubric_page(name: str, version: int) -> str:
    """The page of one version of a rubric."""
    return f"rubrics/{segment(name)}/v{version}.html"


def finding_page(group: str) -> str:
    """The page of a group of findings."""
    return f"findings/{segment(group)}.html"


def run_folder(run: RunRef) -> str:
    """The folder of a run's pages."""
    return f"runs/{segment(run.suite)}/{segment(run.run)}"


def run_page(run: RunRef) -> str:
    """The page of a run."""
    return f"{run_folder(run)}/index.html"


def run_trials_page(run: RunRef) -> str:
    """The first page of all trials of a run in the order of its schedule."""
    return f"{run_folder(run)}/trials.html"


def run_matrix_page(run: RunRef) -> str:
    """The first page of a run's whole matrix, where its own page has only a part."""
    return f"{run_folder(run)}/matrix.html"


def comparison_page(run: RunRef, baseline: str, candidate: str) -> str:
    """The comparison of two configurations of a run."""
    return f"{run_folder(run)}/compare-{segment(baseline)}--{segment(candidate)}.html"


def across_page(suite: str, baseline: str, candidate: str) -> str:
    """The comparison of two configurations over several runs of a suite."""
    name = f"compare-{segment(baseline)}--{segment(candidate)}"
    return f"suites/{segment(suite)}/{name}.html"


@lru_cache(maxsize=4096)
def trial_page(run: RunRef, trial: str) -> str:
    """The page of a trial, by its path inside the run."""
    parts = [segment(part) for part in trial.split("/")]
    return f"{run_folder(run)}/{'/'.join(parts)}.html"


def change_page(run: RunRef, trial: str, number: int) -> str:
    """A page of a trial's change, from 2 on; the first one is the trial's own."""
    return f"{trial_page(run, trial).removesuffix('.html')}.change-{number}.html"


def trajectory_page(run: RunRef, trial: str, session: int = 1, attempt: int = 1) -> str:
    """The first page of what an agent did in an attempt."""
    name = "" if session == attempt == 1 else f"-{session}-{attempt}"
    return f"{trial_page(run, trial).removesuffix('.html')}.trajectory{name}.html"


def text_page(run: RunRef, trial: str, path: str) -> str:
    """The first page of a text file of a trial, by its path in the trial's folder."""
    parts = [segment(part) for part in path.split("/")]
    return f"{trial_page(run, trial).removesuffix('.html')}/{'/'.join(parts)}.html"


def part_anchor(kind: str, name: str) -> str:
    """The id of a part of a trial's page: ``c-<grader>`` and a check, ``review`` and a question."""
    return _NO_ID.sub("-", f"{kind}-{name}")[:_LONGEST_ID]


def word_anchor(word: str) -> str:
    """The id of a word on the glossary's page; templates make the same of it."""
    return "w-" + word.lower().replace(" ", "-")


def search_file(name: str) -> str:
    """A part of what the search box looks through, by name: ``docs``."""
    return f"assets/search-{segment(name)}.js"


def run_search_file(run: RunRef, number: int) -> str:
    """The trials of a run for the search box, in numbered parts."""
    return f"assets/search/{segment(run.suite)}/{segment(run.run)}-{number}.js"
