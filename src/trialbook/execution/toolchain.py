"""What tasks need to run, prepared once: with network, under a lock, and only read afterwards.

A toolchain lies in the cache under the digest of what was asked for. It counts as made when the
record beside it is there, which is written last: what a killed preparation left is made anew.
"""

from __future__ import annotations

import json
import platform
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trialbook.api import Command, Policy, Spawn
from trialbook.errors import EnvironmentProblem, UserError
from trialbook.execution.folder_digest import folder_digest
from trialbook.execution.interpreters import Interpreter, bare_python, interpreter
from trialbook.execution.python_environment import Installed, install, make_environment
from trialbook.execution.toolchain_log import Steps, ToolchainFailure
from trialbook.formats.records import RecordError, from_json, to_json
from trialbook.model.digest import sha256
from trialbook.model.toolchain import (
    Image,
    ImageSource,
    PreparedToolchain,
    ReadyImage,
    Toolchain,
    ToolchainUse,
)
from trialbook.process import run
from trialbook.registry import Registry
from trialbook.storage.files import copy_tree, remove_tree, write_atomic
from trialbook.storage.locks import exclusive
from trialbook.system import System

__all__ = ["ToolchainFailure", "Toolchains", "bare_python", "in_image", "takes_images"]

_Ready = Callable[[ImageSource, Spawn, Path], ReadyImage]
_READY = "ready_image"
_FORMAT = "toolchain/2"
# What an installer or a download needs of the operator's environment, and no secret of theirs.
_PASSED = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PASSED_TOO = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GOPROXY")
_PASSED_BEGINNINGS = ("PIP_", "UV_", "NPM_CONFIG_", "CARGO_")


@dataclass(slots=True)
class _Known:
    """What this process knows: toolchains that it has checked, and how preparing others failed."""

    ready: dict[str, PreparedToolchain] = field(default_factory=dict)
    failures: dict[str, list[ToolchainFailure]] = field(default_factory=lambda: defaultdict(list))
    lock: threading.Lock = field(default_factory=threading.Lock)


_known = _Known()


def takes_images(registry: Registry, sandbox: str) -> bool:
    """Whether a sandbox can start its commands from an image."""
    return getattr(registry.sandbox(sandbox), _READY, None) is not None


def in_image(policy: Policy, command: Command, toolchain: Toolchain | None) -> Policy:
    """The policy with the image of a toolchain in it, if that is one.

    What trialbook's own interpreter is to run (a grader's own script) needs the files of this host.
    """
    if toolchain is None or toolchain.image is None or command.argv[0] == sys.executable:
        return policy
    return replace(policy, image=toolchain.image.reference)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchains:
    """Prepares the toolchains of one suite; threads and processes may do so at once."""

    suite_folder: Path
    cache: Path
    system: System
    registry: Registry | None = None

    def python(self, toolchain: Toolchain | None, sandbox: str | None = None) -> str:
        """The interpreter of a toolchain, prepared if need be; without one, trialbook's own.

        Raises:
            EnvironmentProblem, UserError: as `prepared`.
        """
        if toolchain is None:
            return sys.executable
        return self.prepared(toolchain, sandbox).interpreter

    def prepared(
        self, toolchain: Toolchain, sandbox: str | None = None, turn: int = 0
    ) -> PreparedToolchain:
        """A toolchain, prepared if this machine has not done so yet.

        Args:
            toolchain: What is needed.
            sandbox: Where it will be used; images are made ready there.
            turn: What failed in this process is tried again only for a higher turn than before.

        Raises:
            ToolchainFailure: it cannot be prepared; has the log.
            EnvironmentProblem: there is no interpreter of the version asked for.
            UserError: the sandbox takes no images.
        """
        if toolchain.image is not None:
            return self._image(toolchain.image, toolchain, sandbox, turn)
        python = interpreter(toolchain.python, self.system.environ)
        key = _key(toolchain, python)
        folder = self.cache / "toolchains" / key
        with _known.lock:
            if folder.is_dir() and str(folder) in _known.ready:
                return _known.ready[str(folder)]
        with exclusive(folder.with_suffix(".lock")):
            self._fail_as_before(str(folder), turn)
            made = _made(folder)
            if made is None:
                made = self._trying(str(folder), lambda: self._make(toolchain, python, folder))
        with _known.lock:
            _known.ready[str(folder)] = made
        return made

    # --- environments --------------------------------------------------------------------------

    def _make(self, toolchain: Toolchain, python: Interpreter, folder: Path) -> PreparedToolchain:
        record, room = folder.with_suffix(".json"), folder.with_suffix(".work")
        record.unlink(missing_ok=True)
        for left in (folder, room):
            if left.exists():
                remove_tree(left)
        steps = self._steps(toolchain, folder)
        installed = None
        room.mkdir()
        try:
            program = make_environment(folder, python, steps)
            if toolchain.requirements is not None:
                held = room / "requirements"
                held.mkdir()
                file = self.suite_folder / toolchain.requirements
                installed = install(program, file, held, steps)
            if toolchain.prepare:
                self._prepare(toolchain, folder, room, steps)
        finally:
            remove_tree(room)
        try:
            made = _record_of(folder, program, python, installed)
        except EnvironmentProblem as problem:
            raise steps.failure(problem.message, problem.hint) from problem
        write_atomic(record, to_json(made))
        return made

    def _prepare(self, toolchain: Toolchain, folder: Path, room: Path, steps: Steps) -> None:
        work, home, temporary = room / "work", room / "home", room / "tmp"
        if toolchain.files is not None:
            copy_tree(self.suite_folder / toolchain.files, work)
        for place in (work, home, temporary):
            place.mkdir(exist_ok=True)
        environment = {
            "PATH": f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TOOLCHAIN": str(folder),
            **_passed(self.system.environ),
        }
        only = replace(steps, environment=environment)
        only.run(toolchain.prepare, cwd=work)

    def _steps(self, toolchain: Toolchain, folder: Path) -> Steps:
        log = folder.with_suffix(".log")
        folder.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        return Steps(what=toolchain.words, log=log, environment=dict(self.system.environ))

    # --- images --------------------------------------------------------------------------------

    def _image(
        self, image: Image, toolchain: Toolchain, sandbox: str | None, turn: int
    ) -> PreparedToolchain:
        ready = self._ready_image(sandbox)
        key = f"{sandbox} {image.reference}"
        with _known.lock:
            if key in _known.ready:
                return _known.ready[key]
        name = sha256(key.encode())[:24]
        folder = self.cache / "toolchains" / name
        archive = self.suite_folder / image.archive if image.archive else None
        source = ImageSource(reference=image.reference, archive=archive)
        with exclusive(folder.with_suffix(".lock")):
            self._fail_as_before(key, turn)
            steps = self._steps(toolchain, folder)

            def make() -> PreparedToolchain:
                try:
                    found = ready(source, run, steps.log)
                except EnvironmentProblem as problem:
                    raise steps.failure(problem.message, problem.hint) from problem
                return _of_image(found, image)

            made = self._trying(key, make)
        with _known.lock:
            _known.ready[key] = made
        return made

    def _ready_image(self, sandbox: str | None) -> _Ready:
        if self.registry is None or sandbox is None or not takes_images(self.registry, sandbox):
            raise UserError(
                "a task runs in a container image, and only a sandbox of containers can use one"
                + (f": {sandbox} cannot" if sandbox else ""),
                hint="--sandbox container, or `sandbox: container` in the configuration",
            )
        ready: _Ready = getattr(self.registry.sandbox(sandbox), _READY)
        return ready

    # --- what failed ---------------------------------------------------------------------------

    def _fail_as_before(self, key: str, turn: int) -> None:
        with _known.lock:
            failures = list(_known.failures[key])
        if len(failures) > turn:
            raise failures[-1]

    def _trying(self, key: str, make: Callable[[], PreparedToolchain]) -> PreparedToolchain:
        try:
            return make()
        except ToolchainFailure as failure:
            with _known.lock:
                _known.failures[key].append(failure)
            raise


def _key(toolchain: Toolchain, python: Interpreter) -> str:
    """What a toolchain is kept under: everything that it is made from."""
    parts = (
        *(_FORMAT, platform.system(), platform.machine(), python.program, python.version),
        *(toolchain.requirements_sha256, toolchain.prepare, toolchain.files_sha256),
    )
    return sha256(json.dumps(parts).encode())[:24]


def _made(folder: Path) -> PreparedToolchain | None:
    """A toolchain that was made before, if it still is what it was."""
    record = folder.with_suffix(".json")
    try:
        made = from_json(PreparedToolchain, record.read_bytes(), record.name)
        return made if folder_digest(folder) == made.use.digest else None
    except (OSError, RecordError, EnvironmentProblem):
        return None


def _record_of(
    folder: Path, program: Path, python: Interpreter, installed: Installed | None
) -> PreparedToolchain:
    return PreparedToolchain(
        use=ToolchainUse(
            digest=folder_digest(folder),
            platform=f"{platform.system().lower()} {platform.machine()}",
            python=python.version,
        ),
        interpreter=str(program),
        lock_sha256=installed.lock_sha256 if installed else None,
        packages=installed.packages if installed else (),
    )


def _of_image(found: ReadyImage, image: Image) -> PreparedToolchain:
    return PreparedToolchain(
        use=ToolchainUse(
            digest=found.digest,
            platform=found.platform,
            python=found.python,
            image=image.reference,
        ),
        interpreter=found.interpreter or "/usr/bin/python3",
    )


def _passed(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of the operator's environment that says how to reach the network."""
    names = frozenset((*_PASSED, *_PASSED_TOO))
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in names or name.upper().startswith(_PASSED_BEGINNINGS)
    }
