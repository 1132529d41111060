"""Making teams and adding people to them."""

from dataclasses import replace

from accounts.errors import Conflict, InvalidInput
from accounts.model import Team
from accounts.store import Store

MAX_NAME = 60


class TeamService:
    """Everything that can be done with teams."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create_team(self, name: str) -> Team:
        """A new team without members."""
        name = self._validate_name(name)
        self._validate_name_is_free(name)
        return self._store.teams.add(lambda team_id: Team(team_id, name))

    def add_member(self, team_id: int, user_id: int) -> Team:
        """The team with the user in it."""
        team = self._store.teams.get(team_id)
        user = self._store.users.get(user_id)
        if user.id in team.members:
            return team
        return self._store.teams.put(replace(team, members=(*team.members, user.id)))

    def _validate_name(self, name: str) -> str:
        name = name.strip()
        if not 1 <= len(name) <= MAX_NAME:
            raise InvalidInput("name", f"needs 1 to {MAX_NAME} characters")
        return name

    def _validate_name_is_free(self, name: str) -> None:
        if any(team.name.casefold() == name.casefold() for team in self._store.teams):
            raise Conflict(f"there is a team {name!r} already")
