"""The acceptance policy: grader names joined by ``and``, ``or``, ``not`` and parentheses.

``not`` binds tighter than ``and``, and ``and`` tighter than ``or``. A name may carry an answer that
the grader has to give: ``review:merge``. What has no answer yet is neither yes nor no: the policy
then settles only what the others settle by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*(?:(?P<name>[a-z][a-z0-9_-]*(?::[a-z][a-z0-9_-]*)?)|(?P<sign>[()]))")
_WORDS = frozenset({"and", "or", "not"})
_MAX_DEPTH = 20

Answers = Mapping[str, bool]
_Rule = Callable[[Answers], "bool | None"]


class PolicyError(ValueError):
    """A policy that does not parse. ``position`` counts characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A parsed policy.

    ``names`` are the names as written (``review:merge``), ``graders`` the graders that they belong
    to (``review``).
    """

    text: str
    names: frozenset[str]
    rule: _Rule

    @property
    def graders(self) -> frozenset[str]:
        """The graders that have to answer."""
        return frozenset(name.partition(":")[0] for name in self.names)

    def settle(self, answers: Answers) -> bool | None:
        """Whether the policy accepts, given the answers there are; None if they do not settle it.

        What is settled stays so, whatever is answered later (Kleene's logic).
        """
        return self.rule(answers)

    def holds(self, answers: Answers) -> bool:
        """Whether the policy accepts, given each name's answer.

        Raises:
            KeyError: a name that the decision depends on has no answer.
        """
        settled = self.rule(answers)
        if settled is None:
            raise KeyError(", ".join(sorted(self.names - answers.keys())))
        return settled


def parse_policy(text: str) -> Policy:
    """Parse a policy.

    Raises:
        PolicyError: it does not parse; says where.
    """
    parser = _Parser(text)
    rule = parser.either(0)
    parser.finish()
    return Policy(text=text, names=frozenset(parser.names), rule=rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    text: str
    position: int


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            place = at + len(text[at:]) - len(text[at:].lstrip())
            raise PolicyError(f"unexpected character {text[place]!r}", place)
        group = "name" if match["name"] else "sign"
        tokens.append(_Token(text=match[group], position=match.start(group)))
        at = match.end()
    return tokens


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = 0
        self._end = len(text.rstrip())
        self.names: set[str] = set()

    def either(self, depth: int) -> _Rule:
        rules = [self._both(depth)]
        while self._take("or"):
            rules.append(self._both(depth))
        if len(rules) == 1:
            return rules[0]
        return lambda answers: _any(rule(answers) for rule in rules)

    def finish(self) -> None:
        if self._next < len(self._tokens):
            token = self._tokens[self._next]
            raise PolicyError(f"expected `and` or `or` before `{token.text}`", token.position)

    def _both(self, depth: int) -> _Rule:
        rules = [self._one(depth)]
        while self._take("and"):
            rules.append(self._one(depth))
        if len(rules) == 1:
            return rules[0]
        return lambda answers: _not(_any(_not(rule(answers)) for rule in rules))

    def _one(self, depth: int) -> _Rule:
        if depth > _MAX_DEPTH:
            raise PolicyError("nested too deeply", self._place())
        if self._take("not"):
            inner = self._one(depth + 1)
            return lambda answers: _not(inner(answers))
        if self._take("("):
            rule = self.either(depth + 1)
            if not self._take(")"):
                raise PolicyError("expected `)`", self._place())
            return rule
        return self._name()

    def _name(self) -> _Rule:
        if self._next == len(self._tokens):
            raise PolicyError("expected the name of a grader", self._end)
        token = self._tokens[self._next]
        if token.text in _WORDS or token.text in "()":
            raise PolicyError(f"expected the name of a grader, not `{token.text}`", token.position)
        self._next += 1
        name = token.text
        self.names.add(name)
        return lambda answers: answers.get(name)

    def _take(self, text: str) -> bool:
        if self._next < len(self._tokens) and self._tokens[self._next].text == text:
            self._next += 1
            return True
        return False

    def _place(self) -> int:
        if self._next < len(self._tokens):
            return self._tokens[self._next].position
        return self._end


def _not(answer: bool | None) -> bool | None:  # noqa: FBT001 - an answer
    return None if answer is None else not answer


def _any(answers: Iterable[bool | None]) -> bool | None:
    """Yes if one is; no if all are; else it is open."""
    listed = list(answers)
    if any(listed):
        return True
    return None if None in listed else False
