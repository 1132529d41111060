"""The list of signers from its protected ref, and every ledger commit held against it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import UserError
from trialbook.storage.objects import is_oid
from trialbook.storage.refs import ledger_ref
from trialbook.storage.repository import DIRECTORY, Repository
from trialbook.system import System
from trialbook.verify.findings import Findings
from trialbook.verify.signers import Signers

_HINT = "name it as REF:PATH, with a ref that only listed people can move"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignerList:
    """The text of a list, and where it came from: ``<ref>:<path> at <commit>``."""

    text: str
    source: str


def find_signers(root: Path, system: System, given: str | None, head: str) -> SignerList | None:
    """The list of signers, or None if neither the caller nor git's configuration names one.

    git names one by ``trialbook.signersRef`` together with ``gpg.ssh.allowedSignersFile``.

    Raises:
        UserError: no such ref or file, or a ref that holds the commit being verified.
    """
    repository = Repository.discover(root)
    try:
        named = given or _configured(repository, system)
        if named is None:
            return None
        ref, _, path = named.partition(":")
        if not ref or not path:
            raise UserError(f"{named!r} names no list of signers", hint=_HINT)
        return _read(repository, ref, path, head)
    finally:
        repository.close()


def _configured(repository: Repository, system: System) -> str | None:
    ref = repository.setting("trialbook", "signersRef", system.environ)
    if ref is None:
        return None
    path = repository.setting("gpg.ssh", "allowedSignersFile", system.environ)
    if path is None or path.startswith(("/", "~")):
        raise UserError(
            "trialbook.signersRef is set, and gpg.ssh.allowedSignersFile is no path inside of it",
            hint="set it to the list's path in that ref, or use --signers REF:PATH",
        )
    return f"{ref}:{path}"


def _read(repository: Repository, ref: str, path: str, head: str) -> SignerList:
    name, commit = _resolve(repository, ref)
    verified = ("HEAD", repository.head_ref(), ledger_ref(repository))
    if name in verified or commit == head:
        raise UserError(
            f"the list of signers would come from what is being verified: {ref} is {head[:12]}",
            hint="who writes the ledger could add themselves; keep the list on a protected branch",
        )
    store = repository.store
    entry = store.lookup(os.fsencode(path), store.commit(commit).tree)
    if entry is None or entry.mode == DIRECTORY:
        raise UserError(f"there is no file {path} in {ref}", hint=_HINT)
    text = store.blob(entry.oid).decode("utf-8", "replace")
    return SignerList(text=text, source=f"{name}:{path} at {commit}")


def _resolve(repository: Repository, ref: str) -> tuple[str, str]:
    if is_oid(ref):
        if ref not in repository.store:
            raise UserError(f"there is no commit {ref}", hint=_HINT)
        return ref, ref
    places = [ref] if ref == "HEAD" or ref.startswith("refs/") else []
    places += [f"refs/{kind}/{ref}" for kind in ("heads", "tags", "remotes") if not places]
    for place in places:
        commit = repository.read_ref(place)
        if commit is not None:
            return repository.resolve_ref(place), commit
    raise UserError(f"there is no ref {ref!r}", hint=_HINT)


def check_signatures(
    commits: Iterable[tuple[bytes, bytes]],
    signers: SignerList,
    findings: Findings,
    system: System,
    tick: Callable[[], None],
) -> None:
    """Hold every commit's signature against the list; ``commits`` are ids and bytes.

    Raises:
        EnvironmentProblem: ssh-keygen or gpg is needed and missing.
    """
    listed = Signers(signers.text, system.environ)
    try:
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            waiting = [(oid, pool.submit(listed.problem, data)) for oid, data in commits]
            for oid, answer in waiting:
                problem = answer.result()
                if problem is not None:
                    findings.fault(problem[0], problem[1], commit=oid.hex())
                tick()
    finally:
        listed.close()
