"""What is stored. Values never change; a service stores a changed copy."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class User:
    """A person with an account."""

    id: int
    email: str
    name: str


@dataclass(frozen=True)
class Team:
    """A group of users, by their ids, in the order in which they joined."""

    id: int
    name: str
    members: tuple[int, ...] = ()


@dataclass(frozen=True)
class Invitation:
    """An offer to join a team; ``accepted_by`` is the id of the user who took it."""

    id: int
    team_id: int
    email: str
    expires_at: datetime
    accepted_by: int | None = None
