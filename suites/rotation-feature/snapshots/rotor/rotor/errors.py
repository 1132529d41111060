"""What goes wrong by a user's doing."""


class RotorError(Exception):
    """A mistake that the user can mend: what is wrong, and where."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
