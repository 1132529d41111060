"""An agent's client: the program, what it was not permitted, what it could not, what it claims."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client as it was found on this host, before a run.

    ``program`` is its path, None if it is not there; ``version`` what it says of itself.
    ``reason`` says in one line what is wrong where ``version`` is None; ``hint`` is the command
    that installs it.
    """

    program: str | None = None
    version: str | None = None
    reason: str = ""
    hint: str = ""


class Trouble(StrEnum):
    """What kept a model from answering: one word for what providers and clients say in many ways.

    ``request`` is an answer that the agent's side has to answer for: a prompt that is too long,
    say. All others are trouble of the provider, the account, or the way to it.
    """

    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER = "server"
    AUTHENTICATION = "authentication"
    BILLING = "billing"
    MODEL = "model"
    CONNECTION = "connection"
    REQUEST = "request"

    @property
    def outage(self) -> bool:
        """Whether a trial that ended with it says nothing about its configuration."""
        return self is not Trouble.REQUEST


_BY_STATUS = {
    401: Trouble.AUTHENTICATION,
    402: Trouble.BILLING,
    403: Trouble.AUTHENTICATION,
    404: Trouble.MODEL,
    408: Trouble.CONNECTION,
    429: Trouble.RATE_LIMIT,
    503: Trouble.OVERLOADED,
    529: Trouble.OVERLOADED,
}
_CLIENT_ERROR, _SERVER_ERROR, _LAST = 400, 500, 599


def trouble_of_status(status: int) -> Trouble | None:
    """What an HTTP status of a model's provider means; None for those that are no error."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if _SERVER_ERROR <= status <= _LAST:
        return Trouble.SERVER
    return Trouble.REQUEST if _CLIENT_ERROR <= status < _SERVER_ERROR else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Something that the agent wanted to do and was not permitted: the tool, and what with it."""

    tool: str
    detail: str = ""


class ClaimKind(StrEnum):
    """What an agent says about tests."""

    PASSED = "tests_passed"
    FAILED = "tests_failed"
    NOT_RUN = "tests_not_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence of the agent about tests, in its own words. Nothing says that it is true."""

    kind: ClaimKind
    text: str


_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]?")
_TEST = re.compile(
    r"\b(?:tests?|test suite|pytest|unittest|specs?)\b|\b\d+ passed\b", re.IGNORECASE
)
_PATTERNS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            None,
            r"\b(?:should|would|will|must|to|can|could|may|if|once|when|until)\b[^,;]{0,30}pass",
        ),
        (ClaimKind.PASSED, r"\b(?:no|0|zero|without(?: any)?)(?: \w+){0,2} fail"),
        (
            ClaimKind.NOT_RUN,
            r"(?:\b(?:not|unable|without|never|cannot|no)\b|n't\b)[^,;]{0,40} r[ua]n",
        ),
        (ClaimKind.NOT_RUN, r"\b(?:skipped|untested)\b"),
        (ClaimKind.FAILED, r"\bfail(?:s|ed|ing|ures?)?\b|(?:\bnot|n't) pass|\bbroken\b"),
        (ClaimKind.PASSED, r"\bpass(?:es|ed|ing)?\b|\bgreen\b|\bsucceed|\bsuccessful"),
    )
)
_MOST_CLAIMS = 10
_LONGEST_CLAIM = 300
_LONGEST_READ = 200_000


def claims_of(texts: Iterable[str]) -> tuple[Claim, ...]:
    """What an agent's closing words say about tests. A hint: words are read, not understood."""
    found = dict.fromkeys(claim for text in texts for claim in _claims(text[-_LONGEST_READ:]))
    return tuple(found)[-_MOST_CLAIMS:]


def _claims(text: str) -> Iterator[Claim]:
    for match in _SENTENCE.finditer(text):
        sentence = " ".join(match[0].split())
        if _TEST.search(sentence) is None:
            continue
        kind = next((kind for kind, pattern in _PATTERNS if pattern.search(sentence)), None)
        if kind is not None:
            yield Claim(kind=kind, text=sentence[:_LONGEST_CLAIM])
