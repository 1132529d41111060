"""Credentials that lie in files: which file of the operator's, and where a client looks for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialFile:
    """A file of the operator's that is laid into the home of a trial's client.

    ``source`` is a whole path, one below the operator's home (``~/...``), or ``$NAME`` for the path
    that an environment variable holds. ``to`` is relative to the client's home.
    """

    source: str
    to: str
