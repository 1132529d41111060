"""The recorded series, and what an example reader answers about one of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.series.people import filled, given

from reference.clone import Clone

PROJECTS = ("export-feature", "rotation-feature")
READER = "example-reader-1"
ANSWERED = "export-feature"
"""The project about which answers are written down; the other one shows what it is without any."""


def series(clone: Clone) -> None:
    """Both projects; the answers about one of them were written down beforehand."""
    for project in PROJECTS:
        about = "two recorded series of four sessions each"
        if project == ANSWERED:
            about += "; the answers about them were written down beforehand, and no person read"
        (run,) = clone.add(about, "eval", project)
        if project == ANSWERED:
            _answer(clone, run)


def _answer(clone: Clone, run: str) -> None:
    for configuration, rubrics in given(ANSWERED).items():
        for rubric, answers in rubrics.items():
            with tempfile.TemporaryDirectory() as folder:
                packet = Path(folder) / "packet"
                trial = f"{run}/export/{configuration}/r1"
                asked = ("--reviewer", READER, "--rubric", rubric, "-o", str(packet))
                clone.trialbook("series", "questions", trial, *asked)
                form = packet / "review.yaml"
                text = filled(form.read_text(), answers).replace("minutes: 12\n", "minutes: 0\n")
                form.write_text(text)
                clone.trialbook("series", "answer", str(form))
