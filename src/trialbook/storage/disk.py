"""What to say when the disk does not do its part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trialbook.errors import EnvironmentProblem


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Turn any error of the operating system into one that says what was being done.

    Raises:
        EnvironmentProblem: the block raised an `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot {what}: {error.strerror or error}",
            hint="check the permissions and the space that is left",
        ) from error
