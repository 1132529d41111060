"""Sessions of a task: checking what each names and how they hang together, and their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trialbook.errors import Refused
from trialbook.formats.document import Document, Pointer
from trialbook.formats.nearest import nearest
from trialbook.formats.patch import parse_patch
from trialbook.formats.patch_lines import lines_of
from trialbook.model.grader_use import GraderUse
from trialbook.model.path_patterns import is_covered
from trialbook.model.paths import path_to_text
from trialbook.model.series import (
    SKIP,
    Decision,
    LaidIn,
    Regression,
    RegressionKey,
    RegressionKind,
    SessionPart,
    SessionPlan,
)
from trialbook.storage.files import read_regular
from trialbook.storage.suite_graders import PRIVATE, any_private, check_use, named_files, task_owner
from trialbook.storage.suite_reading import Reading, below, mapping_of, value_of

_GRADERS = {SessionPart.CHECKS: "checks", SessionPart.TESTS: "acceptance"}
_PRIVATE_GRADER = "acceptance"
_PLACE = re.compile(r".+:[0-9]+(?:-[0-9]+)?")
_MOST_FAULTY = 20_000_000
_TOP: Pointer = ("sessions",)

Uses = list[dict[SessionPart, GraderUse]]


def has_sessions(document: Document) -> bool:
    """Whether a task has several sessions."""
    return "sessions" in mapping_of(document)


def check_sessions(reading: Reading, document: Document, folder: Path) -> Uses:
    """Check every session with all that it names, and all of them together; files are frozen."""
    written = mapping_of(document)
    for key in ("notes", "after_failure"):
        if key in written and "sessions" not in written:
            message = f"`{key}` is for a task with `sessions`"
            reading.at(document, (key,), message, "add them, or remove it", key=True)
    if "brief" in written and "sessions" in written:
        message = "each session has a brief of its own, and the task none"
        reading.at(document, ("brief",), message, "remove it", key=True)
    checker = _Sessions(reading, document, folder)
    for index, _ in enumerate(value_of(document, _TOP, list) or []):
        checker.check(index)
    return checker.uses


def build_sessions(
    reading: Reading, document: Document, folder: Path, uses: Uses
) -> tuple[SessionPlan, ...]:
    """The sessions of a task without mistakes; none if it is an ordinary one."""
    return tuple(
        SessionPlan(
            name=written["session"],
            brief=reading.text(folder / written["brief"]),
            checks=used.get(SessionPart.CHECKS),
            tests=used.get(SessionPart.TESTS),
            private=used.get(SessionPart.PRIVATE),
            decisions=tuple(map(_decision, written.get("decisions", ()))),
            conflicts_with=written.get("conflicts_with"),
            regressions=tuple(
                _regression(reading, folder, one) for _, one in _regressions(written)
            ),
            limits=dict(written["limits"]) if "limits" in written else None,
        )
        for written, used in zip(mapping_of(document).get("sessions", ()), uses, strict=True)
    )


def read_key(reading: Reading, path: Path) -> RegressionKey | None:
    """The sealed key of a regression; None if it has mistakes, which are told."""
    before = len(reading.problems)
    document = reading.document(path, "regression_key")
    if document is None or len(reading.problems) > before:
        return None
    written = mapping_of(document)
    return RegressionKey(component=tuple(written["component"]), cause=written["cause"])


class _Sessions:
    """Checks the sessions of one task, in their order."""

    def __init__(self, reading: Reading, document: Document, folder: Path) -> None:
        self.reading, self.document, self.folder = reading, document, folder
        self.owner = task_owner(folder.name)
        self.uses: Uses = []
        self.names: set[str] = set()
        self.decisions: dict[str, int] = {}
        self.conflict: str | None = None

    def check(self, index: int) -> None:
        at: Pointer = (*_TOP, index)
        self.uses.append({})
        written = value_of(self.document, at, dict)
        if written is None:
            return
        name = value_of(self.document, (*at, "session"), str)
        if name in self.names:
            message = f"there is a session `{name}` already"
            self._say((*at, "session"), message, "give each a name of its own")
        self.names.add(name or "")
        self._brief((*at, "brief"))
        self._graders(at)
        known = self._private_tests(at)
        for place, _ in enumerate(value_of(self.document, (*at, "decisions"), list) or []):
            self._decision((*at, "decisions", place), index, known)
        self._conflict(at, index)
        for pointer, regression in _regressions(written, (*at, "regression")):
            self._regression(pointer, regression, index, known)

    # --- what a session names ---

    def _brief(self, pointer: Pointer) -> None:
        path = self._file(pointer)
        if path is None:
            return
        if _is_private(path, self.folder):
            self._say(pointer, "a brief is for the agent to read", "keep it out of `private/`")
        before = len(self.reading.problems)
        if not self.reading.text(path).strip() and len(self.reading.problems) == before:
            self.reading.add(path, "the brief is empty", "write what the agent is asked to do")

    def _graders(self, at: Pointer) -> None:
        if not any(part.value in value_of(self.document, at, dict) for part in SessionPart):
            message = "nothing judges this session"
            self._say(at, message, "add `checks`, `tests` or `private`")
        for part in SessionPart:
            pointer: Pointer = (*at, part.value)
            if part.value not in value_of(self.document, at, dict):
                continue
            grader = _GRADERS.get(part, _PRIVATE_GRADER)
            use = check_use(self.reading, self.document, pointer, self.folder, grader)
            self.uses[-1][part] = use
            self._sides(pointer, part, use)

    def _sides(self, pointer: Pointer, part: SessionPart, use: GraderUse) -> None:
        """What is disclosed may not be private, and what is private has to be."""
        files = named_files(self.reading, use, self.folder)
        if part is not SessionPart.PRIVATE and any_private(files, self.folder):
            message = "these are disclosed to the agent, but a file of theirs is in `private/`"
            self._say(pointer, message, "move it, or put the tests under `private:`", key=True)
        for file in files:
            if part is SessionPart.PRIVATE and not _is_private(file, self.folder):
                message = f"`{self.reading.shown(file)}` is not in `private/`"
                self._say(pointer, message, "move it there, away from the agent", key=True)

    def _private_tests(self, at: Pointer) -> frozenset[str] | None:
        """The ids of the tests that a session's private tests have to pass; None if not known."""
        name = value_of(self.document, (*at, "private", "expect"), str)
        path = below(self.folder, name)
        if path is None or not path.is_file():
            return None
        silent = Reading(self.reading.root, self.reading.name, self.reading.registry)
        document = silent.document(path, "expected")
        if document is None or silent.problems:
            return None
        return frozenset(mapping_of(document)["passed"])

    # --- decisions ---

    def _decision(self, at: Pointer, index: int, known: frozenset[str] | None) -> None:
        name = value_of(self.document, (*at, "id"), str)
        if name is not None and name in self.decisions:
            self._say((*at, "id"), f"there is a decision `{name}` already", "give it another name")
        elif name is not None:
            self.decisions[name] = index
        checks: Pointer = (*at, "property", "checks")
        if value_of(self.document, checks, str) is not None:
            path = self._file(checks)
            if path is not None and not _is_private(path, self.folder):
                self._say(checks, "the agent could read what is looked for", "use `private/`")
            if path is not None:
                check_use(self.reading, self.document, checks, self.folder, "checks")
        self._tests((*at, "property", "tests"), known)

    def _conflict(self, at: Pointer, index: int) -> None:
        pointer: Pointer = (*at, "conflicts_with")
        name = value_of(self.document, pointer, str)
        if name is None:
            return
        if self.conflict is not None:
            message = f"`{self.conflict}` is contradicted by an earlier session already"
            self._say(pointer, message, "a series has one such requirement: remove the others")
        self.conflict = self.conflict or name
        if self.decisions.get(name, index) < index:
            return
        earlier = [one for one, where in self.decisions.items() if where < index]
        message = f"there is no decision `{name}` in an earlier session"
        if name in self.decisions:
            message = f"the decision `{name}` is of this session itself"
        self._say(pointer, message, nearest(name, earlier) or "name the decision of an earlier one")

    # --- regressions ---

    def _regression(
        self, at: Pointer, written: Mapping[str, Any], index: int, known: frozenset[str] | None
    ) -> None:
        if index == 0:
            self._say(at, "nothing can break before the first session", "move it to a later one")
        if SessionPart.PRIVATE not in self.uses[-1]:
            message = "a regression is reported by private tests, and this session has none"
            self._say(at, message, "add `private:` to the session")
        reported = written.get("reported")
        for key in ("reported", "siblings"):
            self._tests((*at, key), known)
        for place, one in enumerate(value_of(self.document, (*at, "siblings"), list) or []):
            if isinstance(reported, list) and one in reported:
                message = f"`{one}` is in `reported` too"
                self._say((*at, "siblings", place), message, "a sibling has another input")
        if "brief" in written:
            self._brief((*at, "brief"))
        self._laid_in(at, written)
        self._key((*at, "key"), written)

    def _laid_in(self, at: Pointer, written: Mapping[str, Any]) -> None:
        kind, plant = written.get("kind"), written.get("plant")
        pointer: Pointer = (*at, "plant")
        if kind == RegressionKind.PLANTED and not isinstance(plant, dict):
            message = "a planted regression needs a `plant`"
            self._say(at, message, "name the patch or the folder that is committed")
        if kind == RegressionKind.OWN and plant is not None:
            message = "what the agent broke itself is not planted"
            self._say(pointer, message, "remove `plant`, or correct `kind`", key=True)
        if not isinstance(plant, dict):
            return
        if (kind == RegressionKind.PLANTED) != ("faulty" in plant):
            message = "`faulty` says where a planted fault is, and belongs to `planted` only"
            self._say(pointer, message, "add it there, and only there", key=True)
        for key, is_folder in (("patch", False), ("overlay", True)):
            if value_of(self.document, (*pointer, key), str) is not None:
                path = self._file((*pointer, key), folder=is_folder)
                if path is not None and not _is_private(path, self.folder):
                    self._say((*pointer, key), "the agent could read it", "move it to `private/`")
                if path is not None and is_folder:
                    self._overlay((*pointer, "faulty"), path, plant)
                elif path is not None:
                    self._patch((*pointer, key), path, plant)

    def _patch(self, pointer: Pointer, path: Path, plant: Mapping[str, Any]) -> None:
        try:
            patches = parse_patch(path.read_bytes())
        except Refused as error:
            message = f"this is no patch that can be applied: {error.message}"
            self._say(pointer, message, "write it with `git diff --binary`")
            return
        touched = {path_to_text(one.new_path) for one in patches if one.new_path is not None}
        lines = lines_of(patches)
        for at, one, file in _faulty((*pointer[:-1], "faulty"), plant):
            if file not in touched:
                hint = nearest(file, sorted(touched))
                self._say(at, f"the patch does not touch `{file}`", hint)
            elif not lines.changes(one):
                hint = "name lines that it adds, by their numbers after the change"
                self._say(at, f"the patch does not change `{one}`", hint)

    def _overlay(self, pointer: Pointer, folder: Path, plant: Mapping[str, Any]) -> None:
        """Whether a fault is in a file of the overlay, and in lines that it has."""
        for at, one, path in _faulty(pointer, plant):
            file = below(folder, path)
            data = None if file is None else read_regular(file, _MOST_FAULTY)
            if data is None:
                known = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
                self._say(at, f"the overlay has no file `{path}`", nearest(path, known))
                continue
            first, _, last = one.rpartition(":")[2].partition("-")
            count = len(data.splitlines())
            if not 1 <= int(first) <= int(last or first) <= count:
                message = f"`{path}` has no lines {one.rpartition(':')[2]}"
                self._say(at, message, f"it has {count}: name some of them")

    def _key(self, pointer: Pointer, written: Mapping[str, Any]) -> None:
        if "key" not in written:
            if written.get("kind") != RegressionKind.OWN:
                message = "there is no sealed key, so nobody can say what the cause is"
                self._say(pointer[:-1], message, "add `key:` with a file in `private/`")
            return
        path = self._file(pointer)
        if path is None:
            return
        if not _is_private(path, self.folder):
            self._say(pointer, "the agent could read the key", "move it to `private/`")
        key = read_key(self.reading, path)
        plant = written.get("plant")
        faulty = plant.get("faulty", ()) if isinstance(plant, dict) else ()
        for one in faulty:
            place = one.rpartition(":")[0] if isinstance(one, str) else ""
            if key is not None and place and not is_covered(place, key.component):
                message = f"the fault in `{place}` is outside of the key's `component`"
                self._say(pointer, message, "correct one of the two")

    # --- pieces ---

    def _tests(self, pointer: Pointer, known: frozenset[str] | None) -> None:
        for place, one in enumerate(value_of(self.document, pointer, list) or []):
            if known is not None and isinstance(one, str) and one not in known:
                message = f"the session's private tests expect no `{one}` to pass"
                hint = nearest(one, sorted(known)) or "name an id of `passed` in its `expect`"
                self._say((*pointer, place), message, hint)

    def _file(self, pointer: Pointer, *, folder: bool = False) -> Path | None:
        """A file or a folder that is named and there; it is frozen."""
        path = below(self.folder, value_of(self.document, pointer, str))
        if path is None or not self.reading.found(self.document, pointer, path, folder=folder):
            return None
        self.reading.freeze(self.owner, path)
        return path

    def _say(self, pointer: Pointer, message: str, hint: str = "", *, key: bool = False) -> None:
        self.reading.at(self.document, pointer, message, hint, key=key)


def _is_private(path: Path, folder: Path) -> bool:
    return any_private([path], folder) and PRIVATE in path.relative_to(folder).parts


def _regressions(
    written: Mapping[str, Any], at: Pointer = ()
) -> Iterator[tuple[Pointer, Mapping[str, Any]]]:
    """The regressions of a session in their order, each with its place."""
    given = written.get("regression")
    if isinstance(given, dict):
        yield at, given
    elif isinstance(given, list):
        yield from (((*at, n), one) for n, one in enumerate(given) if isinstance(one, dict))


def _faulty(pointer: Pointer, plant: Mapping[str, Any]) -> Iterator[tuple[Pointer, str, str]]:
    """The places of a fault that are written as they should be: where, what, and their path."""
    for place, one in enumerate(plant.get("faulty") or ()):
        if isinstance(one, str) and _PLACE.fullmatch(one):
            yield (*pointer, place), one, one.rpartition(":")[0]


def _decision(written: Mapping[str, Any]) -> Decision:
    shown_by = written["property"]
    return Decision(
        id=written["id"],
        statement=written["statement"],
        checks=shown_by.get("checks"),
        tests=tuple(shown_by.get("tests", ())),
    )


def _regression(reading: Reading, folder: Path, written: Mapping[str, Any]) -> Regression:
    plant = written.get("plant")
    return Regression(
        kind=RegressionKind(written["kind"]),
        reported=tuple(written["reported"]),
        siblings=tuple(written["siblings"]),
        symptom=written["symptom"],
        laid_in=None
        if plant is None
        else LaidIn(**{**plant, "faulty": tuple(plant.get("faulty", ()))}),
        key=written.get("key"),
        brief=reading.text(folder / written["brief"]) if "brief" in written else None,
        unless_applies=written.get("unless_applies", SKIP),
    )
