import pytest

from accounts.errors import Conflict, InvalidInput
from accounts.store import Store
from accounts.users import UserService


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def users(store):
    return UserService(store)


@pytest.mark.criterion("USER-1")
def test_registering_stores_the_address_in_lower_case(users, store):
    user = users.register("  Ada@Example.ORG ", "Ada")
    assert user.email == "ada@example.org"
    assert store.users.get(user.id) == user


@pytest.mark.criterion("USER-2")
@pytest.mark.parametrize("email", ["", "ada", "@example.org", "ada@", "ada@@example.org", "a@b@c"])
def test_address_that_is_none_is_refused(users, store, email):
    with pytest.raises(InvalidInput) as refusal:
        users.register(email, "Ada")
    assert refusal.value.field == "email"
    assert len(store.users) == 0


@pytest.mark.criterion("USER-3")
def test_address_that_is_registered_is_a_conflict(users, store):
    users.register("ada@example.org", "Ada")
    with pytest.raises(Conflict):
        users.register("ADA@example.org", "Somebody else")
    assert len(store.users) == 1


@pytest.mark.criterion("USER-4")
def test_name_is_kept_without_blanks_around_it(users):
    assert users.register("ada@example.org", "  Ada  ").name == "Ada"


@pytest.mark.criterion("USER-4")
@pytest.mark.parametrize("name", ["", "  ", "x" * 81])
def test_name_of_a_wrong_length_is_refused(users, store, name):
    with pytest.raises(InvalidInput) as refusal:
        users.register("ada@example.org", name)
    assert refusal.value.field == "name"
    assert len(store.users) == 0
