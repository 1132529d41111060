"""A packet as a reviewer sees it: brief, change, allowed checks; blinded, and saying so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialbook.formats.diff import FileDiff, parse_diff
from trialbook.model.grade import Check, Grade
from trialbook.review.blinding import Blinding, Secret, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChecks:
    """The checks of one grader, as far as the plan lets reviewers see them."""

    grader: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What must not be seen in the packets of a run: texts, and files that go whole."""

    secrets: tuple[Secret, ...]
    paths: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What there is to judge. ``taken`` says in words what was taken out of it."""

    brief: str
    files: tuple[FileDiff, ...]
    checks: tuple[ShownChecks, ...]
    taken: tuple[str, ...]

    @property
    def paths(self) -> frozenset[str]:
        """The files of the change, by the names that the packet shows."""
        olds = {file.old_path for file in self.files if file.old_path is not None}
        return frozenset({file.path for file in self.files} | olds)


def blinded(
    brief: str,
    patch: bytes,
    grades: Sequence[Grade],
    shown: Sequence[str],
    hidden: Hidden,
) -> Material:
    """A packet's content from what is on record.

    Args:
        brief: What every configuration was told.
        patch: The change.
        grades: What graders said of it.
        shown: The graders that reviewers may see.
        hidden: What must not be seen.
    """
    files = parse_diff(patch)
    words = words_of(brief, files, hidden.paths)
    blinding = Blinding(secrets=hidden.secrets, words=words, private=hidden.paths)
    return Material(
        brief=brief,
        files=tuple(blinding.diff(files)),
        checks=tuple(
            ShownChecks(grader=grade.grader, checks=tuple(blinding.checks(grade.checks)))
            for name in shown
            for grade in grades
            if grade.grader == name
        ),
        taken=tuple(blinding.said()),
    )
