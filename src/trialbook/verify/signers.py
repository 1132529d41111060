"""Who may sign ledger commits, and whether a commit's signature is one of theirs.

A list is text: lines as in ssh's ``allowed_signers``, and OpenPGP public keys in ASCII armour.
"""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from trialbook.errors import EnvironmentProblem
from trialbook.process import tool
from trialbook.verify.codes import Code

_ARMOUR = re.compile(
    r"-----BEGIN PGP PUBLIC KEY BLOCK-----.*?-----END PGP PUBLIC KEY BLOCK-----", re.DOTALL
)
_SECONDS = 60.0
_SIGNATURE_HEADERS = (b"gpgsig ", b"gpgsig-sha256 ")
_GOOD = re.compile(rb"^\[GNUPG:\] VALIDSIG ", re.MULTILINE)
_UNKNOWN_KEY = re.compile(rb"^\[GNUPG:\] (?:NO_PUBKEY|ERRSIG [^\n]* 9 )", re.MULTILINE)


class Signed(NamedTuple):
    """A commit's bytes without its signature, the signature, and the committer's time."""

    payload: bytes
    signature: bytes
    seconds: int


class Signers:
    """A list of signers, unpacked where the tools can read it. Close it when done.

    Several threads may hold commits against it at the same time.
    """

    def __init__(self, text: str, environ: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="signers-")
        place = Path(self._folder.name)
        self._allowed = place / "allowed_signers"
        self._keys = _ARMOUR.findall(text)
        self._ssh = _ARMOUR.sub("", text)
        self._allowed.write_text(self._ssh, encoding="utf-8")
        self._gnupg = place / "gnupg"
        self._gnupg.mkdir(mode=0o700)
        self._place = place
        self._environment = {
            "PATH": environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(place),
            "GNUPGHOME": str(self._gnupg),
            "LC_ALL": "C",
            "TZ": "UTC",
        }
        self._imported = False
        self._importing = threading.Lock()

    def problem(self, commit: bytes) -> tuple[Code, str] | None:
        """What is wrong with a commit's signature, or None if a listed signer made it.

        Raises:
            EnvironmentProblem: ssh-keygen or gpg is needed and missing.
        """
        signed = split_commit(commit)
        if signed is None:
            return Code.UNSIGNED, "it carries no signature"
        if signed.signature.startswith(b"-----BEGIN SSH SIGNATURE-----"):
            return self._ssh_problem(signed)
        if signed.signature.startswith(b"-----BEGIN PGP SIGNATURE-----"):
            return self._openpgp_problem(signed)
        return Code.SIGNATURE_BAD, "its signature is of no known kind"

    def _ssh_problem(self, signed: Signed) -> tuple[Code, str] | None:
        with tempfile.NamedTemporaryFile(dir=self._place, suffix=".sig") as file:
            file.write(signed.signature + b"\n")
            file.flush()
            # As git does it: a key counts at the time that the commit gives.
            moment = f"{datetime.fromtimestamp(signed.seconds, UTC):%Y%m%d%H%M%S}"
            common = ["-s", file.name, f"-Overify-time={moment}"]
            allowed = ["-f", str(self._allowed)]
            code, said = self._run(["ssh-keygen", "-Y", "find-principals", *allowed, *common], b"")
            for principal in said.splitlines() if code == 0 else []:
                who = ["-I", principal.decode("utf-8", "replace"), "-n", "git"]
                verify = ["ssh-keygen", "-Y", "verify", *allowed, *who, *common]
                if self._run(verify, signed.payload)[0] == 0:
                    return None
            check = ["ssh-keygen", "-Y", "check-novalidate", "-n", "git", *common]
            code, said = self._run(check, signed.payload)
        if code != 0:
            return Code.SIGNATURE_BAD, "its ssh signature does not fit its bytes"
        return Code.SIGNER_UNLISTED, _one_line(said)

    def _openpgp_problem(self, signed: Signed) -> tuple[Code, str] | None:
        with self._importing:
            # Others wait: without the keys, every signer would be unknown.
            if self._keys and not self._imported:
                keys = "\n".join(self._keys).encode()
                self._run(["gpg", "--batch", "--quiet", "--import"], keys)
            self._imported = True
        with tempfile.NamedTemporaryFile(dir=self._place, suffix=".asc") as file:
            file.write(signed.signature + b"\n")
            file.flush()
            argv = ["gpg", "--batch", "--no-auto-key-retrieve", "--trust-model", "always"]
            argv += ["--status-fd", "1", "--verify", file.name, "-"]
            code, said = self._run(argv, signed.payload)
        if code == 0 and _GOOD.search(said):
            return None
        if _UNKNOWN_KEY.search(said):
            return Code.SIGNER_UNLISTED, "its OpenPGP key is not on the list"
        return Code.SIGNATURE_BAD, "its OpenPGP signature does not fit its bytes, or has expired"

    def _run(self, argv: list[str], stdin: bytes) -> tuple[int, bytes]:
        result = tool(
            argv, cwd=self._place, environment=self._environment, stdin=stdin, timeout=_SECONDS
        )
        return result.code, result.stdout

    def close(self) -> None:
        """Remove what was unpacked."""
        try:
            tool(
                ["gpgconf", "--kill", "all"],
                cwd=self._place,
                environment=self._environment,
                timeout=_SECONDS,
            )
        except EnvironmentProblem:
            # There is no gpg, so that none of its daemons was started either.
            pass
        finally:
            self._folder.cleanup()


def split_commit(data: bytes) -> Signed | None:
    """Take a commit apart as git signs it; None if it carries no signature."""
    head, blank, message = data.partition(b"\n\n")
    kept: list[bytes] = []
    signature: list[bytes] = []
    into = kept
    seconds = 0
    for line in head.split(b"\n"):
        if line.startswith(_SIGNATURE_HEADERS):
            name, _, value = line.partition(b" ")
            into = signature if name == b"gpgsig" else []
            into.append(value)
        elif line.startswith(b" ") and into is not kept:
            into.append(line[1:])
        else:
            into = kept
            kept.append(line)
            if line.startswith(b"committer "):
                words = line.rsplit(b" ", 2)
                seconds = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    if not signature:
        return None
    return Signed(b"\n".join(kept) + blank + message, b"\n".join(signature).rstrip(b"\n"), seconds)


def _one_line(said: bytes) -> str:
    text = " ".join(said.decode("utf-8", "replace").split())
    return f"the list does not have its key: {text}" if text else "the list does not have its key"
