"""A new rubric, or the next version of one that was used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Problem, UserError
from trialbook.formats.authored import read_text
from trialbook.formats.front_matter import edit_front_matter
from trialbook.storage.files import write_atomic
from trialbook.storage.reader import Reader
from trialbook.storage.rubric_uses import RubricUse, frozen_problems, rubric_uses
from trialbook.storage.rubrics import (
    RESERVED,
    check_rubrics,
    load_rubric,
    rubric_file,
    rubric_files,
    rubric_names,
    rubric_path,
)
from trialbook.storage.shipped_rubrics import empty_rubric, shipped_rubrics
from trialbook.storage.suite_reading import name_fault


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRubric:
    """The file that was made, and what it was copied from; empty for a blank one."""

    path: str
    reference: str
    source: str


def new_rubric(root: Path, name: str, source: str = "") -> NewRubric:
    """Make the first version of a rubric, or the next one of a rubric that is there.

    Args:
        root: The ledger.
        name: The rubric.
        source: The rubric to copy, as ``merge`` (its last version) or ``merge@1``. Without one, the
            next version is copied from the last, a rubric that the program ships comes as it is
            shipped, and any other is begun with one question.

    Raises:
        UserError: the name is not usable, there is no such source, or it has mistakes of form.
    """
    if fault := name_fault(name) or _reserved(name):
        message, _, hint = fault.partition("; ")
        raise UserError(message, hint=hint)
    versions = [file for file in rubric_files(root) if file.name == name]
    number = versions[-1].version + 1 if versions else 1
    text, shown = _source(root, name, source)
    for key, value in (("rubric", name), ("version", number)):
        text = edit_front_matter(text, (key,), value)
    reference = f"{name}@{number}"
    path = rubric_path(reference)
    write_atomic(root / path, text.encode())
    return NewRubric(path=path, reference=reference, source=shown)


def latest_reference(root: Path, text: str) -> str:
    """What an argument RUBRIC means: ``merge@1``, or ``merge`` for its last version."""
    versions = [file.reference for file in rubric_files(root) if file.name == text]
    return versions[-1] if versions else text


def uses_of_rubrics(root: Path) -> list[RubricUse]:
    """Every use that the ledger's records show, by version and place."""
    try:
        reader = Reader.open(root)
    except EnvironmentProblem:  # no repository, so no runs
        return sorted(rubric_uses(root, None))
    try:
        return sorted(rubric_uses(root, reader))
    finally:
        reader.close()


def check_rubrics_whole(root: Path, name: str | None = None) -> list[Problem]:
    """Every mistake of form and wording, and every version that was changed after it was used.

    Args:
        root: The ledger.
        name: Look only at this rubric; ``merge@1`` means ``merge``.

    Raises:
        UserError: there is no rubric of that name.
    """
    name = None if name is None else name.partition("@")[0]
    names = None if name is None else frozenset({name})
    uses = uses_of_rubrics(root)
    used = {use.reference.partition("@")[0] for use in uses}
    if name is not None and name not in {*rubric_names(root), *used}:
        load_rubric(root, f"{name}@1")  # says what there is
    return sorted([*check_rubrics(root, names), *frozen_problems(root, uses, names)])


def _reserved(name: str) -> str:
    if name in RESERVED:
        return f"{name!r} is the folder of something else below rubrics/; choose another name"
    return ""


def _source(root: Path, name: str, source: str) -> tuple[str, str]:
    """The text to begin with, and what it is."""
    shipped = shipped_rubrics()
    wanted = latest_reference(root, source or name)
    if rubric_file(root, wanted) is not None:
        return _own(root, wanted)
    shipped_version = wanted if "@" in wanted else f"{wanted}@1"
    if (text := shipped.get(rubric_path(shipped_version))) is not None:
        return text, f"{shipped_version} as shipped"
    if source:
        load_rubric(root, shipped_version)  # says what there is
    return empty_rubric(), ""


def _own(root: Path, reference: str) -> tuple[str, str]:
    load_rubric(root, reference)
    path = rubric_path(reference)
    text, problem = read_text(root / path, path)
    if text is None or problem is not None:
        raise UserError(problems=[problem] if problem else [])
    return text, reference
