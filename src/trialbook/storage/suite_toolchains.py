"""What tasks need to run, as suites write it: checked, frozen, and made a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trialbook.formats.document import Document, Pointer
from trialbook.model.digest import digest_of_files, sha256
from trialbook.model.toolchain import Image, Toolchain
from trialbook.storage.suite_reading import Reading, below, value_of
from trialbook.storage.suite_sources import check_digest

_AT: Pointer = ("toolchain",)
_PINNED = re.compile(r"===?[^*]+$| @ ")
_UNFROZEN = ("-r", "-c", "-e", "--requirement", "--constraint", "--editable")
_HASH = "--hash"


def check_toolchain(reading: Reading, document: Document) -> None:
    """What a toolchain names has to be there; it is frozen with the suite."""
    written = value_of(document, _AT, dict) or {}
    _check_image(reading, document, written)
    _check_prepare(reading, document, written)
    pointer = (*_AT, "requirements")
    path = below(reading.folder, value_of(document, pointer, str))
    if path is None or not reading.found(document, pointer, path):
        return
    if path not in reading.requirements:
        reading.requirements.add(path)
        reading.freeze("suite", path)
        _check_requirements(reading, path)


def _check_image(reading: Reading, document: Document, written: dict[str, Any]) -> None:
    if "image" not in written:
        return
    for other in written:
        if other != "image":
            message = f"`{other}` cannot stand beside `image`: an image is all that there is"
            hint = "put it into the image, or leave out the image"
            reading.at(document, (*_AT, other), message, hint, key=True)
    pointer = (*_AT, "image", "archive")
    path = below(reading.folder, value_of(document, pointer, str))
    if path is not None and reading.found(document, pointer, path):
        check_digest(reading, document, (*_AT, "image", "sha256"), path)


def _check_prepare(reading: Reading, document: Document, written: dict[str, Any]) -> None:
    if "files" in written and "prepare" not in written:
        hint = "add `prepare: [...]`, or remove `files`"
        reading.at(document, (*_AT, "files"), "nothing uses these files", hint, key=True)
    pointer = (*_AT, "files")
    path = below(reading.folder, value_of(document, pointer, str))
    if path is None or not reading.found(document, pointer, path, folder=True):
        return
    if reading.exposes(path):
        hint = "give it a folder of its own: what it puts into a toolchain, agents can read"
        reading.at(document, pointer, "the folder holds the private part of a task", hint)
        return
    reading.freeze("suite", path)


def _check_requirements(reading: Reading, path: Path) -> None:
    entries = list(_entries(reading.text(path)))
    before = len(reading.problems)
    for number, line in entries:
        _check_requirement(reading, path, number, line)
    named = [(number, line) for number, line in entries if not line.startswith("-")]
    without = [(number, line) for number, line in named if _HASH not in line]
    if len(without) < len(named) and len(reading.problems) == before:
        for number, line in without:
            message = f"`{_name(line)}` has no hash, and others have"
            hint = "give every line its `--hash=sha256:...`, or none (`pip hash FILE` prints it)"
            reading.add_line(path, number, message, hint)


def _entries(text: str) -> Iterator[tuple[int, str]]:
    """Each entry of a requirements file with its first line's number, continued lines joined."""
    pending, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        part = re.sub(r"(^|\s)#.*$", "", line).strip()
        first = first if pending else number
        if part.endswith("\\"):
            pending += part.removesuffix("\\") + " "
            continue
        entry, pending = (pending + part).strip(), ""
        if entry:
            yield first, entry
    if pending.strip():
        yield first, pending.strip()


def _check_requirement(reading: Reading, path: Path, number: int, entry: str) -> None:
    if entry.split("=", maxsplit=1)[0].split(maxsplit=1)[0] in _UNFROZEN:
        message, hint = "this names another file, which is not frozen", "write its lines here"
    elif entry.startswith("-") or _PINNED.search(_name(entry)):
        return
    else:
        message, hint = f"`{entry}` is not pinned", "write `name==version`"
    reading.add_line(path, number, message, hint)


def _name(entry: str) -> str:
    """The part of an entry that says which distribution: no hashes, no conditions."""
    return entry.partition(";")[0].partition(" --")[0].strip()


def build_toolchain(reading: Reading, document: Document) -> Toolchain | None:
    """A toolchain from a file that has no mistakes, or None if it names none."""
    written = value_of(document, _AT, dict)
    if written is None:
        return None
    requirements, files = written.get("requirements"), written.get("files")
    return Toolchain(
        requirements=requirements,
        requirements_sha256=sha256((reading.folder / requirements).read_bytes())
        if requirements
        else None,
        python=written.get("python"),
        prepare=tuple(written.get("prepare", ())),
        files=files,
        files_sha256=_digest_below(reading, reading.folder / files) if files else None,
        image=_image(written.get("image")),
    )


def _digest_below(reading: Reading, folder: Path) -> str:
    """One digest of the frozen files below a folder."""
    top = f"{reading.shown(folder).rstrip('/')}/"
    frozen = reading.digests("suite")
    return digest_of_files({name: frozen[name] for name in frozen if name.startswith(top)})


def _image(written: Any) -> Image | None:  # noqa: ANN401 - text or a mapping
    if written is None:
        return None
    if isinstance(written, str):
        return Image(name=written)
    return Image(archive=written["archive"], sha256=written["sha256"])
