"""What goes wrong by a user's doing."""


class WorklogError(Exception):
    """A mistake that the user can mend: what is wrong, and where."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)


class LogMistake(WorklogError):
    """A line of a log that cannot be what its author meant."""
