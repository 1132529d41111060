from datetime import datetime, timedelta, timezone

import pytest

from accounts.errors import Conflict, InvalidInput
from accounts.invitations import InvitationService
from accounts.model import User
from accounts.store import Store
from accounts.teams import TeamService

START = datetime(2026, 3, 2, 9, 0, tzinfo=timezone.utc)


class Clock:
    def __init__(self):
        self.time = START

    def __call__(self):
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store():
    store = Store()
    store.users.add(lambda user_id: User(user_id, "ada@example.org", "Ada"))
    return store


@pytest.fixture
def teams(store):
    return TeamService(store)


@pytest.fixture
def team(teams):
    return teams.create_team("Red")


@pytest.fixture
def invitations(store, teams, clock):
    return InvitationService(store, teams, clock)


@pytest.mark.criterion("INV-1")
def test_invitation_is_to_a_team_and_an_address_for_seven_days(invitations, team):
    invitation = invitations.invite(team.id, "Grace@example.org")
    assert (invitation.team_id, invitation.email) == (team.id, "grace@example.org")
    assert invitation.expires_at == START + timedelta(days=7)


@pytest.mark.criterion("INV-2")
@pytest.mark.parametrize("email", ["", "grace", "@example.org", "grace@", "a@b@c"])
def test_address_that_is_none_is_refused(invitations, store, team, email):
    with pytest.raises(InvalidInput) as refusal:
        invitations.invite(team.id, email)
    assert refusal.value.field == "email"
    assert len(store.invitations) == 0


@pytest.mark.criterion("INV-3")
def test_accepting_makes_a_member(invitations, store, team):
    invitation = invitations.invite(team.id, "ada@example.org")
    accepted = invitations.accept(invitation.id, 1)
    assert accepted.accepted_by == 1
    assert store.teams.get(team.id).members == (1,)


@pytest.mark.criterion("INV-4")
def test_expired_invitation_is_a_conflict(invitations, store, team, clock):
    invitation = invitations.invite(team.id, "ada@example.org")
    clock.time = invitation.expires_at
    with pytest.raises(Conflict):
        invitations.accept(invitation.id, 1)
    assert store.teams.get(team.id).members == ()


@pytest.mark.criterion("INV-4")
def test_accepted_invitation_is_a_conflict(invitations, store, team):
    store.users.add(lambda user_id: User(user_id, "grace@example.org", "Grace"))
    invitation = invitations.invite(team.id, "ada@example.org")
    invitations.accept(invitation.id, 1)
    with pytest.raises(Conflict):
        invitations.accept(invitation.id, 2)
    assert store.teams.get(team.id).members == (1,)
