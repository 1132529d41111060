"""What every check is made of: claims about a plugin, its description, and folders as they were."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trialbook.api import parse_document
from trialbook.formats.schema import check_schema, schema_fault

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class NotConforming(AssertionError):
    """A plugin breaks a promise of its seam."""


def claim(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Go on if it holds.

    Raises:
        NotConforming: it does not.
    """
    if not holds:
        raise NotConforming(otherwise)


def claim_name(name: object) -> None:
    """A plugin's name is lower-case words with hyphens."""
    claim(
        isinstance(name, str) and _NAME.fullmatch(name) is not None,
        f"`name` is {name!r}; it must be lower-case words joined by hyphens",
    )


def claim_version(version: object) -> None:
    """A version is a short text on one line."""
    claim(
        isinstance(version, str) and version.isprintable() and 0 < len(version) <= 100,  # noqa: PLR2004
        f"the version is {version!r}; it must be a short text",
    )


def claim_parameters(schema: object, parameters: Mapping[str, Any]) -> None:
    """The parameters' schema is one, takes what the check runs with, and nothing unknown."""
    claim(isinstance(schema, Mapping), "`parameters` must be a JSON Schema")
    known: Mapping[str, Any] = schema  # type: ignore[assignment]
    fault = schema_fault(known)
    claim(not fault, f"`parameters` is no valid JSON Schema: {fault}")
    wrong = _problems(known, dict(parameters))
    claim(not wrong, f"its own schema refuses the parameters of this check: {'; '.join(wrong)}")
    wrong = _problems(known, {**parameters, "no_such_parameter": 1})
    claim(bool(wrong), "its schema takes unknown keys; set additionalProperties: false")


def claim_sentence(message: object, what: str) -> None:
    """A message for people: there is one, and it is one line."""
    claim(
        isinstance(message, str) and bool(message.strip()) and "\n" not in message,
        f"{what} has the message {message!r}; it must be one sentence",
    )


def contents(folder: Path) -> dict[str, str]:
    """Every entry below a folder with its kind, exec bit and digest: what must stay the same."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(top, name)
            found[str(path.relative_to(folder))] = _entry(path)
    return found


def claim_unchanged(before: Mapping[str, str], folder: Path, what: str) -> None:
    """A folder is as it was."""
    after = contents(folder)
    changed = sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
    claim(not changed, f"{what} must not change, but these did: {', '.join(changed[:5])}")


def _entry(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return f"link {path.readlink()}"
    if stat.S_ISREG(mode):
        return f"{mode & stat.S_IXUSR} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return f"{stat.S_IFMT(mode)}"


def _problems(schema: Mapping[str, Any], parameters: Mapping[str, Any]) -> list[str]:
    document, broken = parse_document(json.dumps(parameters), "parameters")
    found = broken if document is None else check_schema(document, schema)
    return [str(problem) for problem in found]
