"""The user that a sandbox's processes are on the host: never root.

An ordinary user is who they are. Root gives way to an unprivileged user, since a process of root's
can write kernel settings from within a sandbox even when it has no capability left.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import EnvironmentProblem

AGENT_VARIABLE = "TRIALBOOK_SANDBOX_USER"
EVALUATOR_VARIABLE = "TRIALBOOK_EVALUATOR_USER"
_AGENT_USERS = ("trialbook", "nobody")
_EVALUATOR_USERS = ("trialbook-evaluator",)
_FIX = (
    "make a user for it (useradd --system --no-create-home trialbook), or name one in "
    f"{AGENT_VARIABLE}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A user of the host. ``dropped`` says that the runner is root and gives way to it."""

    uid: int
    gid: int
    name: str
    dropped: bool

    def reaches(self, path: Path) -> bool:
        """Whether this user may enter every folder above ``path``."""
        return all(self._may(folder, stat.S_IXOTH) for folder in path.absolute().parents)

    def reads(self, path: Path) -> bool:
        """Whether this user may read ``path`` itself, and enter it if it is a folder."""
        need = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
        return self._may(path, need)

    def _may(self, path: Path, need: int) -> bool:
        try:
            facts = path.stat()
        except OSError:
            return False
        shift = 6 if facts.st_uid == self.uid else 3 if facts.st_gid == self.gid else 0
        return facts.st_mode & (need << shift) == need << shift


def identity(environment: Mapping[str, str], *, evaluator: bool = False) -> Identity:
    """Who the processes of a sandbox are.

    Args:
        environment: The operator's; `TRIALBOOK_SANDBOX_USER` and `TRIALBOOK_EVALUATOR_USER` count.
        evaluator: For grading; another user than for agents, if there is one.

    Raises:
        EnvironmentProblem: the runner is root, and there is no other user to be.
    """
    uid = os.geteuid()
    if uid != 0:
        return Identity(uid=uid, gid=os.getegid(), name=_name(uid), dropped=False)
    if evaluator:
        found = _found(environment.get(EVALUATOR_VARIABLE), EVALUATOR_VARIABLE, _EVALUATOR_USERS)
        if found is not None:
            return found
    found = _found(environment.get(AGENT_VARIABLE), AGENT_VARIABLE, _AGENT_USERS)
    if found is None:
        raise EnvironmentProblem(
            "trialbook runs as root, and a sandbox that root runs holds nobody: there is no "
            f"unprivileged user to run as (looked for {' and '.join(_AGENT_USERS)})",
            hint=_FIX,
        )
    return found


def _found(named: str | None, variable: str, usual: tuple[str, ...]) -> Identity | None:
    if named:
        found = _user(named)
        if found is None or found.uid == 0:
            what = "root" if found else "a user that this host does not have"
            raise EnvironmentProblem(f"{variable} names {what}: {named!r}", hint=_FIX)
        return found
    return next((found for name in usual if (found := _user(name)) and found.uid), None)


def _user(name: str) -> Identity | None:
    try:
        known = pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
    except KeyError:
        if not name.isdigit():
            return None
        return Identity(uid=int(name), gid=int(name), name=name, dropped=True)
    return Identity(uid=known.pw_uid, gid=known.pw_gid, name=known.pw_name, dropped=True)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
