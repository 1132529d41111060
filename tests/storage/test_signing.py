"""Ledger commits signed as git's configuration says; a signer that fails never stops a run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.storage.conftest import Git, run_files, trial_files

from trialbook.storage import signing
from trialbook.storage.ledger import Ledger
from trialbook.system import System

MESSAGE = "trial demo/task current r1: accepted\n\nOutcome: accepted\n"


@pytest.fixture
def system(tmp_path: Path) -> System:
    """The true outside world, with a home of its own."""
    found = System()
    return replace(found, environ={**found.environ, "GNUPGHOME": str(tmp_path / "gnupg")})


@pytest.fixture
def ssh_key(tmp_path: Path) -> Path:
    key = tmp_path / "id"
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(key)]
    subprocess.run(argv, check=True)
    return key


@pytest.fixture
def openpgp_key(system: System) -> Iterator[str]:
    environ = dict(system.environ)
    Path(environ["GNUPGHOME"]).mkdir(mode=0o700)
    who = "Test Person <test@example.invalid>"
    argv = ["gpg", "--batch", "--passphrase", "", "--quick-gen-key", who, "ed25519"]
    subprocess.run(argv, check=True, env=environ, capture_output=True, timeout=60)
    yield who
    subprocess.run(["gpgconf", "--kill", "all"], check=True, env=environ)


def with_ssh(git: Git, key: Path) -> None:
    git("config", "commit.gpgsign", "true")
    git("config", "gpg.format", "ssh")
    git("config", "user.signingkey", str(key))


def commit(git: Git, system: System) -> tuple[str, Ledger]:
    ledger = Ledger.open(git.folder, system)
    oid = ledger.commit(run_files() | trial_files(), MESSAGE)
    return oid, ledger


def verified(git: Git, key: Path, oid: str) -> bool:
    allowed = key.with_name("allowed")
    allowed.write_text(f"test@example.invalid {key.with_suffix('.pub').read_text()}")
    git("config", "gpg.ssh.allowedSignersFile", str(allowed))
    return git.run("verify-commit", oid).returncode == 0


def raw(git: Git, oid: str) -> str:
    return git("cat-file", "commit", oid)


def test_without_configuration_nothing_is_signed(git: Git, system: System) -> None:
    oid, ledger = commit(git, system)
    assert "gpgsig" not in raw(git, oid)
    assert ledger.warnings == []


def test_git_verifies_an_ssh_signature_of_ours(git: Git, system: System, ssh_key: Path) -> None:
    with_ssh(git, ssh_key)
    oid, ledger = commit(git, system)
    assert ledger.warnings == []
    assert verified(git, ssh_key, oid)
    git.fsck()


def test_git_verifies_an_openpgp_signature_of_ours(
    git: Git, system: System, openpgp_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("config", "commit.gpgsign", "true")
    oid, ledger = commit(git, system)
    assert ledger.warnings == []
    monkeypatch.setenv("GNUPGHOME", system.environ["GNUPGHOME"])
    assert git.run("verify-commit", oid).returncode == 0
    git.fsck()


def test_every_commit_of_a_group_is_signed(git: Git, system: System, ssh_key: Path) -> None:
    with_ssh(git, ssh_key)
    ledger = Ledger.open(git.folder, system)
    oids = [ledger.commit(trial_files(n) | run_files(), MESSAGE) for n in (1, 2, 3)]
    assert all(verified(git, ssh_key, oid) for oid in oids)


def test_the_users_own_configuration_counts(git: Git, system: System, ssh_key: Path) -> None:
    home = Path(system.environ["HOME"])
    (home / "keys").mkdir()
    for path in (ssh_key, ssh_key.with_suffix(".pub")):
        path.rename(home / "keys" / path.name)
    git("config", "--global", "commit.gpgsign", "on")
    git("config", "--global", "gpg.format", "ssh")
    git("config", "--global", "user.signingkey", "~/keys/id")
    oid, ledger = commit(git, system)
    assert ledger.warnings == []
    assert verified(git, home / "keys/id", oid)


@pytest.mark.parametrize("prefix", ["", "key::"])
def test_a_key_written_out_is_taken_from_the_agent(
    git: Git, system: System, ssh_key: Path, tmp_path: Path, prefix: str
) -> None:
    socket = tmp_path / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        environ = {**system.environ, "SSH_AUTH_SOCK": str(socket)}
        for _ in range(100):
            add = ["ssh-add", "-q", str(ssh_key)]
            if subprocess.run(add, env=environ, check=False, capture_output=True).returncode == 0:
                break
        public = ssh_key.with_suffix(".pub").read_text().strip()
        with_ssh(git, ssh_key)
        git("config", "user.signingkey", prefix + public)
        ssh_key.rename(tmp_path / "elsewhere")
        oid, ledger = commit(git, replace(system, environ=environ))
        assert ledger.warnings == []
        assert verified(git, ssh_key, oid)
    finally:
        agent.kill()
        agent.wait()


def test_a_default_key_is_asked_for(
    git: Git, system: System, ssh_key: Path, tmp_path: Path
) -> None:
    with_ssh(git, ssh_key)
    git("config", "--unset", "user.signingkey")
    script = tmp_path / "which key"
    script.write_text("#!/bin/sh\necho nothing of use\n")
    script.chmod(0o755)
    git("config", "gpg.ssh.defaultKeyCommand", f"'{script}'")
    oid, ledger = commit(git, system)
    assert "printed no key" in ledger.warnings[0]
    assert "gpgsig" not in raw(git, oid)


def broken(git: Git, ssh_key: Path, text: str, tmp_path: Path) -> None:
    with_ssh(git, ssh_key)
    program = tmp_path / "signer"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    git("config", "gpg.ssh.program", str(program))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo no key today >&2; exit 1", "failed with status 1: no key today"),
        ("echo something", "gave no signature"),
        ("kill -9 $$", "failed with status -9"),
    ],
)
def test_a_signer_that_fails_is_a_warning_and_no_more(
    git: Git, system: System, ssh_key: Path, tmp_path: Path, text: str, said: str
) -> None:
    broken(git, ssh_key, text, tmp_path)
    oid, ledger = commit(git, system)
    assert "gpgsig" not in raw(git, oid)
    (warning,) = ledger.warnings
    assert said in warning
    assert "commits are not signed" in warning
    ledger.commit(trial_files(2), MESSAGE)
    assert len(ledger.warnings) == 1
    git.fsck()


def test_a_signer_that_is_not_there_is_a_warning(git: Git, system: System, ssh_key: Path) -> None:
    with_ssh(git, ssh_key)
    git("config", "gpg.ssh.program", "/nowhere/ssh-keygen")
    _, ledger = commit(git, system)
    assert "is not installed" in ledger.warnings[0]


def test_a_key_that_wants_a_passphrase_does_not_wait_for_it(
    git: Git, system: System, ssh_key: Path
) -> None:
    argv = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret words", "-f", str(ssh_key)]
    subprocess.run(argv, check=True, capture_output=True)
    with_ssh(git, ssh_key)
    _, ledger = commit(git, system)
    assert len(ledger.warnings) == 1


def test_a_kind_of_signature_that_is_not_known_is_a_warning(git: Git, system: System) -> None:
    git("config", "commit.gpgsign", "true")
    git("config", "gpg.format", "x509")
    _, ledger = commit(git, system)
    assert "gpg.format is x509" in ledger.warnings[0]


def test_a_signer_that_hangs_is_asked_once(tmp_path: Path, system: System) -> None:
    program = tmp_path / "signer"
    program.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\nsleep 60\n")
    program.chmod(0o755)
    settings = {
        ("gpg", "format"): "ssh",
        ("user", "signingkey"): "/key",
        ("gpg.ssh", "program"): str(program),
    }
    warnings: list[str] = []
    signer = signing.Signer(
        lambda section, key: settings.get((section, key)),
        system.environ,
        "nobody",
        warnings.append,
        seconds=0.5,
    )
    assert [signer.sign(b"payload") for _ in range(3)] == [None, None, None]
    assert len(warnings) == 1
    assert "took longer" in warnings[0]
    assert (tmp_path / "asked").read_text() == "asked\n"


@pytest.mark.parametrize(
    ("value", "signs"), [("true", True), ("yes", True), ("1", True), ("false", False), ("0", False)]
)
def test_commit_gpgsign_is_read_as_git_reads_it(
    value: str, signs: bool, make_repository: Callable[..., Git], system: System, ssh_key: Path
) -> None:
    git = make_repository()
    with_ssh(git, ssh_key)
    git("config", "commit.gpgsign", value)
    oid, _ = commit(git, system)
    assert ("gpgsig" in raw(git, oid)) is signs
