"""What a task needs to run: as its suite names it, and as it was prepared on one machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LOADED_IMAGES = "localhost/trialbook-image"
"""What images are called that were loaded from an archive; the tag says which bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A container image by its content: ``name``, or an archive of the suite.

    ``name`` ends in ``@sha256:...``. ``archive`` is relative to the suite's folder, ``sha256`` is
    that of its bytes; it holds an image as engines save them, or a root file system.
    """

    name: str | None = None
    archive: str | None = None
    sha256: str | None = None

    @property
    def reference(self) -> str:
        """What it is called where it runs."""
        return self.name or f"{LOADED_IMAGES}:{(self.sha256 or '')[:32]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """What a task needs to run: a Python environment, what a command prepares, or an image.

    ``python`` is the version asked for (``3.11``, ``3.11.4``); without it the one that runs
    trialbook. ``requirements`` is relative to the suite's folder, ``requirements_sha256`` its
    digest. ``prepare`` is a command that adds to the environment, run in a copy of the suite's
    folder ``files``, whose files have the digest ``files_sha256``. An ``image`` stands alone.
    """

    requirements: str | None = None
    requirements_sha256: str | None = None
    python: str | None = None
    prepare: tuple[str, ...] = ()
    files: str | None = None
    files_sha256: str | None = None
    image: Image | None = None

    @property
    def words(self) -> str:
        """What it is, in a few words."""
        if self.image is not None:
            return f"image {self.image.name or self.image.archive}"
        parts = [
            f"python {self.python}" if self.python else "",
            self.requirements or "",
            f"`{' '.join(self.prepare)}`" if self.prepare else "",
        ]
        return ", ".join(filter(None, parts)) or "python"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolchainUse:
    """A toolchain as a trial was run with it.

    ``digest`` is sha256 over every file of it, or the digest of its image. ``python`` is the
    interpreter's version, None if there is none. ``platform`` is system and processor.
    """

    digest: str
    platform: str
    python: str | None
    image: str | None = None

    @property
    def words(self) -> str:
        """What it was, in one line."""
        python = f"Python {self.python}" if self.python else ""
        parts = (self.image or "", python, self.platform, f"sha256 {self.digest[:12]}")
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedToolchain:
    """A toolchain on this machine.

    ``interpreter`` is a path: of the host, or inside the image. ``lock_sha256`` is the digest of
    the list of distributions that was installed, each with its hash; ``packages`` are these
    distributions as ``name==version``.
    """

    use: ToolchainUse
    interpreter: str
    lock_sha256: str | None = None
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedToolchain:
    """A toolchain as a plan records it: what was asked for, and what that came to.

    ``use`` is None where it could not be prepared; ``trouble`` says why.
    """

    source: str
    use: ToolchainUse | None
    lock_sha256: str | None = None
    packages: tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSource:
    """An image to be made ready: what it is called, and the archive it comes from, if any."""

    reference: str
    archive: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyImage:
    """An image that can be run: its digest, system and processor, and its interpreter of Python.

    ``interpreter`` is a path inside, ``python`` its version; both None if it has none.
    """

    digest: str
    platform: str
    interpreter: str | None = None
    python: str | None = None
