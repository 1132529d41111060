from datetime import datetime, timedelta, timezone

import pytest

from accounts.errors import Conflict, InvalidInput
from accounts.invitations import InvitationService
from accounts.model import User
from accounts.store import Store
from accounts.teams import TeamService

START = datetime(2026, 3, 2, 9, 0, tzinfo=timezone.utc)


def make(now=lambda: START):
    store = Store()
    store.users.add(lambda user_id: User(user_id, "ada@example.org", "Ada"))
    store.users.add(lambda user_id: User(user_id, "grace@example.org", "Grace"))
    teams = TeamService(store)
    teams.create_team("Red")
    return store, InvitationService(store, teams, now)


def test_invite():
    _, invitations = make()
    invitation = invitations.invite(1, "Grace@example.org")
    assert (invitation.team_id, invitation.email) == (1, "grace@example.org")
    assert invitation.expires_at == START + timedelta(days=7)


@pytest.mark.parametrize("email", ["", "grace", "@example.org", "grace@", "a@b@c"])
def test_invite_bad_address(email):
    store, invitations = make()
    with pytest.raises(InvalidInput, match="email"):
        invitations.invite(1, email)
    assert len(store.invitations) == 0


def test_accept():
    store, invitations = make()
    invitations.invite(1, "ada@example.org")
    assert invitations.accept(1, 1).accepted_by == 1
    assert store.teams.get(1).members == (1,)


def test_accept_too_late():
    times = iter([START, START + timedelta(days=7)])
    store, invitations = make(lambda: next(times))
    invitations.invite(1, "ada@example.org")
    with pytest.raises(Conflict):
        invitations.accept(1, 1)
    assert store.teams.get(1).members == ()


def test_accept_twice():
    store, invitations = make()
    invitations.invite(1, "ada@example.org")
    invitations.accept(1, 1)
    with pytest.raises(Conflict):
        invitations.accept(1, 2)
    assert store.teams.get(1).members == (1,)
