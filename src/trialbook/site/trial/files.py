"""What the pages of a trial are made from, read from the ledger."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trialbook.formats.records import RecordError, from_json
from trialbook.model.grade import Grade
from trialbook.model.regrade import Regrade
from trialbook.model.runfiles import (
    AMENDMENTS,
    PATCH,
    RECONCILIATIONS,
    REGRADES,
    REVIEWS,
    TRAJECTORY,
    session_patch,
)
from trialbook.model.standing import Standing
from trialbook.model.trajectory import Trajectory
from trialbook.model.trial import Trial
from trialbook.reporting.series import SeriesView
from trialbook.reporting.trial_facts import TrialFacts
from trialbook.site.ledger_view import LedgerView
from trialbook.site.units import TrialRef
from trialbook.storage.large import FULL_FOLDER

_TRAJECTORY = re.compile(r"sessions/(\d{1,6})/attempt-(\d{1,6})/" + re.escape(TRAJECTORY))
_NO_TEXTS = tuple(
    f"{folder}/"
    for folder in ("grades", REGRADES, AMENDMENTS, REVIEWS, RECONCILIATIONS, FULL_FOLDER)
)

Place = tuple[int, int]
"""A session and an attempt in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFiles:
    """A trial as it counts, the files of its folder that pages show, and its grades.

    ``standing`` knows what was recorded, None for nothing else than counts; ``regrades`` are the
    run's later generations of grades; ``facts`` are hints about how the agent worked. ``series`` is
    what is said of several sessions, ``session_patches`` what each of them changed.
    ``trajectories`` are those that can be read.
    """

    trial: Trial
    grades: Sequence[Grade]
    patch: bytes | None
    texts: Mapping[str, bytes]
    standing: Standing | None = None
    regrades: Sequence[Regrade] = ()
    facts: TrialFacts | None = None
    series: SeriesView | None = None
    session_patches: Mapping[int, bytes] = field(default_factory=dict)
    trajectories: Mapping[Place, Trajectory] = field(default_factory=dict)


def read_files(view: LedgerView, ref: TrialRef) -> TrialFiles:
    """The files of a trial.

    Raises:
        EnvironmentProblem: the ledger cannot be read.
    """
    run, path = ref
    reader, results = view.reader, view.results(run)
    standing = results.standings[path]
    names = reader.files(run, path)

    def read(name: str) -> bytes:
        return reader.file(run, f"{path}/{name}") or b""

    return TrialFiles(
        trial=standing.trial,
        grades=results.grades.get(path, ()),
        patch=reader.file(run, f"{path}/{PATCH}"),
        texts={name: read(name) for name in names if shown_as_text(name)},
        standing=standing,
        regrades=results.regrades,
        facts=view.facts(ref),
        series=results.series.get(path),
        session_patches={
            one.session: read(session_patch(one.session)) for one in standing.trial.sessions
        },
        trajectories=trajectories_of({n: read(n) for n in names if _TRAJECTORY.fullmatch(n)}),
    )


def trajectories_of(files: Mapping[str, bytes]) -> dict[Place, Trajectory]:
    """The trajectories among a trial's files, in order; those that are none are left out.

    What cannot be read is said with the facts of the trial.
    """
    found = {}
    for name, data in files.items():
        match = _TRAJECTORY.fullmatch(name)
        if match is None:
            continue
        try:
            found[int(match[1]), int(match[2])] = from_json(Trajectory, data, name)
        except RecordError:
            continue
    return dict(sorted(found.items()))


def shown_as_text(path: str) -> bool:
    """Whether a file of a trial's folder is text that its pages show."""
    # A grade's name may end in anything; what is added later is no output of the agent.
    return path.endswith((".txt", ".md", ".log")) and not path.startswith(_NO_TEXTS)
