"""A new ledger: the folders, a Makefile, a page for the site, and one example suite that runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import UserError
from trialbook.registry import Registry
from trialbook.storage.files import write_atomic
from trialbook.storage.repository import Repository
from trialbook.storage.scaffold import new_suite
from trialbook.storage.shipped_rubrics import shipped_rubrics

EXAMPLE_SUITE = "example"
_ON_PATH = "trialbook"

_MAKEFILE = """\
# The words are the same as trialbook's own commands. Another program: make eval TRIALBOOK=...
@PROGRAM@
SUITE ?= example
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help eval gate resume check-suite lock-suite status site serve

help: ## list the targets
\t@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\\t/' | expand -t 16

eval: ## run a suite and commit every trial: make eval SUITE=example
\t$(TRIALBOOK) eval $(SUITE) $(ARGS)

gate: ## fail for a regression, not for noise: make gate SUITE=x BASE=main HEAD=.
\t$(TRIALBOOK) gate $(SUITE) $(if $(BASE),--revisions $(BASE)..$(or $(HEAD),.)) $(ARGS)

resume: ## continue an interrupted run: make resume RUN=...
\t$(TRIALBOOK) resume $(RUN) $(ARGS)

check-suite: ## report every mistake in a suite's files
\t$(TRIALBOOK) suite check $(SUITE)

lock-suite: ## freeze a suite under its protocol number
\t$(TRIALBOOK) suite lock $(SUITE) $(ARGS)

status: ## list the runs of this ledger
\t$(TRIALBOOK) status

site: ## build the static site into site/_build
\t$(TRIALBOOK) site build

serve: ## serve the static site on this machine
\t$(TRIALBOOK) site serve
"""

_README = """\
# {name}

A trialbook ledger: suites of tasks for coding agents, and the record of every trial.

    make eval SUITE=example     # runs offline; commits the plan, each trial and the results
    make status                 # what has been run
    make site && make serve     # the same, to look at

| folder | holds |
| --- | --- |
| `suites/` | what is measured: tasks, briefs, checks, configurations |
| `runs/` | what came out: one folder a run, one a trial; only ever added to |
| `rubrics/` | the questions that reviewers answer |
| `site/` | the site's own pages and templates; `site/_build/` is generated |
"""

_IGNORE = "/site/_build/\n"
_ATTRIBUTES = "# The bytes of records are evidence: git must never convert them.\nruns/** -text\n"
_RUNS = "Written by trialbook, one commit a trial. Nothing here is ever edited or removed.\n"
_RUBRICS = """\
Versioned questions for reviewers and judges: `<rubric>/v<N>.md`. A version that was used never
changes; `trialbook rubric new NAME` begins the next one.
"""
_SITE = """\
title: {name}
description: What our coding agents can do with our work.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLedger:
    """What was made: the folder, the repository's state, and the files, relative to the folder."""

    folder: Path
    new_repository: bool
    files: tuple[str, ...]


def init_ledger(folder: Path, registry: Registry, program: str = _ON_PATH) -> NewLedger:
    """Make a ledger in ``folder``, in a new repository unless one is there already.

    Nothing is committed: the person who owns it looks first. ``program`` is how a shell calls
    trialbook from any folder; the Makefile has it.

    Raises:
        UserError: the folder is a ledger already, or holds a file of a name that is needed.
    """
    folder = folder.absolute()
    name = folder.resolve().name
    files = {
        "Makefile": _MAKEFILE.replace("@PROGRAM@", _program_lines(program)),
        "README.md": _README.format(name=name),
        ".gitignore": _IGNORE,
        ".gitattributes": _ATTRIBUTES,
        "runs/README.md": _RUNS,
        "rubrics/README.md": _RUBRICS,
        "site/site.yaml": _SITE.format(name=name),
        **shipped_rubrics(),
    }
    _refuse_clashes(folder, [*files, "suites"])
    folder.mkdir(parents=True, exist_ok=True)
    fresh = not _in_repository(folder)
    if fresh:
        Repository.init(folder).close()
    for path, text in files.items():
        write_atomic(folder / path, text.encode())
    (folder / "suites").mkdir()
    suite = [str(path) for path in new_suite(folder, EXAMPLE_SUITE, registry)]
    return NewLedger(folder=folder, new_repository=fresh, files=(*sorted(files), *sorted(suite)))


def _program_lines(program: str) -> str:
    line = "TRIALBOOK ?= " + program.replace("$", "$$").replace("#", "\\#")
    if program == _ON_PATH:
        return line
    return (
        "# trialbook was not on the PATH when this was made; on another machine, say where it is.\n"
        + line
    )


def _refuse_clashes(folder: Path, names: list[str]) -> None:
    there = [name for name in names if (folder / name).exists()]
    if there:
        raise UserError(
            f"{folder} already has {', '.join(there)}",
            hint="choose an empty folder, or a new one inside your repository",
        )


def _in_repository(folder: Path) -> bool:
    return any((place / ".git").exists() for place in (folder.resolve(), *folder.resolve().parents))
