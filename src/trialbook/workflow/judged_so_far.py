"""What a judging has finished: kept in the run's private notes until it is committed."""

from __future__ import annotations

from pathlib import Path

from trialbook.formats.records import RecordError, from_json, to_json
from trialbook.model.digest import sha256
from trialbook.model.grade import Grade
from trialbook.storage.disk import doing
from trialbook.storage.files import read_regular, remove_unfinished, write_atomic

_DIGITS = 32


class JudgedSoFar:
    """Grades by what was judged, and by whom; nothing secret is in them.

    ``folder`` is the run's own, outside of the ledger.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "judging"
        self._used: set[Path] = set()

    def clear(self) -> None:
        """Remove what a killed process was writing; for whoever holds the run's lock."""
        remove_unfinished(self._folder)

    def grade(self, *parts: str) -> Grade | None:
        """The grade of exactly these digests and names; None if there is none that can be read."""
        path = self._path(parts)
        data = read_regular(path)
        if data is None:
            return None
        try:
            found = from_json(Grade, data, str(path))
        except RecordError:
            return None
        self._used.add(path)
        return found

    def keep(self, grade: Grade, *parts: str) -> None:
        """Keep a finished grade until it is in the ledger."""
        path = self._path(parts)
        write_atomic(path, to_json(grade))
        self._used.add(path)

    def committed(self) -> None:
        """Forget what was kept or found since: it is in the ledger."""
        with doing(f"clear away the notes in {self._folder}"):
            for path in self._used:
                path.unlink(missing_ok=True)
        self._used.clear()

    def _path(self, parts: tuple[str, ...]) -> Path:
        return self._folder / f"{sha256(chr(31).join(parts).encode())[:_DIGITS]}.json"
