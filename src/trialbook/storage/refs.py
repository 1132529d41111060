"""The ledger's branch, what it is at, and moving it by compare and swap under git's own lock."""

from __future__ import annotations

import re

from trialbook.errors import EnvironmentProblem, UserError
from trialbook.storage.claims import Claims
from trialbook.storage.objects import Signature, is_oid
from trialbook.storage.repository import Repository

# What git refuses in the name of a branch (git help check-ref-format).
_NO_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^@$|^[-/]|(^|/)\.|[./]$|\.lock(/|$)")


def ledger_ref(repository: Repository) -> str:
    """The branch that the ledger is on: what git's ``trialbook.branch`` names, or what HEAD does.

    Raises:
        UserError: ``trialbook.branch`` is set to what cannot be a branch.
    """
    name = repository.setting("trialbook", "branch", {})
    if name is None:
        return repository.head_ref()
    short = name.removeprefix("refs/heads/")
    if _NO_BRANCH.search(short) or not short or short == "HEAD":
        raise UserError(
            f"git's setting trialbook.branch is {name!r}, which cannot be a branch",
            hint="`git config trialbook.branch NAME` sets it; `git config --unset "
            "trialbook.branch` puts the ledger on the branch that is checked out",
        )
    return repository.resolve_ref(f"refs/heads/{short}")


def commit_of(repository: Repository, name: str) -> str:
    """The commit that a branch, a tag's ref or a full id names; empty before the first one.

    Raises:
        UserError: there is no such thing.
    """
    if is_oid(name):
        found: str | None = name
    else:
        places = [f"refs/{kind}/{name}" for kind in ("heads", "tags", "remotes")]
        if name == "HEAD" or name.startswith("refs/"):
            places = [name]
        values = (repository.read_ref(place) for place in places if "//" not in place)
        found = next((oid for oid in values if oid is not None), None)
    if found is None:
        if name in ("HEAD", repository.head_ref(), ledger_ref(repository)):
            return ""
        raise UserError(
            f"there is no branch, tag or commit {name!r}",
            hint="`git branch --all` lists the branches; a commit is named by all 40 digits",
        )
    try:
        return repository.store.commit(found).oid
    except KeyError:
        raise UserError(
            f"{name} ({found}) is no commit of this repository",
            hint="a tag with a message of its own does not do; name a branch or a commit",
        ) from None


def move_ref(
    repository: Repository, name: str, swap: tuple[str | None, str], log: tuple[Signature, str]
) -> bool:
    """Set a ref to ``swap[1]`` only if it holds ``swap[0]`` (None: it is not there).

    The value is on the disk before the ref has it. ``log`` is who and why, in one line, for the
    reflog. The caller holds the ledger's lock (see `Claims`).

    Returns:
        False when the ref holds something else, when it is no direct ref any more, or when somebody
        else has it locked: read again and retry.

    Raises:
        EnvironmentProblem: the files of the ref or its reflog cannot be written.
    """
    old, new = swap
    file = repository.ref_file(name)
    lock = file.with_name(file.name + ".lock")
    claims = Claims(repository.common_folder)
    if not claims.take(lock, f"{new}\n".encode(), durable=True):
        return False
    try:
        if repository.resolve_ref(name) != name or repository.read_ref(name) != old:
            return False
        repository.store.share(lock)
        _log(repository, name, swap, log)
        claims.complete(lock)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot move {name}: {error}", hint="check the permissions of the git folder"
        ) from error
    finally:
        claims.drop(lock)
    return True


def _log(
    repository: Repository, name: str, swap: tuple[str | None, str], log: tuple[Signature, str]
) -> None:
    """Do as git does: the ref's own log, and HEAD's when HEAD names the ref."""
    who, why = log
    line = f"{swap[0] or '0' * 40} {swap[1]} ".encode() + who.log_line
    line += b"\t" + " ".join(why.split()).encode("utf-8", "replace") + b"\n"
    wanted = repository.flag("core", "logAllRefUpdates", default=repository.work_tree is not None)
    names = {name, "HEAD"} if repository.resolve_ref("HEAD") == name else {name}
    for ref in sorted(names):
        file = repository.ref_file(ref, below="logs")
        if wanted:
            file.parent.mkdir(parents=True, exist_ok=True)
        if wanted or file.is_file():
            with file.open("ab") as opened:
                opened.write(line)
