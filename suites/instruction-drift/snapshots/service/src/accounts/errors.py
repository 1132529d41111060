"""What a service says no with."""


class AccountsError(Exception):
    """Any refusal of a service."""


class InvalidInput(AccountsError):
    """A value that cannot be used; ``field`` is its name."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class NotFound(AccountsError):
    """Nothing has the id."""


class Conflict(AccountsError):
    """The request contradicts what is stored."""
