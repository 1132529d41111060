"""Opens a person's editor on a file, as git does for a message."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from trialbook.errors import UserError
from trialbook.process import at_terminal
from trialbook.system import System

_FALLBACK = "vi"


def editor_of(environ: Mapping[str, str]) -> str | None:
    """The command that edits a file: ``$VISUAL``, ``$EDITOR``, or vi if that is here."""
    for name in ("VISUAL", "EDITOR"):
        if chosen := environ.get(name, "").strip():
            return chosen
    return _FALLBACK if shutil.which(_FALLBACK, path=environ.get("PATH")) else None


def edit(path: Path, system: System) -> None:
    """Let the person edit a file, until the editor ends.

    Raises:
        UserError: there is no editor, or it ended with an error; the file is as it left it.
    """
    editor = editor_of(system.environ)
    if editor is None:
        raise UserError(
            f"there is no editor to open {path} with",
            hint="set EDITOR, or edit that file and hand it in with `trialbook review submit`",
        )
    # Through the shell, so that arguments and quotes in the setting mean what they do for git.
    argv = ("/bin/sh", "-c", f'{editor} "$@"', editor, str(path))
    with _interrupts_are_the_editors():
        status = at_terminal(argv, cwd=path.parent, environment=system.environ)
    if status != 0:
        raise UserError(
            f"the editor ({editor}) ended with status {status}; what it wrote is in {path}",
            hint="the same command opens it again; or set EDITOR to another one",
        )


@contextmanager
def _interrupts_are_the_editors() -> Iterator[None]:
    """Ctrl-C at the terminal is for the editor; a handler of our own is not inherited by it."""
    try:
        before = signal.signal(signal.SIGINT, _nothing)
    except ValueError:  # not the main thread: nobody sends it signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _nothing(number: int, frame: object) -> None:
    del number, frame
