"""What of this host a Python interpreter needs to start: nothing more should be shown to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_PARTS = ("bin", "lib", "lib64")
_LINKS = 40


def interpreter_folders(python: str) -> tuple[Path, ...]:
    """The folders without which an interpreter does not start, for a sandbox to show.

    Its virtual environment, if it has one, and the programs and libraries of the installation that
    it belongs to, by every path that its links and its configuration name them. Never a folder
    above those: an interpreter in ``~/bin`` does not lay a home open. None of what is not here.
    """
    program = Path(python).absolute()
    if not program.exists():
        return ()  # it is one of a container image
    environment = program.parent.parent
    found: dict[Path, None] = {}
    homes = list(_folders_of_links(program))
    if (environment / "pyvenv.cfg").is_file():
        found[environment] = None
        homes += _configured(environment / "pyvenv.cfg")
    for home in homes:
        if home.is_relative_to(environment) and environment in found:
            continue
        if home.name != "bin":
            found[home] = None
            continue
        for part in _PARTS:
            if (home.parent / part).is_dir():
                found[home.parent / part] = None
    return tuple(found)


def _folders_of_links(program: Path) -> Iterator[Path]:
    """The folder of a program, of what it is a link to, and so on, as the links spell them."""
    for _ in range(_LINKS):
        yield program.parent
        if not program.is_symlink():
            break
        # Joined, not resolved: the path must exist inside as it is written.
        program = program.parent / program.readlink()
    yield program.resolve().parent


def _configured(path: Path) -> Iterator[Path]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip().startswith("/"):
            yield Path(value.strip())
