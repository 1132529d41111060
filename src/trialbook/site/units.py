"""What the site is made of: parts that bring pages for a subject, and units, made or kept.

**To add pages**, write a function that takes the `LedgerView` and a subject and gives pages and
files, and name it in `trialbook.site.outline`:

>>> PER_TASK = (Part("task", task_pages),)  # in outline.py
>>> def task_pages(view: LedgerView, task: TaskRef) -> Iterator[Page | File]: ...

A part belongs to one scope, which decides what it is called with, and how often:

=================  =====================  =======================================================
scope              subject                made again (by default) when
=================  =====================  =======================================================
PER_SITE           None                   any run, or any authored file of the ledger changes
PER_SUITE          str                    any run of the suite, or one of its authored files does
PER_TASK           TaskRef                the task's trials or the plan of any run of the suite,
                                          or an authored file of the suite does
PER_CONFIGURATION  ConfigurationRef       as PER_SUITE
PER_RUN            RunRef                 the run's folder does
PER_TRIAL          TrialRef               the run's trials of the same task do, its plan, or what
                                          its folder has beside trials
=================  =====================  =======================================================

A part and its subject are a *unit*. A unit whose key is in the output's manifest, and whose files
are as it left them, is kept: its function is not called, nothing is read and nothing drawn. So the
key has to name **everything** that the pages depend on. Where the default is not that, give
``key=``, a function of the view and the subject that gives plain values (strings, numbers, tuples
of such), made of what `LedgerView` offers: ``view.run_key(run)``, ``view.suite_key(suite)``,
``view.authored_key(suite)``, ``view.rubrics_key`` and so on. Program, theme, templates, settings
and navigation are in every key anyway.

PER_RUN and PER_TRIAL units of a run whose folder did not change are kept all at once, without a
look at the single ones. What their pages depend on *outside of the run's own folder* (the run
before it, a rubric on disk) therefore has to be said twice: in ``key`` and, for the whole run, in
``around=``, a function of the view and the run.

**Rules.** A function is pure: view and subject in, pages out; no clock, no environment, no
absolute paths. It runs in any of several processes, so it keeps nothing for later; what is dear
belongs into a lazy answer of `LedgerView`. Pages of PER_SITE and PER_SUITE scope must not grow with
the number of trials: they are made again after every trial, so show what is newest or most, and
leave the rest to pages of runs and tasks. Their data comes from ``view.brief(run)`` and
``view.rows(run)``, which are kept by tree id, never from ``view.results(run)`` of all runs.

A part of PER_SITE scope may have a place in the site's navigation: ``navigation=Entry(label, path,
shown)``, where ``shown`` says cheaply (it is asked before anything is made) whether there is to be
one. Is it there, the part has to make that page, even if there is little to say on it.
Addresses come from `trialbook.site.addresses`. Links and fragments of all pages are checked after
each build, whatever draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from trialbook.api import Page
from trialbook.storage.reader import RunRef

if TYPE_CHECKING:
    from trialbook.site.ledger_view import LedgerView

S = TypeVar("S")


class TaskRef(NamedTuple):
    """A task of a suite, by name."""

    suite: str
    task: str


class ConfigurationRef(NamedTuple):
    """A configuration of a suite, by name."""

    suite: str
    configuration: str


class TrialRef(NamedTuple):
    """A trial, by its path in its run's folder."""

    run: RunRef
    path: str


@dataclass(frozen=True, slots=True)
class File:
    """A file of the site that no template draws. ``path`` is from the site's root down."""

    path: str
    data: bytes


Made = Page | File
"""What a part brings."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A place in the site's navigation, where ``shown`` says so."""

    label: str
    path: str
    shown: Callable[[LedgerView], bool]


@dataclass(frozen=True, slots=True)
class Part(Generic[S]):
    """Something that brings pages and files for each subject of one scope.

    ``name`` is unique in its scope. ``key`` says what the pages depend on, None for the scope's
    default; ``around`` what those of a whole run depend on outside of its folder (PER_RUN and
    PER_TRIAL only). ``navigation`` is for PER_SITE only.
    """

    name: str
    make: Callable[[LedgerView, S], Iterable[Made]]
    key: Callable[[LedgerView, S], object] | None = None
    around: Callable[[LedgerView, RunRef], object] | None = None
    navigation: Entry | None = None
