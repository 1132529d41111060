"""The folder that a site is built into: unchanged files stay, stale ones go, others' are safe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path, PurePosixPath

from trialbook.errors import UserError
from trialbook.storage.files import read_regular, write_atomic

MANIFEST = ".trialbook-site.json"
"""Lists the files that the last build made; its presence says that the folder is ours."""


class SiteFolder:
    """Where pages go. Each file appears whole or not at all."""

    def __init__(self, folder: Path, before: frozenset[str]) -> None:
        self.paths: set[str] = set()
        self.written = 0
        self._folder = folder
        self._before = before

    @classmethod
    def open(cls, folder: Path) -> SiteFolder:
        """The folder, made if it is not there.

        Raises:
            UserError: it holds things that no build made.
        """
        data = read_regular(folder / MANIFEST)
        if data is None:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise UserError(
                    f"{folder} is not empty and not a site that trialbook built",
                    hint="name an empty or new folder with --output",
                )
            folder.mkdir(parents=True, exist_ok=True)
            write_atomic(folder / MANIFEST, _manifest(()))
            data = _manifest(())
        return cls(folder, _listed(folder, data))

    def write(self, path: str, data: bytes) -> None:
        """Put a file in its place, if it is not there with these bytes already.

        Raises:
            UserError: two pages want the same place, or a plugin's page wants one outside.
        """
        if not _inside(path):
            raise UserError(
                f"a page wants to be at {path!r}, outside the site",
                hint="this is a fault of the plugin that brings the page",
            )
        if path in self.paths:
            raise UserError(
                f"two pages want to be at {path!r}",
                hint="`trialbook plugins` lists what brings pages",
            )
        self.paths.add(path)
        target = self._folder / path
        if read_regular(target, limit=len(data) + 1) == data:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, data)
        self.written += 1

    def finish(self) -> int:
        """Remove what an earlier build made and this one did not; gives the number of files."""
        stale = sorted(self._before - self.paths, reverse=True)
        # The new list first: a crash in between must not make stale files look like a stranger's.
        write_atomic(self._folder / MANIFEST, _manifest(self.paths | set(stale)))
        for path in stale:
            target = self._folder / path
            target.unlink(missing_ok=True)
            self._prune(target.parent)
        write_atomic(self._folder / MANIFEST, _manifest(self.paths))
        return len(stale)

    def _prune(self, folder: Path) -> None:
        while folder != self._folder and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent


def theme_assets() -> Iterator[tuple[str, bytes]]:
    """The theme's own files with their places in the site."""
    theme = resources.files("trialbook.site") / "theme" / "assets"
    for entry in sorted(theme.iterdir(), key=lambda item: item.name):
        yield f"assets/{entry.name}", entry.read_bytes()


def _manifest(paths: set[str] | tuple[()]) -> bytes:
    return json.dumps({"files": sorted(paths)}, indent=1).encode() + b"\n"


def _listed(folder: Path, data: bytes) -> frozenset[str]:
    try:
        names = json.loads(data)["files"]
        return frozenset(name for name in names if _inside(name))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder / MANIFEST} cannot be read: {error}",
            hint=f"remove {folder} and build again",
        ) from error


def _inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and path != MANIFEST
