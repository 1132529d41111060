"""Which entries a command is about."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from worklog import logfiles
from worklog.entry import Entry
from worklog.period import Period


@dataclass(frozen=True)
class Selection:
    """What an entry has to be to be chosen. Nothing said: every entry is."""

    period: Period | None = None
    projects: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def takes(self, entry: Entry) -> bool:
        """Whether the entry is chosen."""
        if self.period is not None and entry.day not in self.period:
            return False
        if self.projects and not any(entry.belongs_to(project) for project in self.projects):
            return False
        return all(tag in entry.tags for tag in self.tags)


def selected(folder: Path, selection: Selection) -> Iterator[Entry]:
    """The chosen entries of a log in its order, each as soon as it is read."""
    for path in logfiles.paths(folder):
        yield from filter(selection.takes, logfiles.read(path))
