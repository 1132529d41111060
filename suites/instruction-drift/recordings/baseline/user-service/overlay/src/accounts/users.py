"""Registering users."""

from accounts.errors import Conflict, InvalidInput
from accounts.model import User
from accounts.store import Store

MAX_NAME = 80


class UserService:
    """Everything that can be done with users."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def register(self, email: str, name: str) -> User:
        """A new user."""
        email = self._validate_email(email)
        name = self._validate_name(name)
        self._validate_email_is_free(email)
        return self._store.users.add(lambda user_id: User(user_id, email, name))

    def _validate_email(self, email: str) -> str:
        email = email.strip().lower()
        local, at, host = email.partition("@")
        if not (local and at and host) or "@" in host:
            raise InvalidInput("email", "needs one @ with something on both sides")
        return email

    def _validate_name(self, name: str) -> str:
        name = name.strip()
        if not 1 <= len(name) <= MAX_NAME:
            raise InvalidInput("name", f"needs 1 to {MAX_NAME} characters")
        return name

    def _validate_email_is_free(self, email: str) -> None:
        if any(user.email == email for user in self._store.users):
            raise Conflict(f"{email} is registered already")
