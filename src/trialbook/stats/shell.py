"""What a shell command would do, read without running it: its simple commands, risks and tests.

A shell's grammar is not understood here: quotes, operators and common wrappers are, which is enough
for hints that a person looks at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

LONGEST = 8_000
"""How many characters of a command are read."""

_DEEPEST = 3
_MOST_WORDS = 2_000
_PIECES = re.compile(
    r"""(?P<duplicate>[0-9]?[<>]&[0-9-])|(?P<redirect>[0-9]?>{1,2}\|?|&>{1,2}|<{1,3})"""
    r"""|(?P<word>(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s;&|()<>'"\\])+)|(?P<end>[;&|()\n]+)""",
    re.DOTALL,
)
_QUOTED = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""", re.DOTALL)
_ESCAPED = re.compile(r'\\([\\"$`])')
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w{1,40})\1")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_WRAPPERS = frozenset(
    {"sudo", "env", "command", "nohup", "nice", "time", "exec", "stdbuf", "xargs"}
)
_NUMBER = re.compile(r"[0-9.]+[smhd]?")

Words = tuple[str, ...]
"""One simple command: the program without its folder, then its arguments."""


@lru_cache(maxsize=4096)
def simple_commands(command: str) -> tuple[Words, ...]:
    """The simple commands of a command line, those inside ``sh -c`` too.

    Redirections stand as words of their own. Assignments and wrappers (``sudo``, ``timeout``) in
    front are left out; the text of a here-document is.
    """
    return tuple(_commands(command[:LONGEST], _DEEPEST))


def risks(command: str) -> tuple[str, ...]:
    """What is risky about a command, in words; empty if nothing is known to be."""
    found = dict.fromkeys(risk for words in simple_commands(command) for risk in _risks_of(words))
    return tuple(found)


def runs_tests(command: str) -> bool:
    """Whether a command runs tests, as far as its words tell."""
    return any(_is_test(words) for words in simple_commands(command))


def ends_in_tests(command: str) -> bool:
    """Whether the end of a command is the end of the tests that it runs.

    It is not behind a pipe, for one: ``pytest | tail`` ends as ``tail`` does.
    """
    found = simple_commands(command)
    return bool(found) and _is_test(found[-1])


def writes_files(command: str) -> bool:
    """Whether a command changes files, as far as its words tell: not what a program does inside."""
    return any(_writes(words) for words in simple_commands(command))


def restored_paths(command: str) -> tuple[str, ...]:
    """The paths that a command puts back to what git has of them."""
    found: list[str] = []
    for words in simple_commands(command):
        if words[:2] == ("git", "restore") or words[:2] == ("git", "checkout"):
            found += [word for word in words[2:] if not word.startswith("-")]
    return tuple(found)


# --- words ---------------------------------------------------------------------------------------


def _commands(text: str, depth: int) -> Iterator[Words]:
    words: list[str] = []
    for number, piece in enumerate(_PIECES.finditer(_without_documents(text))):
        if number > _MOST_WORDS:
            break
        if piece.lastgroup == "end":
            yield from _command(words, depth)
            words = []
        elif piece.lastgroup != "duplicate":
            words.append(_unquoted(piece[0]) if piece.lastgroup == "word" else piece[0])
    yield from _command(words, depth)


def _without_documents(text: str) -> str:
    """Without the texts of here-documents; one that does not end takes the rest."""
    kept, until = [], ""
    for line in text.split("\n"):
        if until:
            until = "" if line.strip() == until else until
            continue
        mark = _HEREDOC.search(line)
        until = mark[2] if mark else ""
        kept.append(_HEREDOC.sub("", line) if mark else line)
    return "\n".join(kept)


def _command(words: Sequence[str], depth: int) -> Iterator[Words]:
    bare = _unwrapped(list(words))
    if not bare:
        return
    program = bare[0].rpartition("/")[2]
    inner = _inner(program, bare)
    if inner is not None and depth > 0:
        yield from _commands(inner, depth - 1)
    else:
        yield (program, *bare[1:])


def _unwrapped(words: list[str]) -> list[str]:
    """Without assignments and wrappers in front."""
    while words:
        first = words[0].rpartition("/")[2]
        if _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif first in _WRAPPERS:
            words = _without_options(words[1:])
        elif first == "timeout":
            words = _without_options(words[1:])
            while words and _NUMBER.fullmatch(words[0]):
                words = words[1:]
        else:
            break
    return words


def _without_options(words: list[str]) -> list[str]:
    skipped = 0
    while skipped < len(words) and words[skipped].startswith("-"):
        skipped += 1
    return words[skipped:]


def _inner(program: str, words: Sequence[str]) -> str | None:
    """What a shell is told to run, or None."""
    if program not in _SHELLS:
        return None
    for place, word in enumerate(words[1:-1], 1):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return words[place + 1]
    return None


def _unquoted(word: str) -> str:
    return _QUOTED.sub(_plain, word)


def _plain(match: re.Match[str]) -> str:
    if match[1] is not None:
        return match[1]
    return match[3] if match[2] is None else _ESCAPED.sub(r"\1", match[2])


# --- what they mean ------------------------------------------------------------------------------

FORCE_PUSH = "force push"
HISTORY = "history rewritten"
DATA = "data deleted"
CHECKS = "checks switched off"

_HISTORY = frozenset({"rebase", "filter-branch", "filter-repo", "replace"})
_TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/")  # noqa: S108 - read, not used
_WIDE = frozenset({".", "./", "..", "../", "*", "./*", "~", "~/", "$HOME", "${HOME}", ".git"})
_SQL = re.compile(r"\b(?:drop\s+(?:table|database|schema)|truncate\s+table)\b", re.IGNORECASE)
_DATABASES = frozenset({"psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "duckdb"})


def _risks_of(words: Words) -> Iterator[str]:
    program = words[0]
    if program == "git":
        yield from _git_risks(*_git(words))
    elif program in _DELETERS:
        if _DELETERS[program](words[1:]):
            yield DATA
    elif program in _DATABASES and any(_SQL.search(word) for word in words):
        yield DATA
    elif program == "chmod":
        if any(".git/hooks" in word or ".husky" in word for word in words):
            yield CHECKS
    elif program in {"pre-commit", "husky"} and "uninstall" in words:
        yield CHECKS
    if program.startswith("mkfs"):
        yield DATA


def _git(words: Words) -> tuple[str, Words, Words]:
    """The subcommand of git, its arguments, and what stands before it."""
    place = 1
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in {"-C", "-c", "--git-dir", "--work-tree"} else 1
    return (words[place] if place < len(words) else "", words[place + 1 :], words[1:place])


def _git_risks(what: str, given: Words, before: Words) -> Iterator[str]:
    if what == "push" and any(_forces(word) for word in given):
        yield FORCE_PUSH
    if (
        what in _HISTORY
        or (what == "commit" and "--amend" in given)
        or (what == "reset" and "--hard" in given)
        or (what == "reflog" and "expire" in given)
        or (what == "update-ref" and "-d" in given)
    ):
        yield HISTORY
    if (what == "clean" and any(_has(word, "f", "--force") for word in given)) or (
        what == "stash" and ("drop" in given or "clear" in given)
    ):
        yield DATA
    if "--no-verify" in given or (what == "commit" and any(_has(w, "n") for w in given)):
        yield CHECKS
    if any("core.hookspath" in word.lower() for word in (*before, *given)):
        yield CHECKS


def _forces(word: str) -> bool:
    return word.startswith(("--force", "+")) or _has(word, "f") or word == "--mirror"


def _has(word: str, letter: str, long: str = "") -> bool:
    """Whether a word is an option: alone, or one letter among several."""
    short = word.startswith("-") and not word.startswith("--")
    return (bool(long) and word == long) or (short and word[1:].isalpha() and letter in word[1:])


def _deletes_much(given: Words) -> bool:
    recursive = any(_has(w, "r", "--recursive") or _has(w, "R") for w in given)
    return recursive and any(_is_wide(word) for word in given)


def _is_wide(word: str) -> bool:
    if word.startswith(_TEMPORARY):
        return False
    return word in _WIDE or word.startswith(("/", "~", "$HOME", "..")) or word.endswith("/.git")


_DELETERS: dict[str, Callable[[Words], bool]] = {
    "rm": _deletes_much,
    "find": lambda given: "-delete" in given and any(_is_wide(word) for word in given),
    "dd": lambda given: any(word.startswith("of=/dev/") for word in given),
    "shred": bool,
    "dropdb": bool,
}

_TESTERS = frozenset(
    {"pytest", "py.test", "tox", "nox", "ctest", "jest", "vitest", "mocha", "rspec", "phpunit"}
)
_TOOLS = {
    "npm": {"test", "t"},
    "yarn": {"test"},
    "pnpm": {"test"},
    "bun": {"test"},
    "go": {"test"},
    "cargo": {"test", "nextest"},
    "make": {"test", "tests", "check"},
    "mvn": {"test", "verify"},
    "gradle": {"test", "check"},
    "gradlew": {"test", "check"},
    "dotnet": {"test"},
    "mix": {"test"},
    "hatch": {"test"},
    "bundle": {"rspec"},
}
_MODULES = frozenset({"pytest", "unittest", "nose2", "tox", "doctest"})
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*|py")
_RUNNERS = frozenset({"uv", "poetry", "pipenv", "npx", "hatch", "pdm", "bunx"})


def _is_test(words: Words) -> bool:
    program, given = words[0], words[1:]
    if program in _TESTERS:
        return "--version" not in given and "--help" not in given
    if program in _TOOLS and _TOOLS[program].intersection(given):
        return True
    if _PYTHON.fullmatch(program) and "-m" in given[:-1]:
        return given[given.index("-m") + 1] in _MODULES
    if program == "npm" and given[:1] == ("run",):
        return any(word.startswith("test") for word in given[1:2])
    if program in _RUNNERS:
        rest = tuple(_without_options(list(given[1:] if given[:1] == ("run",) else given)))
        return bool(rest) and rest != words and _is_test(rest)
    return False


_REDIRECTIONS = frozenset({">", ">>", ">|", "1>", "1>>", "2>", "2>>", "&>", "&>>"})
_WRITERS = frozenset(
    {"tee", "patch", "apply_patch", "mv", "cp", "rm", "touch", "mkdir", "truncate", "ln", "install"}
)


def _writes(words: Words) -> bool:
    program, given = words[0], words[1:]
    if program in {"sed", "perl"} and any(_has(word.partition(".")[0], "i") for word in given):
        return True
    if program == "git":
        return _git(words)[0] in {"apply", "am", "checkout", "restore", "mv", "rm", "stash"}
    if program in _WRITERS:
        return any(not word.startswith(("-", "/dev/", *_TEMPORARY)) for word in given)
    return any(
        word in _REDIRECTIONS and not target.startswith(("/dev/", *_TEMPORARY))
        for word, target in pairwise(given)
    )
