"""Values that only a report has, looked for in the repair: the sign of a special case."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trialbook.grading.python_source import syntax_tree

_QUOTED = re.compile(r"`([^`\n]{3,80})`|\"([^\"\n]{3,80})\"|'([^'\n]{3,80})'")
_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_NUMBER = re.compile(r"(?<![\w.])\d{2,}(?:\.\d+)?(?![\w.])")
_WORD = re.compile(r"\w")
_COMMENT = re.compile(r"^\s*(?:#|//|\*|/\*)")
_BRANCH = re.compile(
    r"\b(?:if|elif|else|case|when|switch|match|while|and|or|not|in|startswith|endswith|get)\b"
    r"|==|!=|=>|\?|[\[{(].*:"
)
_LEAST = 3
_MOST = 20
_LONGEST = 1_000
_DULL = frozenset({"utf-8", "__main__", "True", "False", "None", "test", "name", "data"})


def reported_literals(tests: Iterable[tuple[str, Sequence[str]]], texts: Iterable[str]) -> set[str]:
    """The values by which a reported case is known.

    Args:
        tests: Sources of private tests, each with the names of the functions that report the case.
        texts: What the report says in words.
    """
    found: set[str] = set()
    for source, names in tests:
        found.update(_of_tests(source, names))
    for text in texts:
        quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
        found.update(quoted)
        for part in (text, *quoted):
            found.update(match[0] for match in _DATE.finditer(part))
            found.update(match[0] for match in _NUMBER.finditer(part))
    return {one for one in found if len(one.strip()) >= _LEAST and one not in _DULL}


def keyed_lines(
    literals: Iterable[str], known: Sequence[str], added: Mapping[str, Sequence[tuple[int, str]]]
) -> list[str]:
    """Where added code holds such a value in a condition or a table, as ``path:line``.

    Args:
        literals: The values.
        known: Texts of the files as they were; a value that one of them has singles nothing out.
        added: The added lines with their numbers, by path; no tests and no documents.
    """
    forms = {
        form
        for one in literals
        if not any(_holds(text, one) for text in known)
        for form in _forms(one)
    }
    places = []
    for path, lines in sorted(added.items()):
        for number, whole in lines:
            line = whole[:_LONGEST]
            code = not _COMMENT.match(line) and _BRANCH.search(line)
            if code and any(_holds(line, form) for form in forms):
                places.append(f"{path}:{number}")
    return places[:_MOST]


def _of_tests(source: str, names: Sequence[str]) -> Iterator[str]:
    try:
        tree = syntax_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name in names:
            for body in function.body:
                yield from _constants(body)


def _constants(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if not isinstance(one, ast.Constant) or isinstance(one.value, bool):
            continue
        if isinstance(one.value, str):
            yield one.value
            yield from (word for word in one.value.split() if any(c.isdigit() for c in word))
        elif isinstance(one.value, int | float):
            yield str(one.value)


def _forms(literal: str) -> Iterator[str]:
    """The value as it is, and a date as code has it."""
    yield literal
    for year, month, day in _DATE.findall(literal):
        yield f"{year}-{month}-{day}"
        yield f"{int(year)}, {int(month)}, {int(day)}"
        yield f"{year}-{month}"
        yield f"{int(year)}, {int(month)}"


def _holds(text: str, literal: str) -> bool:
    """Whether a text has it as something of its own, not inside of a longer word or number."""
    before = r"(?<!\w)" if _WORD.match(literal[0]) else ""
    after = r"(?!\w)" if _WORD.match(literal[-1]) else ""
    return re.search(before + re.escape(literal) + after, text) is not None
