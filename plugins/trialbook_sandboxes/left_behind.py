"""Notes of the containers that live: by them the next run finds those of a runner that was killed.

A note is a file with a container's name that names its engine, made before the container, removed
after it. So no engine has to be asked where nothing was left.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from trialbook.api import plugin_folder
from trialbook_sandboxes.engines import is_dead

_FOLDER = "containers"


def note(name: str, engine: str) -> None:
    """Note that an engine is about to make a container, if there is a place for notes."""
    with contextlib.suppress(OSError):
        folder = plugin_folder(_FOLDER)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(engine)


def forget(names: Iterable[str]) -> None:
    """Remove the notes of containers that are gone."""
    for name in names:
        with contextlib.suppress(OSError):
            (plugin_folder(_FOLDER) / name).unlink(missing_ok=True)


def left_behind() -> dict[str, str]:
    """The containers that are noted and whose runners are no more, each with its engine's kind."""
    try:
        notes = sorted(plugin_folder(_FOLDER).iterdir())
        return {path.name: path.read_text() for path in notes if is_dead(path.name)}
    except (OSError, UnicodeDecodeError):
        return {}
