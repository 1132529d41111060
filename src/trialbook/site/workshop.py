"""Makes units: asks their parts for pages, draws and writes them, and says what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from trialbook.registry import Registry
from trialbook.site import outline
from trialbook.site.folder import Writer
from trialbook.site.intact import Seen
from trialbook.site.ledger_view import LedgerView
from trialbook.site.links import links_of
from trialbook.site.manifest import FileRecord, UnitRecord
from trialbook.site.render import Renderer
from trialbook.site.units import File, Made, Part
from trialbook.storage.collection import no_collection
from trialbook.storage.reader import Reader, RunRef

SCOPES: Mapping[str, Sequence[Part[Any]]] = {
    "site": outline.PER_SITE,
    "suite": outline.PER_SUITE,
    "task": outline.PER_TASK,
    "configuration": outline.PER_CONFIGURATION,
    "run": outline.PER_RUN,
    "trial": outline.PER_TRIAL,
}
"""The parts of each scope, by the scope's name."""


_MANY = 60
"""After as many units what was read for them is freed."""


class Unit(NamedTuple):
    """A part of a scope, by its number there, and its subject; with its name and key."""

    scope: str
    part: int
    subject: Any
    name: str
    key: str

    @property
    def run(self) -> RunRef | None:
        """The run that it belongs to, if it does."""
        if self.scope == "run":
            return RunRef(*self.subject)
        return RunRef(*self.subject[0]) if self.scope == "trial" else None


class Done(NamedTuple):
    """Units that were made, their files as they are now, and how many of them were written."""

    units: tuple[UnitRecord, ...]
    seen: tuple[Seen, ...]
    written: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a process needs to know to make units, besides the plugins: plain values only.

    ``head`` is the ledger's commit; ``site`` what every page knows of the site.
    """

    root: Path
    head: str
    cache: Path | None
    output: Path
    templates: tuple[Path, ...]
    site: Mapping[str, Any]


class Workshop:
    """Where units are made, one after the other. One per process."""

    def __init__(self, setting: Setting, view: LedgerView) -> None:
        self.view = view
        self._site = setting.site
        self._renderer = Renderer(
            setting.root / "site" / "templates", setting.templates, cache=setting.cache
        )
        self._writer = Writer(setting.output)

    @classmethod
    def open(cls, setting: Setting, registry: Registry) -> Workshop:
        """One with a view of the ledger of its own."""
        reader = Reader.open(setting.root, setting.head or None, cache=setting.cache)
        return cls(setting, LedgerView(setting.root, reader, registry))

    def make(self, units: Iterable[Unit], *, prime: bool = True) -> Done:
        """Make units of the outline.

        With ``prime`` what pages above runs ask is worked out along with the pages of each run.

        Raises:
            UserError: a template is missing or wrong.
            RecordError: a record that cannot be read.
        """
        made: list[UnitRecord] = []
        seen: list[Seen] = []
        before = self._writer.written
        with no_collection():
            for unit in units:
                part = SCOPES[unit.scope][unit.part]
                record = self.put(unit.name, unit.key, part.make(self.view, unit.subject), seen)
                made.append(record)
                if prime and unit.scope == "run":
                    self.view.prime(unit.subject)
        if len(made) > _MANY:
            self.view.forget()
        return Done(tuple(made), tuple(seen), self._writer.written - before)

    def put(self, name: str, key: str, things: Iterable[Made], seen: list[Seen]) -> UnitRecord:
        """Draw and write what a unit brings; how its files are now is added to ``seen``."""
        files = []
        for one in things:
            data = one.data if isinstance(one, File) else self._renderer.render(one, self._site)
            size, changed = self._writer.write(one.path, data)
            digest = hashlib.sha256(data).hexdigest()
            files.append(FileRecord(one.path, size, digest, links_of(one.path, data)))
            seen.append(Seen(one.path, size, changed))
        return UnitRecord(name, key, tuple(files))

    @property
    def written(self) -> int:
        """How many files were written so far."""
        return self._writer.written

    def close(self) -> None:
        """Free file handles."""
        self._writer.close()
