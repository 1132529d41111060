"""The instruction files of a configuration as a run's plan had them, and what differs in them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from trialbook.errors import TrialbookError
from trialbook.formats.visible import decode
from trialbook.model.digest import sha256
from trialbook.model.plan import PlannedConfiguration
from trialbook.site.ledger_view import LedgerView
from trialbook.site.text import excerpt
from trialbook.storage.reader import Reader, RunRef

_HEAD, _TAIL = 12_000, 4_000
_MOST_LINES = 400
_MOST_FILES = 40
_CONTEXT = 3


def instruction_files(planned: PlannedConfiguration) -> dict[str, tuple[str, str]]:
    """Place in the workspace to digest and path of the ledger, which is empty if not from there."""
    if planned.taken is not None:
        return {place: (digest, "") for place, digest in sorted(planned.taken.files.items())}
    if planned.instructions is None:
        return {}
    inside = f"/instructions/{planned.instructions}/"
    return {
        path.split(inside, 1)[1]: (digest, path)
        for path, digest in sorted(planned.files.items())
        if inside in path
    }


def instruction_texts(
    view: LedgerView, run: RunRef, planned: PlannedConfiguration
) -> dict[str, bytes | None]:
    """The bytes of each file by its place in the workspace; None where the ledger has them not.

    What the digest of the plan does not fit is looked for in the commit of the plan.
    """
    found: dict[str, bytes | None] = {}
    for place, (digest, path) in list(instruction_files(planned).items())[:_MOST_FILES]:
        data = view.reader.ledger_file(path) if path else None
        if data is None or sha256(data) != digest:
            data = _then(view, run, path, digest) if path else None
        found[place] = data
    return found


def _then(view: LedgerView, run: RunRef, path: str, digest: str) -> bytes | None:
    commit = view.reader.commit_of(run, "plan.json")
    if commit is None:
        return None
    try:
        reader = Reader.open(view.root, commit)
    except TrialbookError:
        return None
    try:
        data = reader.ledger_file(path)
    finally:
        reader.close()
    return data if data is not None and sha256(data) == digest else None


def text_figures(
    planned: PlannedConfiguration, texts: Mapping[str, bytes | None]
) -> list[dict[str, Any]]:
    """The files with their texts, as templates draw them."""
    found = []
    for place, (digest, path) in instruction_files(planned).items():
        data = texts.get(place)
        found.append(
            {
                "place": place,
                "path": path,
                "digest": digest,
                "text": None if data is None else excerpt(data, head=_HEAD, tail=_TAIL),
            }
        )
    return found


def text_differences(
    one: Mapping[str, bytes | None],
    other: Mapping[str, bytes | None],
    files: Mapping[str, tuple[str, str]],
    others: Mapping[str, tuple[str, str]],
) -> list[dict[str, Any]]:
    """Every file that is not the same in two sets, with the lines that differ where both are known.

    ``files`` and ``others`` are `instruction_files` of the two; ``how`` says which of them has it.
    """
    found = []
    for place in sorted(files.keys() | others.keys()):
        before, after = files.get(place, ("", ""))[0], others.get(place, ("", ""))[0]
        if before == after:
            continue
        how = "first" if not after else "second" if not before else "both"
        mine = one.get(place) if before else b""
        theirs = other.get(place) if after else b""
        lines = None if mine is None or theirs is None else _lines(mine, theirs)
        found.append(
            {
                "place": place,
                "how": how,
                "lines": None if lines is None else lines[:_MOST_LINES],
                "hidden": 0 if lines is None else max(0, len(lines) - _MOST_LINES),
            }
        )
    return found


def _lines(before: bytes, after: bytes) -> list[dict[str, str]]:
    """A unified diff without its headers; ``tone`` is plus, minus or quiet."""
    rows = difflib.unified_diff(
        decode(before).splitlines(), decode(after).splitlines(), n=_CONTEXT, lineterm=""
    )
    tones = {"+": "plus", "-": "minus", "@": "quiet"}
    return [
        {"tone": tones.get(row[:1], ""), "text": row}
        for number, row in enumerate(rows)
        if number > 1
    ]
