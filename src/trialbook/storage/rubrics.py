"""Rubrics of a ledger: ``rubrics/<name>/v<N>.md``, read with every mistake and its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbook.errors import Problem, UserError
from trialbook.formats.authored import read_text
from trialbook.formats.document import Document, Pointer
from trialbook.formats.front_matter import FrontMatter, parse_front_matter
from trialbook.formats.nearest import nearest
from trialbook.formats.schema import check_schema, load_schema
from trialbook.model.digest import sha256
from trialbook.model.question_wording import Fault, question_faults
from trialbook.model.rubric import VERDICTS, EvidenceKind, Question, Rubric
from trialbook.model.severity import Severity
from trialbook.storage.suite_reading import name_fault

RUBRICS_FOLDER = "rubrics"
RESERVED = frozenset({"judges"})
"""What a rubric may not be called: another kind of file has that folder."""

_REFERENCE = re.compile(r"(?P<name>[^@]+)@(?P<version>[1-9][0-9]{0,5})")
_VERSION_FILE = re.compile(r"v(?P<version>[1-9][0-9]{0,5})\.md")
_BESIDE = frozenset({"README.md"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricFile:
    """One version's file: its place below the ledger's root, and what its place says it is."""

    path: str
    name: str
    version: int

    @property
    def reference(self) -> str:
        """``merge@1``."""
        return f"{self.name}@{self.version}"


def rubric_of(text: str, reference: str) -> Rubric | None:
    """The rubric that a file's text holds, whatever its place; None if it has mistakes of form."""
    parts, problems = parse_front_matter(text, rubric_path(reference))
    if parts is None or problems or [*check_schema(parts.document, load_schema("rubric"))]:
        return None
    return _rubric(parts, sha256(text.encode()))


def load_rubric(root: Path, reference: str) -> Rubric:
    """The rubric that a reference such as ``merge@1`` names.

    How its questions are worded is left to `check_rubrics`: a rubric that was used stays readable
    when the check learns something new.

    Raises:
        UserError: there is none, or its file has mistakes of form; all of them, with their places.
    """
    file = _named(root, reference)
    rubric, _, problems = _read(root, file)
    if rubric is None or problems:
        raise UserError(problems=sorted(problems))
    return rubric


def readable_rubrics(root: Path) -> tuple[list[Rubric], list[Problem]]:
    """Every version that can be read, by name and number, and the mistakes of the others."""
    found: list[Rubric] = []
    problems: list[Problem] = []
    for file in rubric_files(root):
        rubric, _, faults = _read(root, file)
        if rubric is not None and not faults:
            found.append(rubric)
        problems += faults
    return found, sorted(problems)


def rubric_names(root: Path) -> list[str]:
    """The rubrics that have at least one version, by name."""
    return sorted({file.name for file in rubric_files(root)})


def rubric_files(root: Path) -> list[RubricFile]:
    """Every version of every rubric, by name and number."""
    found = [
        RubricFile(
            path=path.relative_to(root).as_posix(), name=path.parent.name, version=int(match[1])
        )
        for path in root.joinpath(RUBRICS_FOLDER).glob("*/*.md")
        if path.parent.name not in RESERVED and (match := _VERSION_FILE.fullmatch(path.name))
    ]
    return sorted(found, key=lambda file: (file.name, file.version))


def is_reference(text: str) -> bool:
    """Whether a text has the form of a reference to a version that could be here."""
    match = _REFERENCE.fullmatch(text)
    return match is not None and not name_fault(match["name"])


def rubric_path(reference: str) -> str:
    """Where the version that a reference names has to be, from the ledger's root down."""
    name, _, version = reference.partition("@")
    return f"{RUBRICS_FOLDER}/{name}/v{version}.md"


def rubric_file(root: Path, reference: str) -> RubricFile | None:
    """The file that a reference names; None if it is not there."""
    return next((file for file in rubric_files(root) if file.reference == reference), None)


def check_rubrics(root: Path, names: frozenset[str] | None = None) -> list[Problem]:
    """Every mistake in the rubrics of a ledger, of form and of wording.

    Args:
        root: The ledger.
        names: Look only at these rubrics.
    """
    problems = [*_misplaced(root, names)]
    for file in rubric_files(root):
        if names is None or file.name in names:
            problems += check_rubric(root, file)
    return sorted(problems)


def check_rubric(root: Path, file: RubricFile) -> list[Problem]:
    """Every mistake in one version, of form and of wording."""
    _, document, problems = _read(root, file)
    if document is not None:
        problems = [*problems, *_wording(document)]
    return sorted(set(problems))


def _named(root: Path, reference: str) -> RubricFile:
    file = rubric_file(root, reference)
    if file is not None:
        return file
    known = [one.reference for one in rubric_files(root)]
    if not _REFERENCE.fullmatch(reference):
        latest = max((one for one in known if one.startswith(f"{reference}@")), default="merge@1")
        raise UserError(
            f"{reference!r} does not name a version of a rubric",
            hint=f"write the name and the number of its version, as in {latest}",
        )
    here = ", ".join(known) or "none yet; trialbook rubric new merge"
    raise UserError(
        f"there is no rubric {reference}", hint=nearest(reference, known) or f"here are: {here}"
    )


def _read(root: Path, file: RubricFile) -> tuple[Rubric | None, Document | None, list[Problem]]:
    """A version's file: the rubric unless it has mistakes of form, the document if there is one."""
    path = root / file.path
    if any(place.is_symlink() for place in (path, path.parent)):
        message = "this is a symbolic link, or in a folder that is one"
        problem = Problem(path=file.path, message=message, hint="put the file itself here")
        return None, None, [problem]
    text, unreadable = read_text(path, file.path)
    if text is None:
        return None, None, [unreadable] if unreadable else []
    parts, problems = parse_front_matter(text, file.path)
    if parts is None:
        return None, None, problems
    document = parts.document
    problems += check_schema(document, load_schema("rubric"))
    problems += _out_of_place(document, file)
    problems += _twice(document)
    problems += _disordered(document)
    problems += _with_nul(document)
    if not parts.prose.strip():
        message = "there is no prose below the front matter"
        hint = "say for people what the rubric is for and how to answer it"
        line = parts.prose_line
        problems.append(Problem(path=file.path, line=line, column=1, message=message, hint=hint))
    if problems:
        return None, document, problems
    return _rubric(parts, sha256(path.read_bytes())), document, []


def _out_of_place(document: Document, file: RubricFile) -> Iterator[Problem]:
    """A file says what its place says."""
    if fault := name_fault(file.name):
        message, _, hint = fault.partition("; ")
        yield Problem(path=file.path, message=message, hint=hint)
    for key, wanted, what in (
        ("rubric", file.name, "the folder"),
        ("version", file.version, "the file's name"),
    ):
        said = _mapping(document.data).get(key)
        if isinstance(said, type(wanted)) and said != wanted:
            message = f"`{key}` is `{said}`, but {what} says `{wanted}`"
            yield document.problem((key,), message, f"write {key}: {wanted}")


def _twice(document: Document) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for number, question in _questions(document):
        name = question.get("id")
        if not isinstance(name, str):
            continue
        if name in seen:
            line = document.position(("questions", seen[name], "id"))[0]
            message = f"the id `{name}` is here twice"
            hint = f"it is already on line {line}"
            yield document.problem(("questions", number, "id"), message, hint)
        seen.setdefault(name, number)


def _disordered(document: Document) -> Iterator[Problem]:
    verdicts = _mapping(document.data).get("verdicts")
    if not isinstance(verdicts, list) or not all(one in VERDICTS for one in verdicts):
        return
    ordered = sorted(verdicts, key=VERDICTS.index)
    if verdicts != ordered:
        message = "the verdicts must stand from best to worst"
        yield document.problem(("verdicts",), message, f"write [{', '.join(ordered)}]")


def _with_nul(document: Document) -> Iterator[Problem]:
    """A text that no command line can hold."""
    texts: list[tuple[Pointer, Any]] = [(("title",), _mapping(document.data).get("title"))]
    for number, question in _questions(document):
        texts += [(("questions", number, key), value) for key, value in question.items()]
    for pointer, value in texts:
        if isinstance(value, str) and "\0" in value:
            message = "a text may not hold the character U+0000"
            yield document.problem(pointer, message, "remove it")


def _wording(document: Document) -> Iterator[Problem]:
    """What nothing could answer, or only taste."""
    for number, question in _questions(document):
        texts = {key: value for key, value in question.items() if isinstance(value, str)}
        for fault in question_faults(texts):
            yield _at(document, number, fault)


def _at(document: Document, number: int, fault: Fault) -> Problem:
    pointer = ("questions", number, fault.key)
    return document.problem(pointer, fault.message, fault.hint, offset=fault.offset)


def _rubric(parts: FrontMatter, digest: str) -> Rubric:
    data = parts.document.data
    return Rubric(
        name=data["rubric"],
        version=data["version"],
        title=data["title"],
        verdicts=tuple(data.get("verdicts", ())),
        questions=tuple(_question(one) for one in data["questions"]),
        prose=parts.prose.strip("\n") + "\n",
        sha256=digest,
    )


def _question(data: dict[str, Any]) -> Question:
    return Question(
        id=data["id"],
        text=data["text"].strip(),
        no_when=data["no_when"].strip(),
        evidence=EvidenceKind(data["evidence"]),
        severity=Severity(data.get("severity", Severity.HIGH)),
        applies_to=data["applies_to"].strip() if "applies_to" in data else None,
        critical=data.get("critical", False),
    )


def _questions(document: Document) -> Iterator[tuple[int, dict[str, Any]]]:
    questions = _mapping(document.data).get("questions")
    if isinstance(questions, list):
        for number, question in enumerate(questions):
            if isinstance(question, dict):
                yield number, question


def _mapping(data: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    return data if isinstance(data, dict) else {}


def _misplaced(root: Path, names: frozenset[str] | None) -> Iterator[Problem]:
    """Markdown that looks like a rubric and is none."""
    for path in sorted(root.joinpath(RUBRICS_FOLDER).glob("*/*.md")):
        name = path.parent.name
        if name in RESERVED or (names is not None and name not in names):
            continue
        if path.name not in _BESIDE and not _VERSION_FILE.fullmatch(path.name):
            shown = path.relative_to(root).as_posix()
            message = "this is not the name of a rubric's version"
            yield Problem(path=shown, message=message, hint="call it v1.md, v2.md, ...")
