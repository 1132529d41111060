import pytest

from accounts.errors import Conflict, InvalidInput, NotFound
from accounts.model import User
from accounts.store import Store
from accounts.teams import TeamService


@pytest.fixture
def store():
    store = Store()
    store.users.add(lambda user_id: User(user_id, "ada@example.org", "Ada"))
    return store


@pytest.fixture
def teams(store):
    return TeamService(store)


@pytest.mark.criterion("TEAM-1")
def test_name_is_kept_without_blanks_around_it(teams):
    assert teams.create_team("  Red  ").name == "Red"


@pytest.mark.criterion("TEAM-1")
@pytest.mark.parametrize("name", ["", "   ", "x" * 61])
def test_name_of_a_wrong_length_is_refused(teams, store, name):
    with pytest.raises(InvalidInput) as refusal:
        teams.create_team(name)
    assert refusal.value.field == "name"
    assert len(store.teams) == 0


@pytest.mark.criterion("TEAM-2")
def test_name_that_is_taken_is_a_conflict(teams):
    teams.create_team("Red")
    with pytest.raises(Conflict):
        teams.create_team("RED")


@pytest.mark.criterion("TEAM-3")
def test_adding_a_member_twice_changes_nothing(teams):
    team = teams.create_team("Red")
    once = teams.add_member(team.id, 1)
    assert teams.add_member(team.id, 1) == once
    assert once.members == (1,)


@pytest.mark.criterion("TEAM-4")
@pytest.mark.parametrize(("team_id", "user_id"), [(1, 99), (99, 1)])
def test_unknown_team_or_user_is_not_found(teams, team_id, user_id):
    teams.create_team("Red")
    with pytest.raises(NotFound):
        teams.add_member(team_id, user_id)
