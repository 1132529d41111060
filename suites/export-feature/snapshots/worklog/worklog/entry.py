"""One entry of a log."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Entry:
    """Work on one project from one time of a day to another; times are minutes since midnight."""

    day: date
    start: int
    end: int
    project: str
    note: str = ""
    tags: tuple[str, ...] = ()

    @property
    def minutes(self) -> int:
        """How long it took."""
        return self.end - self.start

    def belongs_to(self, project: str) -> bool:
        """Whether it is work on the project or on a part of it."""
        return self.project == project or self.project.startswith(f"{project}/")

    def project_to(self, depth: int) -> str:
        """The project, by its first parts only."""
        return "/".join(self.project.split("/")[:depth])
