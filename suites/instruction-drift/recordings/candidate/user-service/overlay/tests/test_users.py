import pytest

from accounts.errors import Conflict, InvalidInput
from accounts.store import Store
from accounts.users import register_user


def test_address_is_stored_in_lower_case():
    store = Store()
    user = register_user(store, "  Ada@Example.ORG ", " Ada ")
    assert (user.email, user.name) == ("ada@example.org", "Ada")
    assert store.users.get(user.id) == user


@pytest.mark.parametrize("email", ["", "ada", "@example.org", "ada@", "ada@@example.org", "a@b@c"])
def test_bad_address(email):
    store = Store()
    with pytest.raises(InvalidInput, match="email"):
        register_user(store, email, "Ada")
    assert len(store.users) == 0


@pytest.mark.parametrize("name", ["", "  ", "x" * 81])
def test_bad_name(name):
    store = Store()
    with pytest.raises(InvalidInput, match="name"):
        register_user(store, "ada@example.org", name)
    assert len(store.users) == 0


def test_address_taken():
    store = Store()
    register_user(store, "ada@example.org", "Ada")
    with pytest.raises(Conflict):
        register_user(store, "ADA@example.org", "Somebody else")
    assert len(store.users) == 1
