"""Signing ledger commits as the user's git configuration says: with ssh keys or OpenPGP.

A signer may hang (a token that waits for a finger) or fail (an agent that is gone). A run must not
die of it: whoever asks gets None and a warning, and commits without a signature.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.process import tool

SIGN_SECONDS = 30.0

_YES = frozenset({"true", "yes", "on", "1"})
_FORMATS = ("ssh", "openpgp", "x509")
_BEGINS = {
    "ssh": b"-----BEGIN SSH SIGNATURE-----",
    "openpgp": b"-----BEGIN PGP SIGNATURE-----",
}
_LITERAL = ("key::", "ssh-", "ecdsa-", "sk-")

Setting = Callable[[str, str], str | None]
"""Gives a value of git's configuration by section (``gpg.ssh``) and key."""


class Signer:
    """Signs with one key. After a signer took too long, it is not asked again.

    ``warn`` is told, in words, why something was not signed.
    """

    def __init__(
        self,
        setting: Setting,
        environ: Mapping[str, str],
        who: str,
        warn: Callable[[str], None],
        seconds: float = SIGN_SECONDS,
    ) -> None:
        self._setting = setting
        self._who = who
        self._warn = warn
        self._seconds = seconds
        self._format = (setting("gpg", "format") or "openpgp").lower()
        self._key = setting("user", "signingkey") or ""
        self._given_up = False
        # No window and no terminal may ask for a passphrase: nobody may be there to answer.
        self._environment = {**environ, "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
        self._home = Path(environ.get("HOME") or "/")

    def sign(self, payload: bytes) -> bytes | None:
        """The signature of a commit's bytes as git keeps it, or None with a warning."""
        if self._given_up:
            return None
        try:
            return self._signature(payload)
        except EnvironmentProblem as problem:
            self._given_up = "took longer" in problem.message
            hint = f" ({problem.hint})" if problem.hint and not self._given_up else ""
            self._warn(
                "commits are not signed, although commit.gpgsign asks for it: "
                f"{problem.message}{hint}"
            )
            return None

    def _signature(self, payload: bytes) -> bytes:
        if self._format == "ssh":
            signature = self._ssh(payload)
        elif self._format == "openpgp":
            signature = self._openpgp(payload)
        else:
            known = " and ".join(name for name in _FORMATS if name in _BEGINS)
            raise EnvironmentProblem(f"gpg.format is {self._format}; {known} can be used")
        if not signature.startswith(_BEGINS[self._format]):
            raise EnvironmentProblem("the signer gave no signature")
        return signature.replace(b"\r\n", b"\n").rstrip(b"\n")

    def _openpgp(self, payload: bytes) -> bytes:
        program = self._setting("gpg.openpgp", "program") or self._setting("gpg", "program")
        argv = [self._path(program or "gpg"), "--status-fd=2", "-bsau", self._key or self._who]
        return self._run(argv, payload)

    def _ssh(self, payload: bytes) -> bytes:
        key = self._key or self._default_key()
        program = self._path(self._setting("gpg.ssh", "program") or "ssh-keygen")
        with _key_file(key, self._home) as (path, by_agent):
            agent = ["-U"] if by_agent else []
            argv = [program, "-Y", "sign", "-n", "git", "-f", str(path), *agent]
            return self._run(argv, payload)

    def _default_key(self) -> str:
        command = self._setting("gpg.ssh", "defaultKeyCommand")
        if not command:
            raise EnvironmentProblem(
                "user.signingkey is not set", hint="set it to the path of an ssh key"
            )
        said = self._run(shlex.split(command), b"").decode("utf-8", "replace").splitlines()
        if not said or not said[0].startswith(_LITERAL):
            raise EnvironmentProblem("gpg.ssh.defaultKeyCommand printed no key")
        return said[0]

    def _run(self, argv: Sequence[str], payload: bytes) -> bytes:
        result = tool(
            argv,
            cwd=Path("/"),
            environment=self._environment,
            stdin=payload,
            timeout=self._seconds,
        )
        if result.code != 0:
            raise EnvironmentProblem(
                f"{argv[0]} failed with status {result.code}: "
                f"{result.complaint or 'it said nothing'}"
            )
        return result.stdout

    def _path(self, program: str) -> str:
        return _expanded(program, self._home)


def signing_of(
    setting: Setting, environ: Mapping[str, str], who: str, warn: Callable[[str], None]
) -> Callable[[bytes], bytes | None]:
    """What signs commits, as git's configuration says; it gives None for no signature.

    Args:
        setting: Gives a value of git's configuration by section and key.
        environ: The environment, for the signer's agent.
        who: Name and address of the committer: the key that OpenPGP takes if none is configured.
        warn: Is told why something that should be signed was not.
    """
    value = setting("commit", "gpgsign")
    if value is None or value.strip().lower() not in _YES:
        return lambda _: None
    return Signer(setting, environ, who, warn).sign


@contextmanager
def _key_file(key: str, home: Path) -> Iterator[tuple[Path, bool]]:
    """The file to give to ssh-keygen, and whether an agent has to have the private key."""
    if not key.startswith(_LITERAL):
        yield Path(_expanded(key, home)), False
        return
    with tempfile.TemporaryDirectory(prefix="key-") as folder:
        path = Path(folder) / "key.pub"
        path.write_text(key.removeprefix("key::") + "\n", encoding="utf-8")
        yield path, True


def _expanded(path: str, home: Path) -> str:
    return str(home / path[2:]) if path.startswith("~/") else path
