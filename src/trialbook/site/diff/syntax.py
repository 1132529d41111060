"""Light colour for lines of code: words of the language, strings, comments; line by line.

It knows families of languages, not grammars: what it does not know stays plain, and a text over
several lines is only told from code where a line says so itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

_LONGEST = 300
"""Characters; a longer line was most likely not written by hand."""

_CODE = re.compile(r"[()\[\]{}=:;<>\"'`_#/]|--")
_MOST_WORDS = 3

_STRINGS = r'"""|\'\'\'|"(?:[^"\\]|\\.){0,120}"|' + r"'(?:[^'\\]|\\.){0,120}'"
_BACKTICK = r"|`(?:[^`\\]|\\.){0,120}`"
_HASH = r"(?:(?<=\s)|^)#.*"
_SLASHES = r"//.*|/\*.{0,400}?(?:\*/|$)|^\s*\*(?:\s.*|/)?$"
_DASHES = r"--.*"

_PYTHON = (
    "and as assert async await break case class continue def del elif else except finally for from "
    "global if import in is lambda match nonlocal not or pass raise return try while with yield "
    "None True False"
)
_SHELL = "case do done elif else esac export fi for function if in local return set then while"
_RUBY = "begin class def do else elsif end if module nil require rescue return self then unless"
_C = (
    "auto break case catch char class const constexpr continue default delete do double else "
    "enum explicit export extern false float for friend if inline int long namespace new nullptr "
    "private protected public return short signed sizeof static struct switch template this "
    "throw true try typedef typename union unsigned using virtual void volatile while"
)
_SCRIPT = (
    "as async await break case catch class const continue default delete do else enum export "
    "extends false finally for from function if implements import in instanceof interface let new "
    "null of private protected public readonly return static super switch this throw true try type "
    "typeof undefined var void while yield"
)
_JAVA = (
    "abstract boolean break case catch class const continue default do double else enum extends "
    "final finally float for fun if implements import in instanceof int interface long new null "
    "object override package private protected public return static super switch this throw throws "
    "true false try val var void when while"
)
_GO = (
    "break case chan const continue default defer else fallthrough false for func go goto if "
    "import interface map nil package range return select struct switch true type var"
)
_RUST = (
    "as async await break const continue crate else enum extern false fn for if impl in let loop "
    "match mod move mut pub ref return self Self static struct super trait true type unsafe use "
    "where while"
)
_SQL = (
    "SELECT FROM WHERE INSERT INTO UPDATE DELETE CREATE TABLE INDEX ALTER DROP JOIN LEFT INNER ON "
    "AND OR NOT NULL VALUES SET ORDER GROUP BY LIMIT AS select from where insert into update "
    "delete create table index alter drop join left inner on and or not null values set order "
    "group by limit as"
)

_FAMILIES: tuple[tuple[str, str, str, str], ...] = (
    ("py pyi bzl", _HASH, _STRINGS, _PYTHON),
    ("sh bash zsh makefile mk dockerfile", _HASH, _STRINGS, _SHELL),
    ("yaml yml toml ini cfg conf", _HASH, _STRINGS, "true false null"),
    ("rb gemfile rakefile", _HASH, _STRINGS, _RUBY),
    ("c h cc cpp cxx hpp hh cs", _SLASHES, _STRINGS, _C),
    ("js mjs cjs jsx ts tsx vue", _SLASHES, _STRINGS + _BACKTICK, _SCRIPT),
    ("java kt kts scala groovy dart swift php", _SLASHES, _STRINGS, _JAVA),
    ("go", _SLASHES, _STRINGS + _BACKTICK, _GO),
    ("rs", _SLASHES, r'"(?:[^"\\]|\\.){0,120}"', _RUST),
    ("sql", _DASHES, _STRINGS, _SQL),
    ("json", "", _STRINGS, "true false null"),
)


class Token(NamedTuple):
    """A part of a line; ``kind`` is ``k`` (a word of the language), ``s`` (string), ``c``."""

    start: int
    end: int
    kind: str


def language_of(path: str) -> str:
    """The language of a file by its name; empty where it is not known."""
    name = path.rpartition("/")[2].lower()
    ending = name.rpartition(".")[2]
    return ending if ending in _languages() else ""


def tokens(language: str, text: str) -> Iterator[Token]:
    """The parts of a line that are not plain, in order; none of a language that is not known."""
    if not language or len(text) > _LONGEST or _is_prose(text):
        return
    for match in _languages()[language].finditer(text):
        yield Token(match.start(), match.end(), match.lastgroup or "")


def _is_prose(text: str) -> bool:
    """Whether a line reads like a sentence, most likely one of a text over several lines."""
    return _CODE.search(text) is None and len(text.split()) > _MOST_WORDS


@cache
def _languages() -> dict[str, re.Pattern[str]]:
    found: dict[str, re.Pattern[str]] = {}
    for endings, comment, strings, words in _FAMILIES:
        parts = [f"(?P<c>{comment})"] if comment else []
        parts += [f"(?P<s>{strings})", rf"(?P<k>\b(?:{'|'.join(words.split())})\b)"]
        pattern = re.compile("|".join(parts))
        found |= dict.fromkeys(endings.split(), pattern)
    return found
