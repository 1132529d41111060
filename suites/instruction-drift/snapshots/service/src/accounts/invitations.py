"""Inviting people to teams."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from accounts.errors import Conflict, InvalidInput
from accounts.model import Invitation
from accounts.store import Store
from accounts.teams import TeamService

VALID_FOR = timedelta(days=7)


class InvitationService:
    """Everything that can be done with invitations. ``now`` gives the current time."""

    def __init__(self, store: Store, teams: TeamService, now: Callable[[], datetime]) -> None:
        self._store = store
        self._teams = teams
        self._now = now

    def invite(self, team_id: int, email: str) -> Invitation:
        """A new invitation to the team."""
        team = self._store.teams.get(team_id)
        email = self._validate_email(email)
        expires_at = self._now() + VALID_FOR
        return self._store.invitations.add(
            lambda invitation_id: Invitation(invitation_id, team.id, email, expires_at)
        )

    def accept(self, invitation_id: int, user_id: int) -> Invitation:
        """The invitation, accepted; the user is a member of the team from now on."""
        invitation = self._store.invitations.get(invitation_id)
        self._validate_is_open(invitation)
        self._teams.add_member(invitation.team_id, user_id)
        return self._store.invitations.put(replace(invitation, accepted_by=user_id))

    def _validate_email(self, email: str) -> str:
        email = email.strip().lower()
        name, at, host = email.partition("@")
        if not (name and at and host) or "@" in host:
            raise InvalidInput("email", "needs one @ with something on both sides")
        return email

    def _validate_is_open(self, invitation: Invitation) -> None:
        if invitation.accepted_by is not None:
            raise Conflict(f"invitation {invitation.id} was accepted before")
        if self._now() >= invitation.expires_at:
            raise Conflict(f"invitation {invitation.id} has expired")
