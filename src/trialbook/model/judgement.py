"""What a judge said about one diff: its votes with findings, and who it was, to the digest."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from trialbook.model.digest import sha256
from trialbook.model.severity import Severity
from trialbook.model.trust import TrustLevel
from trialbook.model.usage import Usage

_ANY_PROGRAM = "command"
"""The client that runs whatever program a judge's file names, which need not ask any model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trusted:
    """How far a judge is trusted: the level, the calibration that says so, and why it is no more.

    ``calibration`` is the id of the record; None without one.
    """

    level: TrustLevel = TrustLevel.UNCALIBRATED
    calibration: str | None = None
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeIdentity:
    """Everything that could change what a judge says, and one digest of it.

    ``parameters`` are the settings that count: reasoning, votes, the plugin's parameters without
    the place of the program, limits of the answer, digests of its files. ``rules`` is the version
    of the rules by which answers are checked. ``sha256`` covers all other fields but ``judge``:
    a judge that is only renamed stays the same.
    """

    judge: str
    client: str
    client_version: str | None
    model: str | None
    parameters: dict[str, Any]
    prompt_sha256: str
    rubric_sha256: str
    schema_sha256: str
    rules: int
    sha256: str

    @property
    def short(self) -> str:
        """The first twelve digits of the digest: the version of the judge's grades."""
        return self.sha256[:12]

    @property
    def asked(self) -> str:
        """Which model answers, in words; of a program that names none nobody knows of any."""
        if self.model is not None:
            return self.model
        if self.client == _ANY_PROGRAM:
            return "a program that names no model"
        return "a model that its client chooses"


def identity_digest(identity: JudgeIdentity) -> str:
    """The digest of everything that an identity says, but for its name and its digest."""
    counted = asdict(identity)
    del counted["judge"], counted["sha256"]
    return sha256(json.dumps(counted, sort_keys=True).encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFinding:
    """One thing that a judge found, with the lines that it quotes for it.

    It is ``supported`` if the quote stands in the diff that the judge was shown; then ``file`` and
    ``line`` (of the changed file, counted from 1; None in what was taken out) are where it was
    found, and else ``file`` is what the judge said.
    """

    question: str
    quote: str
    file: str
    line: int | None
    text: str
    severity: Severity
    supported: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVote:
    """One run of a judge.

    Without a ``verdict``, ``problem`` says why: it gave no usable answer, or one that contradicts
    itself; ``said`` is the verdict that such an answer had, if it had one. ``repaired`` tells that
    the first answer did not fit the schema and the second did. Without ``usable``, nothing
    of the vote counts.
    """

    usable: bool
    verdict: str | None = None
    said: str | None = None
    problem: str = ""
    contradictions: tuple[str, ...] = ()
    repaired: bool = False
    answers: dict[str, str] = field(default_factory=dict)
    findings: tuple[JudgeFinding, ...] = ()
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """Text in a diff that looks as if it were meant for whoever judges it. ``line`` is the diff's.

    It proves nothing, and decides nothing: it is for people to look at.
    """

    kind: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A judge's whole judgement of one diff.

    ``verdict`` is what more than half of all votes say, None if there is no such; ``agreed`` of
    ``asked`` votes say so. ``answers`` has the answer of each question that most usable votes give.
    ``not_asked`` are questions that a diff cannot answer. ``trust`` is how far the judge was
    trusted when this was written, by ``calibration``. ``same_family`` says whether judge and agent
    have models of one family, which may favour its own; None if that is not known. ``isolated``
    says whether its sandbox kept files and network from it. ``left_out`` counts what the diff had
    and the judge was not shown: the data of binary files.
    """

    rubric: str
    rubric_sha256: str
    identity: JudgeIdentity
    verdict: str | None
    asked: int
    agreed: int
    answers: dict[str, str]
    votes: tuple[JudgeVote, ...]
    not_asked: tuple[str, ...] = ()
    planted: tuple[Planted, ...] = ()
    trust: TrustLevel = TrustLevel.UNCALIBRATED
    calibration: str | None = None
    same_family: bool | None = None
    isolated: bool = False
    left_out: int = 0
    usage: Usage = field(default_factory=Usage)
