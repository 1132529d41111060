"""Credential files: read from the operator, laid into a client's home, their values kept secret.

What is secret in a file is found by its form, so only forms are taken in which that is certain:
JSON, of which every text counts; lines of ``NAME=VALUE``; and a file that is one word.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trialbook.errors import EnvironmentProblem, Problem, UserError
from trialbook.execution.room import Room
from trialbook.model.credentials import CredentialFile
from trialbook.model.suite import Configuration
from trialbook.storage.exact_values import SHORTEST
from trialbook.system import System

_MOST_BYTES = 1_000_000
_MOST_VALUES = 500
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_LINE = re.compile(r"(?:export\s+)?[A-Za-z_][A-Za-z0-9_.-]*\s*=\s*(.*)")
_JSON_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NOT_A_WORD = re.compile(r"[^A-Za-z0-9_.-]+")
_FORMS = "it may be JSON, lines of NAME=VALUE, or one word"


def check_credential_files(stages: Iterable[Configuration], system: System) -> None:
    """See that every credential file can be laid, and kept out of the ledger.

    Raises:
        UserError: some cannot; holds all of them.
    """
    problems: list[Problem] = []
    for file, name in {file: one.name for one in stages for file in one.credential_files}.items():
        try:
            _values(file, _read(file, system))
        except EnvironmentProblem as problem:
            where = f"configuration {name}"
            problems.append(Problem(path=where, message=problem.message, hint=problem.hint))
    if problems:
        raise UserError(problems=problems)


def lay_credentials(configuration: Configuration, room: Room, system: System) -> dict[str, str]:
    """Lay a configuration's credential files into the home; gives the values that are secret.

    Raises:
        EnvironmentProblem: one is not what it was when the run began, or its place is taken.
    """
    values: dict[str, str] = {}
    for file in configuration.credential_files:
        data = _read(file, system)
        values = with_values(values, _values(file, data))
        _lay(room.home, file.to, data)
    return values


def known_credentials(configuration: Configuration, system: System) -> dict[str, str]:
    """The secret values of those of its credential files that can be read now."""
    values: dict[str, str] = {}
    for file in configuration.credential_files:
        try:
            values = with_values(values, _values(file, _read(file, system)))
        except EnvironmentProblem:
            # Grading again happens on other machines, too, which never had it.
            continue
    return values


def with_values(known: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Values by name, with others that may have the same names: no value gets lost."""
    values = dict(known)
    for name, value in more.items():
        place = name
        while values.get(place, value) != value:
            place += "-"
        values[place] = value
    return values


def _read(file: CredentialFile, system: System) -> bytes:
    # What is said may end up in a record, so it names the file as the configuration does.
    path, named = _path(file, system), f"the credential file {file.source}"
    hint = f"log in with the client, or correct `from: {file.source}`"
    try:
        if not path.is_file():
            raise EnvironmentProblem(f"{named} is not there", hint=hint)
        with path.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise EnvironmentProblem(f"{named}: {error.strerror or 'no reason'}", hint=hint) from error
    if len(data) > _MOST_BYTES:
        raise EnvironmentProblem(f"{named} is larger than a megabyte", hint=hint)
    return data


def _path(file: CredentialFile, system: System) -> Path:
    source = file.source
    if variable := _VARIABLE.fullmatch(source):
        source = system.environ.get(variable[1], "")
        if not source:
            raise EnvironmentProblem(
                f"{variable[1]} is not set, which names a credential file",
                hint=f"type: export {variable[1]}=PATH, and run again",
            )
    if source.startswith("~/"):
        return system.home() / source[2:]
    path = Path(source)
    if not path.is_absolute():
        raise EnvironmentProblem(
            f"the path of the credential file {file.source} is not a whole one",
            hint="it has to begin with / or ~/",
        )
    return path


def _values(file: CredentialFile, data: bytes) -> dict[str, str]:
    """What of a file is secret, under names made of its place alone."""
    name = _NOT_A_WORD.sub("-", file.to.rpartition("/")[2])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _unfit(file, "it is no text") from error
    found = [one for one in dict.fromkeys(_secret_texts(file, text)) if len(one) >= SHORTEST]
    if not found:
        raise _unfit(file, f"nothing in it has {SHORTEST} characters")
    if len(found) > _MOST_VALUES:
        raise _unfit(file, f"it has {len(found)} texts, and {_MOST_VALUES} can be looked for")
    return {f"{name}.{number}": value for number, value in enumerate(found, 1)}


def _secret_texts(file: CredentialFile, text: str) -> Iterator[str]:
    stripped = text.strip()
    if stripped[:1] in {"{", "[", '"'}:
        try:
            yield from _leaves(json.loads(stripped, object_pairs_hook=list))
        except (ValueError, RecursionError) as error:
            raise _unfit(file, f"it is no JSON: {error}") from error
        # As they are written: a program may print them so.
        yield from (raw for raw in _JSON_TEXT.findall(stripped) if "\\" in raw)
        return
    if stripped and len(stripped.split()) == 1 and "=" not in stripped:
        yield stripped
        return
    for line in filter(None, map(str.strip, stripped.splitlines())):
        if line.startswith("#"):
            continue
        value = _LINE.fullmatch(line)
        if value is None:
            raise _unfit(file, "what of it is secret cannot be told")
        yield value[1].strip()
        yield value[1].strip().strip("'\"")


def _leaves(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value, objects as pairs
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        yield from _leaves(value[1])
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)


def _unfit(file: CredentialFile, why: str) -> EnvironmentProblem:
    message = f"the credential file {file.source} cannot be used: {why}"
    return EnvironmentProblem(message, hint=_FORMS)


def _lay(home: Path, to: str, data: bytes) -> None:
    """Write a file below the home that only its owner can read; nothing is followed or replaced."""
    *folders, name = to.split("/")
    place = home
    try:
        for folder in folders:
            place /= folder
            if not place.is_symlink():
                place.mkdir(mode=0o700, exist_ok=True)
            if place.is_symlink() or not place.is_dir():
                raise FileExistsError
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(place / name, flags, 0o600), "wb") as opened:
            opened.write(data)
    except OSError as error:
        message = f"the credential file {to} cannot be laid into the client's home: {error}"
        raise EnvironmentProblem(message, hint="each `to` has to be a place of its own") from error
