"""A forger who rewrites everything passes; a witness and signatures are what shows it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.verify.book import BASE, Book, Bundles, Recipe, make

from trialbook.errors import UserError
from trialbook.model.outcome import Outcome
from trialbook.model.trial import TrialBundle
from trialbook.storage.signing import Signer

LIST = "refs/heads/people:allowed_signers"


class Person:
    """Somebody with an ssh key or an OpenPGP key, who signs as git would."""

    def __init__(self, folder: Path, name: str, kind: str = "ssh") -> None:
        self.folder = folder / name
        self.folder.mkdir(mode=0o700)
        self.email = f"{name}@example.invalid"
        self.kind = kind
        self.key = self.folder / "key"
        self.environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder)}
        self.environ["GNUPGHOME"] = str(self.folder)
        if kind == "ssh":
            keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)]
            subprocess.run([*keygen, "-C", name], check=True)
        else:
            self._run(
                "gpg", "--batch", "--passphrase", "", "--quick-gen-key", self.email, "ed25519"
            )

    def _run(self, *argv: str) -> str:
        done = subprocess.run(
            argv, env=self.environ, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout

    @property
    def line(self) -> str:
        """What a list of signers says of the person."""
        if self.kind == "ssh":
            return f"{self.email} {self.key.with_suffix('.pub').read_text()}"
        return self._run("gpg", "--armor", "--export", self.email)

    @property
    def sign(self) -> Callable[[bytes], bytes | None]:
        warnings: list[str] = []
        settings = {
            ("gpg", "format"): "ssh" if self.kind == "ssh" else "openpgp",
            ("user", "signingkey"): str(self.key) if self.kind == "ssh" else self.email,
        }
        signer = Signer(
            lambda section, key: settings.get((section, key)),
            self.environ,
            self.email,
            warnings.append,
        )

        def signed(payload: bytes) -> bytes | None:
            found = signer.sign(payload)
            assert not warnings, warnings
            return found

        return signed

    def close(self) -> None:
        if self.kind != "ssh":
            self._run("gpgconf", "--kill", "all")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Person]:
    folder = tmp_path_factory.mktemp("people")
    found = {name: Person(folder, name) for name in ("ann", "bob")}
    found["gil"] = Person(folder, "gil", "openpgp")
    return found


@pytest.fixture(scope="module", autouse=True)
def _no_agents_left(people: dict[str, Person]) -> object:
    yield
    for person in people.values():
        person.close()


def listed(book: Book, *people: Person) -> None:
    """A branch of its own that holds the list of signers."""
    book.branch = "refs/heads/people"
    text = "# who may write\n" + "".join(person.line for person in people)
    book.commit({"allowed_signers": text.encode()})
    book.branch = "refs/heads/main"


def all_accepted(bundles: Bundles) -> Bundles:
    """Every rejected trial leaves room for a copy of an accepted one, digests and all."""
    donors = {b.record.task: b for b in bundles if b.record.outcome is Outcome.ACCEPTED}
    found = []
    for bundle in bundles:
        if bundle.record.outcome is not Outcome.REJECTED:
            found.append(bundle)
            continue
        donor = donors[bundle.record.task]
        own = bundle.record
        record = replace(
            donor.record,
            configuration=own.configuration,
            repetition=own.repetition,
            rerun=own.rerun,
            replaces=own.replaces,
            rerun_reason=own.rerun_reason,
            started=own.started,
            finished=own.finished,
        )
        found.append(TrialBundle(record=record, files=donor.files))
    return found


def test_a_consistent_forgery_passes_and_a_witness_shows_it(book: Book, tmp_path: Path) -> None:
    witness = book.head
    assert b"rejected" in book.file(f"{BASE}/results.csv")
    forged = make(tmp_path / "forged", Recipe(bundles=all_accepted))
    assert b"rejected" not in forged.file(f"{BASE}/results.csv")
    assert forged.codes() == set()
    assert forged.codes(witness=witness) == {"witness-not-ancestor"}
    assert book.codes(witness=witness) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ann", "gil"])
def test_a_consistent_forgery_does_not_have_the_right_signatures(
    tmp_path: Path, people: dict[str, Person], name: str
) -> None:
    honest = make(tmp_path / "honest", Recipe(sign=people[name].sign))
    listed(honest, people[name])
    assert honest.codes() == set()
    assert honest.codes(signers=LIST) == set()

    forged = make(tmp_path / "forged", Recipe(sign=people["bob"].sign, bundles=all_accepted))
    listed(forged, people[name])
    assert forged.codes() == set()
    assert forged.codes(signers=LIST) == {"signer-unlisted"}

    plain = make(tmp_path / "plain", Recipe(bundles=all_accepted))
    listed(plain, people[name])
    verdict = plain.verify(signers=LIST)
    assert {fault.code.value for fault in verdict.faults} == {"unsigned"}
    # Plan, nine trials, results; the commit with the suite adds nothing to the ledger.
    assert len(verdict.faults) == 11


def test_ssh_and_openpgp_signers_stand_on_one_list(
    tmp_path: Path, people: dict[str, Person]
) -> None:
    turns = iter([people["ann"], people["gil"]] * 20)
    book = make(tmp_path / "book", Recipe(sign=lambda payload: next(turns).sign(payload)))
    listed(book, people["gil"], people["ann"])
    assert book.codes(signers=LIST) == set()
    assert book.git("log", "-1", "--format=%G?", "main") in "NEUG"


@pytest.mark.parametrize("name", ["ann", "gil"])
def test_a_signature_that_was_copied_is_bad(
    book: Book, people: dict[str, Person], name: str
) -> None:
    listed(book, people[name])
    signature = people[name].sign(b"something else")
    assert signature is not None
    path = f"{BASE}/incidents/20261130T160000Z-aaaaaa.yaml"
    commit = book.commit({path: b"x: 1\n"}, sign=lambda _: signature)
    found = {(fault.code.value, fault.commit) for fault in book.verify(signers=LIST).faults}
    assert ("signature-bad", commit) in found


def test_a_signature_of_no_kind_is_bad(book: Book, people: dict[str, Person]) -> None:
    listed(book, people["ann"])
    path = f"{BASE}/incidents/20261130T160000Z-aaaaaa.yaml"
    commit = book.commit({path: b"x: 1\n"}, sign=lambda _: b"trust me")
    found = {(fault.code.value, fault.commit) for fault in book.verify(signers=LIST).faults}
    assert ("signature-bad", commit) in found


def test_commits_that_leave_the_ledger_alone_need_no_signature(
    tmp_path: Path, people: dict[str, Person]
) -> None:
    book = make(tmp_path / "book", Recipe(sign=people["ann"].sign))
    listed(book, people["ann"])
    book.commit({"README.md": b"unsigned\n"})
    assert book.codes(signers=LIST) == set()


def test_a_list_comes_from_gits_configuration_too(book: Book, people: dict[str, Person]) -> None:
    listed(book, people["ann"])
    book.git("config", "trialbook.signersRef", "refs/heads/people")
    with pytest.raises(UserError, match="no path inside"):
        book.verify()
    book.git("config", "gpg.ssh.allowedSignersFile", "allowed_signers")
    assert book.codes() == {"unsigned"}


def test_without_a_list_it_counts_signatures(book: Book) -> None:
    assert any("0 of 11 commits" in note for note in book.verify().notes)


@pytest.mark.parametrize("ref", ["HEAD", "main", "refs/heads/main"])
def test_what_is_verified_does_not_say_who_may_sign(book: Book, ref: str) -> None:
    with pytest.raises(UserError, match="what is being verified"):
        book.verify(signers=f"{ref}:README.md")


def test_a_branch_that_is_the_same_commit_does_not_either(book: Book) -> None:
    book.git("branch", "same", "main")
    for ref in ("same", book.head):
        with pytest.raises(UserError, match="what is being verified"):
            book.verify(signers=f"{ref}:README.md")


@pytest.mark.parametrize(
    ("signers", "said"),
    [
        ("people", "names no list"),
        (":x", "names no list"),
        ("people:", "names no list"),
        ("nobody:allowed_signers", "no ref"),
        ("1" * 40 + ":allowed_signers", "no commit"),
        ("people:nothing", "no file"),
    ],
)
def test_a_list_that_is_not_there_is_for_the_user_to_fix(
    book: Book, people: dict[str, Person], signers: str, said: str
) -> None:
    listed(book, people["ann"])
    with pytest.raises(UserError, match=said):
        book.verify(signers=signers)
