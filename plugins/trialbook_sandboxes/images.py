"""Container images that tasks ask for: fetched or loaded once, and looked at before any trial."""

from __future__ import annotations

import hashlib
import tarfile
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import EnvironmentProblem, ImageSource, ReadyImage, Spawn
from trialbook_sandboxes.engines import HOST_LABEL, Engine, new_name, this_host, ulimits
from trialbook_sandboxes.probing import said_by

_MINUTES = 60.0
_SAVED = frozenset({"manifest.json", "index.json", "oci-layout"})
_LOADED = ("Loaded image:", "Loaded image ID:", "Loaded image(s):")
_TAIL = 600
# The interpreter and its version, if there is one; that a shell runs is what the rest needs.
_PYTHON = (
    "for name in python3 python; do "
    'found=$(command -v $name) && "$found" -I -c "import platform, sys; '
    'print(\\"PYTHON\\", platform.python_version(), sys.executable)" && break; '
    "done; echo RUNS"
)


def ready_image(engine: Engine, image: ImageSource, spawn: Spawn, log: Path) -> ReadyImage:
    """Make an image ready to be run without network.

    Raises:
        EnvironmentProblem: it cannot be had, or nothing can be run in it.
    """
    asked = _Engine(engine=engine, spawn=spawn, log=log)
    if not asked.says("image", "inspect", "--format", "{{.Id}}", image.reference)[0]:
        if image.archive is not None:
            _load(asked, image.archive, image.reference)
        else:
            asked.does("pull", "--quiet", image.reference)
    facts = asked.does(
        *("image", "inspect", "--format", "{{.Id}} {{.Os}} {{.Architecture}}", image.reference)
    ).split()[-3:]
    digest = facts[0].rpartition(":")[2]
    if image.archive is not None:
        # Engines give what they import an id of the moment; the archive's bytes stay the same.
        with image.archive.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    said = _tried(asked, image.reference)
    python = next((line.split(" ", 2)[1:] for line in said if line.startswith("PYTHON ")), None)
    return ReadyImage(
        digest=digest,
        platform=" ".join(facts[1:]),
        python=python[0] if python else None,
        interpreter=python[1] if python else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Engine:
    """An engine that is told to do things, which are logged."""

    engine: Engine
    spawn: Spawn
    log: Path

    def says(self, *arguments: str) -> tuple[bool, str]:
        """Whether a command works, and what it printed."""
        argv = self.engine.argv(*arguments)
        result, said = said_by(
            argv, self.spawn, environment=dict(self.engine.environment), minutes=_MINUTES
        )
        with self.log.open("ab") as log:
            log.write(f"$ {' '.join(argv)}\n".encode() + said)
        return result.ok, said.decode("utf-8", "replace").strip()

    def does(self, *arguments: str) -> str:
        """What a command printed that has to work."""
        fine, said = self.says(*arguments)
        if not fine:
            raise EnvironmentProblem(
                f"`{self.engine.kind} {arguments[0]}` failed: {said[-_TAIL:] or 'it said nothing'}",
                hint="it needs the registry once: see that the image is there, and log in with "
                f"`{self.engine.kind} login` if it is private"
                if arguments[0] == "pull"
                else "",
            )
        return said


def _load(asked: _Engine, archive: Path, reference: str) -> None:
    """Load an image as engines save it, or import the archive of a root file system."""
    try:
        with tarfile.open(archive) as tar:
            is_saved = any(entry.name.removeprefix("./") in _SAVED for entry in tar)
    except (OSError, tarfile.TarError) as error:
        raise EnvironmentProblem(f"{archive} is no tar archive: {error}") from error
    if not is_saved:
        asked.does("import", str(archive), reference)
        return
    said = asked.does("load", "--input", str(archive))
    names = [
        line.partition(": ")[2].strip() for line in said.splitlines() if line.startswith(_LOADED)
    ]
    if len(names) != 1 or "," in names[0]:
        raise EnvironmentProblem(
            f"{archive} holds {len(names)} images" if names else f"no image was loaded: {said}",
            hint="save exactly one image into it",
        )
    asked.does("tag", names[0], reference)


def _tried(asked: _Engine, reference: str) -> list[str]:
    """Run a shell in the image; gives what it said."""
    name = new_name()
    try:
        fine, said = asked.says(
            *("run", "--name", name, "--label", f"{HOST_LABEL}={this_host()}"),
            *("--pull", "never", "--network", "none", *ulimits()),
            *("--entrypoint", "/bin/sh", reference, "-c", _PYTHON),
        )
    finally:
        asked.engine.remove(asked.spawn, name)
    lines = said.splitlines()
    if not fine or "RUNS" not in lines:
        raise EnvironmentProblem(
            f"nothing can be run in the image {reference}: {said[-_TAIL:] or 'it said nothing'}",
            hint="it needs /bin/sh, and has to be of this machine's architecture",
        )
    return lines
