"""Registering users."""

from accounts.errors import Conflict, InvalidInput
from accounts.model import User
from accounts.store import Store

MAX_NAME = 80


def register_user(store: Store, email: str, name: str) -> User:
    """A new user."""
    email = clean_email(email)
    name = clean_name(name)
    if any(user.email == email for user in store.users):
        raise Conflict(f"{email} is registered already")
    return store.users.add(lambda user_id: User(user_id, email, name))


def clean_email(email: str) -> str:
    """The address as it is stored."""
    email = email.strip().lower()
    local, at, host = email.partition("@")
    if not (local and at and host) or "@" in host:
        raise InvalidInput("email", "needs one @ with something on both sides")
    return email


def clean_name(name: str) -> str:
    """The name as it is stored."""
    name = name.strip()
    if not 1 <= len(name) <= MAX_NAME:
        raise InvalidInput("name", f"needs 1 to {MAX_NAME} characters")
    return name
