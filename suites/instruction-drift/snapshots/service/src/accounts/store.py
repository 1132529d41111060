"""An in-memory store with one table for each kind of thing."""

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from accounts.errors import NotFound
from accounts.model import Invitation, Team, User


class HasId(Protocol):
    """Anything that can be stored."""

    @property
    def id(self) -> int: ...


T = TypeVar("T", bound=HasId)


class Table(Generic[T]):
    """Rows by id; ids count up from 1 and are never used twice."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._rows: dict[int, T] = {}
        self._last_id = 0

    def add(self, make: Callable[[int], T]) -> T:
        """Store what ``make`` gives for a new id."""
        self._last_id += 1
        row = make(self._last_id)
        self._rows[row.id] = row
        return row

    def get(self, row_id: int) -> T:
        """The row with the id; `NotFound` if there is none."""
        try:
            return self._rows[row_id]
        except KeyError:
            raise NotFound(f"no {self._noun} {row_id}") from None

    def put(self, row: T) -> T:
        """Store a changed copy of a row that is there."""
        self.get(row.id)
        self._rows[row.id] = row
        return row

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._rows.values()))

    def __len__(self) -> int:
        return len(self._rows)


class Store:
    """All tables."""

    def __init__(self) -> None:
        self.users: Table[User] = Table("user")
        self.teams: Table[Team] = Table("team")
        self.invitations: Table[Invitation] = Table("invitation")
