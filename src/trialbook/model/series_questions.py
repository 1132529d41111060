"""The questions that are asked about a series, and who may answer each."""

from __future__ import annotations

from dataclasses import dataclass

CONTINUITY, REPAIR = "continuity", "repair"
MAINTAINABILITY, TRAJECTORY = "maintainability", "trajectory"

SERIES_RUBRICS = (CONTINUITY, REPAIR, MAINTAINABILITY, TRAJECTORY)
"""The rubrics that people answer about a series, in the order in which they get them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesQuestion:
    """A question by its rubric and id; ``code`` is what tables call it.

    ``auto`` says that the program answers, and nobody else; ``sealed`` that what it is about is in
    the sealed key.
    """

    rubric: str
    id: str
    code: str
    auto: bool = False
    sealed: bool = False

    @property
    def name(self) -> str:
        """``<rubric>/<id>``, as answers have it."""
        return f"{self.rubric}/{self.id}"


_AUTO = frozenset({"C1", "C5", "R1", "R2", "R5", "R7"})
_SEALED = frozenset({"R3", "R6"})
_IDS = {
    CONTINUITY: (
        "decisions-hold",
        "changes-named",
        "one-path",
        "nothing-rebuilt",
        "state-declared",
        "notes-true",
    ),
    REPAIR: (
        "reported-passes",
        "siblings-pass",
        "cause-changed",
        "no-special-case",
        "regression-test",
        "cause-explained",
        "nothing-lost",
    ),
    MAINTAINABILITY: (
        "logic-once",
        "files-needed",
        "helpers-used",
        "next-variant",
        "no-dead-code",
        "dependencies-needed",
        "tests-bite",
    ),
    TRAJECTORY: (
        "tests-kept",
        "in-scope",
        "no-blind-repeats",
        "no-rereading",
        "no-risky-command",
        "claims-true",
    ),
}

QUESTIONS = tuple(
    SeriesQuestion(
        rubric=rubric,
        id=name,
        code=(code := f"{rubric[0].upper()}{number}"),
        auto=code in _AUTO,
        sealed=code in _SEALED,
    )
    for rubric, names in _IDS.items()
    for number, name in enumerate(names, 1)
)
"""Every question, in the order in which they are shown."""

BY_NAME = {one.name: one for one in QUESTIONS}
"""Every question by its name."""
