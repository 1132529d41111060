"""Trials that may not be committed since something secret cannot be taken out of them.

They are kept in the run's own folder inside the git folder, readable by their owner only, until a
person decides: while such a folder is there, its slot is not run again.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.formats.records import from_json, to_json
from trialbook.model.trial import TrialBundle
from trialbook.storage.files import remove_tree, write_atomic
from trialbook.storage.large import read_pointer

_NOTE = "withheld.json"
_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """A trial that is not in the ledger: its path inside the run, why, and where it is kept."""

    path: str
    reasons: tuple[str, ...]
    folder: str


class WithheldTrials:
    """The withheld trials of one run, in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, bundle: TrialBundle) -> Withheld:
        """Keep a trial here: redacted as far as it could be, and whole.

        The folder appears at once, so that a runner killed in between has kept nothing.

        Raises:
            EnvironmentProblem: it cannot be written.
        """
        path = bundle.record.path
        target = self._folder / path
        made = Withheld(path=path, reasons=bundle.withheld, folder=str(target))
        unfinished = self._folder / f".unfinished-{path.replace('/', '-')}"
        try:
            remove_tree(unfinished)
            unfinished.mkdir(parents=True)
            self._folder.chmod(_PRIVATE_FOLDER)
            files = {**bundle.files, "trial.json": to_json(bundle.record), _NOTE: to_json(made)}
            for name, data in files.items():
                pointer = read_pointer(data)
                whole = data if pointer is None else bundle.large.get(pointer.sha256, data)
                write_atomic(unfinished / name, whole, _PRIVATE_FILE)
            target.parent.mkdir(parents=True, exist_ok=True)
            remove_tree(target)
            shutil.move(unfinished, target)
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot keep the withheld trial {path} in {target}: {error.strerror or error}",
                hint="check the git folder's permissions and the space that is left",
            ) from error
        return made

    def all(self) -> list[Withheld]:
        """The trials that are kept here, by their path."""
        notes = sorted(self._folder.glob(f"*/*/*/{_NOTE}"))
        return [from_json(Withheld, note.read_bytes(), str(note)) for note in notes]
