"""Who says something in the ledger, and that it is said in words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from trialbook.errors import UserError
from trialbook.storage.ledger import Ledger


def author_of(ledger: Ledger, given: str | None) -> str:
    """The name given, or git's identity as ``Name <address>``.

    Raises:
        UserError: none is given and git has none: nobody would answer for it.
    """
    if given is not None:
        return worded("author", given)
    if ledger.identity.fallback:
        raise UserError(
            "nobody is named as the author, and git has no identity configured",
            hint="give --author, or set `git config user.name` and `user.email`",
        )
    return f"{ledger.identity.name} <{ledger.identity.email}>"


def worded(what: str, text: str) -> str:
    """The text without blanks at its ends.

    Raises:
        UserError: nothing is left, or it cannot be written as UTF-8.
    """
    kept = text.strip()
    if not any(unicodedata.category(char)[0] not in "CZ" for char in kept):
        raise UserError(f"the {what} is empty", hint="say it in words: others will read it")
    try:
        kept.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"the {what} is no UTF-8 text") from error
    return kept


def all_worded(what: str, texts: Iterable[str]) -> tuple[str, ...]:
    """The same for several."""
    return tuple(worded(what, text) for text in texts)
