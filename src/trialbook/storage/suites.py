"""Suites on disk: finding them, reporting every mistake in one, and loading it as a value."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trialbook.errors import Problem, UserError
from trialbook.formats.document import Document, Pointer
from trialbook.formats.nearest import nearest
from trialbook.model.evidence import SightingSeverity
from trialbook.model.suite import (
    ArtifactPolicy,
    Comparison,
    Limits,
    OutagePolicy,
    Snapshot,
    Suite,
    merge_limits,
)
from trialbook.registry import Registry
from trialbook.storage.suite_candidates import build_waivers, check_waivers
from trialbook.storage.suite_configurations import (
    ConfigurationFile,
    build_configuration,
    check_configuration,
    configuration_files,
)
from trialbook.storage.suite_judgement import build_judgement, check_judgement
from trialbook.storage.suite_policy import check_policy
from trialbook.storage.suite_reading import Reading, mapping_of, name_fault, value_of
from trialbook.storage.suite_sources import (
    build_reference,
    build_snapshot,
)
from trialbook.storage.suite_tasks import TaskFile, build_task, check_task, task_folders
from trialbook.storage.suite_toolchains import build_toolchain, check_toolchain

SUITE_FILE = "suite.yaml"
DEFAULT_REPETITIONS = 3
MOST_REPETITIONS = 1000


def suite_names(root: Path) -> list[str]:
    """The suites of a ledger: folders below ``suites/`` that have a ``suite.yaml``."""
    folder = root / "suites"
    if not folder.is_dir():
        return []
    return sorted(
        child.name
        for child in folder.iterdir()
        if not child.name.startswith(".") and (child / SUITE_FILE).is_file()
    )


def check_suite(root: Path, name: str, registry: Registry) -> list[Problem]:
    """Every mistake in a suite, sorted by path, line and column; empty if there is none.

    Raises:
        UserError: there is no suite of that name.
    """
    return sorted(set(_read(root, name, registry).reading.problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Something that trials start from, and where it is declared.

    ``folder`` is what a snapshot's location is relative to; without a snapshot, it is the folder of
    a configuration's instructions.
    """

    document: Document
    pointer: Pointer
    folder: Path
    snapshot: Snapshot | None


def declared_sources(root: Path, name: str, registry: Registry) -> list[Declared]:
    """Snapshots and instructions that the files of a suite without a mistake in them name.

    Raises:
        UserError: there is no suite of that name.
    """
    found = _read(root, name, registry)
    wrong = {problem.path for problem in found.reading.problems}
    sources = []
    for task in found.tasks:
        if task.document.path in wrong:
            continue
        written = mapping_of(task.document)
        reference = build_reference(written.get("reference"))
        for key, snapshot in (
            ("snapshot", build_snapshot(written["snapshot"])),
            ("reference", reference.snapshot if reference else None),
        ):
            if snapshot is not None:
                sources.append(_declared(task.document, key, task.folder, snapshot))
    for item in found.configurations:
        instructions = mapping_of(item.document).get("instructions")
        # What is taken from a revision is in no folder here.
        if item.document.path not in wrong and isinstance(instructions, str):
            folder = found.reading.folder / "instructions" / instructions
            sources.append(_declared(item.document, "instructions", folder))
    return sources


def _declared(
    document: Document, key: str, folder: Path, snapshot: Snapshot | None = None
) -> Declared:
    return Declared(document=document, pointer=(key,), folder=folder, snapshot=snapshot)


def load_suite(root: Path, name: str, registry: Registry) -> Suite:
    """A suite without mistakes, with the digests of every file that is frozen in it.

    Raises:
        UserError: there is no such suite, or it has mistakes; holds all of them.
    """
    found = _read(root, name, registry)
    if found.reading.problems or found.document is None:
        raise UserError(problems=sorted(set(found.reading.problems)))
    return _build(found, found.document)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """All files of a suite, read and checked."""

    reading: Reading
    document: Document | None
    tasks: tuple[TaskFile, ...]
    configurations: tuple[ConfigurationFile, ...]


def _read(root: Path, name: str, registry: Registry) -> _Found:
    folder = root / "suites" / name
    if name_fault(name) or not folder.is_dir():
        known = suite_names(root)
        here = f"here are: {', '.join(known)}" if known else "make one: trialbook suite new NAME"
        raise UserError(f"there is no suite named {name!r}", hint=nearest(name, known) or here)
    if not folder.resolve().is_relative_to(root.resolve()):
        raise UserError(
            f"the suite {name!r} is a symbolic link that leads out of the ledger",
            hint="put the folder itself into suites/",
        )
    reading = Reading(root, name, registry)
    document = reading.document(folder / SUITE_FILE, "suite")
    reading.freeze("suite", folder / SUITE_FILE)
    tasks = [check_task(reading, task) for task in task_folders(folder)]
    read_tasks = [task for task in tasks if task is not None]
    repetitions = value_of(document, ("repetitions",), int) if document else None
    if repetitions is None or not 1 <= repetitions <= MOST_REPETITIONS:
        repetitions = DEFAULT_REPETITIONS
    configurations = [
        check_configuration(reading, path, read_tasks, repetitions)
        for path in configuration_files(folder)
    ]
    read_configurations = [item for item in configurations if item is not None]
    if not tasks:
        reading.add(folder / "tasks", "the suite has no task", f"trialbook task new {name} NAME")
    if document is not None and isinstance(document.data, dict):
        _check_suite(reading, document, read_tasks)
    return _Found(
        reading=reading,
        document=document,
        tasks=tuple(read_tasks),
        configurations=tuple(read_configurations),
    )


def _check_suite(reading: Reading, document: Document, tasks: Sequence[TaskFile]) -> None:
    name = value_of(document, ("suite",), str)
    if name is not None and name != reading.name:
        message = f"the suite is called `{name}`, but its folder `{reading.name}`"
        reading.at(document, ("suite",), message, "rename one of the two")
    check_toolchain(reading, document)
    listed = value_of(document, ("configurations",), list) or []
    files = [path.stem for path in configuration_files(reading.folder) if path.suffix == ".yaml"]
    for index, item in enumerate(listed):
        if isinstance(item, str) and not name_fault(item) and item not in files:
            message = f"there is no configuration `{item}`"
            hint = nearest(item, files) or f"add configurations/{item}.yaml"
            reading.at(document, ("configurations", index), message, hint)
    _check_expected(reading, document, tasks)
    _check_comparison(reading, document, [item for item in listed if isinstance(item, str)])
    check_policy(reading, document, {task.name: _graders(task) for task in tasks})
    shared = sorted(frozenset.intersection(*map(_graders, tasks))) if tasks else []
    check_judgement(reading, document, shared)
    check_waivers(reading, document, {task.name: task.document for task in tasks})


def _check_expected(reading: Reading, document: Document, tasks: Sequence[TaskFile]) -> None:
    """Every configuration that a task expects something of has to be one of the suite."""
    listed = [one for one in value_of(document, ("configurations",), list) or [] if one]
    for task in tasks:
        expected = value_of(task.document, ("expected_outcomes",), dict) or {}
        for name in expected.keys() - set(map(str, listed)):
            message = f"`{name}` is not among the suite's configurations"
            hint = nearest(name, listed) or "name one of them, or take this away"
            pointer: Pointer = ("expected_outcomes", name)
            reading.at(task.document, pointer, message, hint, key=True)


def _check_comparison(reading: Reading, document: Document, listed: Sequence[str]) -> None:
    sides = {}
    there = {path.stem for path in configuration_files(reading.folder)}
    # Of a name that is there and is not listed, the mistake is most likely in the list.
    misspelt = [name for name in listed if name not in there]
    for side in ("baseline", "candidate"):
        pointer: Pointer = ("compare", side)
        sides[side] = value_of(document, pointer, str)
        if misspelt and sides[side] in there and nearest(sides[side], misspelt):
            continue
        if sides[side] and not name_fault(sides[side]) and sides[side] not in listed:
            message = f"`{sides[side]}` is not among the suite's configurations"
            hint = nearest(sides[side], listed) or "add it under `configurations`"
            reading.at(document, pointer, message, hint)
    if sides["baseline"] and sides["baseline"] == sides["candidate"]:
        message = "a configuration cannot be compared with itself"
        reading.at(document, ("compare", "candidate"), message, "name another one")
    _check_looks(reading, document)


def _check_looks(reading: Reading, document: Document) -> None:
    repetitions = value_of(document, ("repetitions",), int) or DEFAULT_REPETITIONS
    for index, look in enumerate(value_of(document, ("compare", "looks"), list) or []):
        if isinstance(look, int) and look >= repetitions:
            message = f"a look after {look} rounds is none before the end: there are {repetitions}"
            hint = "leave it out; the end is always a look"
            reading.at(document, ("compare", "looks", index), message, hint)


def _graders(task: TaskFile) -> frozenset[str]:
    return frozenset(use.grader for use in task.graders)


def _build(found: _Found, document: Document) -> Suite:
    reading, written = found.reading, mapping_of(document)
    toolchain = build_toolchain(reading, document)
    by_name = {item.name: item for item in found.configurations}
    compare = written.get("compare")
    return Suite(
        name=reading.name,
        folder=os.path.relpath(reading.folder, reading.root),
        protocol=int(written["protocol"]),
        decision=written["decision"],
        accept=written["accept"],
        tasks=tuple(build_task(reading, task, toolchain) for task in found.tasks),
        configurations=tuple(
            build_configuration(reading, by_name[name], by_name)
            for name in written["configurations"]
        ),
        repetitions=int(written.get("repetitions", DEFAULT_REPETITIONS)),
        limits=merge_limits(Limits(), written.get("limits")),
        limits_are_failures=written.get("limits_are_failures", True),
        artifacts=_artifacts(written),
        rerun=dict(written.get("rerun", {})),
        outages=_outages(written),
        compare=_comparison(compare) if compare else None,
        judgement=build_judgement(written),
        waivers=build_waivers(document),
        severities={
            kind: SightingSeverity(said) for kind, said in written.get("sightings", {}).items()
        },
        description=written.get("description", ""),
        files=reading.digests("suite"),
    )


def _comparison(written: Mapping[str, Any]) -> Comparison:
    return Comparison(**{**written, "looks": tuple(written.get("looks", ()))})


def _outages(written: Mapping[str, Any]) -> OutagePolicy:
    given: dict[str, Any] = {
        name: float(value) if name.endswith("_minutes") else value
        for name, value in written.get("outages", {}).items()
    }
    return OutagePolicy(**given)


def _artifacts(written: Mapping[str, Any]) -> ArtifactPolicy:
    policy = ArtifactPolicy(**written.get("artifacts", {}))
    keep = policy.keep_kb
    return replace(policy, keep_kb=None if keep is None else float(keep))
