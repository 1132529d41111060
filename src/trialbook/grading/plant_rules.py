"""The rules of fair planting that reading alone can tell: size, words, what a search finds."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trialbook.formats.patch_lines import PatchLines
from trialbook.grading.python_source import syntax_tree
from trialbook.model.planting import PlantRule, RuleResult, RuleStatus

LEAST_FILES = 8
LEAST_LINES = 150
MOST_FAULTY = 0.05
LEAST_SIBLINGS = 3

_TELLING = re.compile(
    r"\b(?:bugs?|bugfix\w*|buggy|break(?:s|ing|age)?|broke(?:n)?|regress\w*|hack\w*"
    r"|temp|tmp|temporar\w*)\b",
    re.IGNORECASE,
)
_KEYWORD = re.compile(r"^\s*break\s*;?\s*$")
_WORD = re.compile(r"[a-z]{4,}")
_IDENTIFIER = re.compile(r"[A-Za-z]+")
_DULL = frozenset(
    re.findall(
        r"\w+",
        """
        about after again also appear appears because been before being both cannot come
        comes does done down each even every expected from give gives have having
        here instead into just like made make makes more most much must need
        needs only other over same says seem seems should show shown shows some
        still such than that their them then there these they this those though
        through under until upon very want wants was were what when where which
        while will with without work works would wrong your
        """,
    )
)
_MOST = 5


def size(
    lines: PatchLines, files: int, faulty: Sequence[str], written: PatchLines | None = None
) -> RuleResult:
    """Whether the change is as large as an integration, and the fault a small part of it.

    Args:
        lines: The lines that it changes where it is laid in.
        files: How many files it changes there.
        faulty: Where the fault is.
        written: The lines of the change as it is written, which the fault's numbers are of; the
            same if None.
    """
    total = lines.changed_lines
    bad = sum(_extent(one) for one in faulty)
    said = f"{files} files and {total} changed lines, of which {bad} are the fault"
    wrong = []
    if files < LEAST_FILES:
        wrong.append(f"at least {LEAST_FILES} files are wanted")
    if total < LEAST_LINES:
        wrong.append(f"at least {LEAST_LINES} changed lines are wanted")
    if total and bad / total > MOST_FAULTY:
        wrong.append(f"the fault is more than {MOST_FAULTY:.0%} of it")
    outside = [one for one in faulty if not (written or lines).changes(one)]
    if outside:
        wrong.append(f"`faulty` names lines that it does not change: {', '.join(outside)}")
    advice = (
        "fold the fault into ordinary work of the project, or point `faulty` at the fault alone"
    )
    return _result(PlantRule.SIZE, kept=not wrong, reason="; ".join([said, *wrong]), advice=advice)


def words(
    message: str, lines: PatchLines, symptom: str, known: Iterable[str], paths: Iterable[str]
) -> RuleResult:
    """Whether neither message nor change gives the fault away.

    A word of the symptom tells nothing where the project uses it anyway.

    Args:
        message: The message of the commit.
        lines: The lines that it changes.
        symptom: What the report says.
        known: Texts of the project before it.
        paths: The paths that it changes.
    """
    if not message.strip():
        advice = "write one, as the project's own merges have"
        return _result(PlantRule.WORDS, kept=False, reason="there is no message", advice=advice)
    project = {word.lower() for text in known for word in _IDENTIFIER.findall(text)}
    told = symptom_words(symptom) - project
    found = [f"the message: {word}" for word in _given_away(message, told)]
    found += [f"{path}: {word}" for path in sorted(paths) for word in _given_away(path, told)]
    for path, added in sorted(lines.added.items()):
        for number, text in added:
            if not _KEYWORD.match(text):
                found += [f"{path}:{number}: {word}" for word in _given_away(text, told)]
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    reason = f"{'; '.join(found[:_MOST])}{more}" if found else "none was found"
    advice = "say it in other words, or leave it out"
    return _result(PlantRule.WORDS, kept=not found, reason=reason, advice=advice)


def first_hit(symptom: str, texts: Mapping[str, str], faulty: Sequence[str]) -> RuleResult:
    """Whether another file than the cause's has more of the symptom's words."""
    rule = PlantRule.SEARCH
    wanted = symptom_words(symptom)
    causes = {one.rpartition(":")[0] for one in faulty}
    ranked = []
    for path, text in texts.items():
        counted = Counter(word.lower() for word in _IDENTIFIER.findall(text))
        hits = {word: counted[word] for word in wanted if counted[word]}
        if hits:
            ranked.append((len(hits), sum(hits.values()), path))
    if not ranked:
        return _result(rule, kept=True, reason="no file has a word of the symptom")
    # Of equals the cause stands last: who searches may look at any of them first.
    ranked.sort(key=lambda one: (-one[0], -one[1], one[2] in causes, one[2]))
    top = ranked[0][2]
    reason = f"the words of the symptom stand most in {top}"
    advice = "describe the symptom as people see it, in words that the cause's file does not use"
    return _result(rule, kept=top not in causes, reason=reason, advice=advice)


def other_inputs(reported: Mapping[str, str], siblings: Mapping[str, str]) -> RuleResult:
    """Whether no sibling has the input of a reported test.

    Args:
        reported: The source of each reported test, by id; what is not known is empty.
        siblings: The same of the siblings.
    """
    rule = PlantRule.INPUTS
    known = {_inputs(source): one for one, source in reported.items() if source}
    same = [one for one, source in siblings.items() if source and _inputs(source) in known]
    missing = [one for one, source in {**reported, **siblings}.items() if not source]
    if same:
        advice = "give each another input that goes through the same cause"
        reason = f"as the reported test: {', '.join(same[:_MOST])}"
        return _result(rule, kept=False, reason=reason, advice=advice)
    if missing:
        reason = f"the source of these tests was not found: {', '.join(missing[:_MOST])}"
        return RuleResult(rule=rule, status=RuleStatus.UNKNOWN, reason=reason)
    return _result(rule, kept=True, reason=f"{len(siblings)} siblings have inputs of their own")


def symptom_words(symptom: str) -> set[str]:
    """The words of a symptom that say something."""
    return set(_WORD.findall(symptom.lower())) - _DULL


def source_of(test: str, files: Mapping[str, str]) -> str:
    """The source of a test by its id, from files by their module's name; empty if not found."""
    module, _, name = test.partition("::")
    text = files.get(module.rpartition(".")[2]) or files.get(module) or ""
    wanted, _, case = name.partition("[")
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == wanted:
            # Two cases of one test differ by what is in the brackets.
            return f"{ast.unparse(ast.Module(body=node.body, type_ignores=[]))}\n[{case}"
    return ""


def _inputs(source: str) -> tuple[str, ...]:
    """The constants of a test: with the same ones, it has the same input."""
    body, _, case = source.rpartition("\n[")
    try:
        tree = syntax_tree(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return (source,)
    found = [repr(one.value) for one in ast.walk(tree) if isinstance(one, ast.Constant)]
    return (*sorted(found), case)


def _given_away(text: str, told: set[str]) -> Iterator[str]:
    yield from dict.fromkeys(match[0] for match in _TELLING.finditer(text.replace("_", " ")))
    yield from sorted(told & {word.lower() for word in _IDENTIFIER.findall(text)})


def _extent(place: str) -> int:
    first, _, last = place.rpartition(":")[2].partition("-")
    return int(last or first) - int(first) + 1 if first.isdigit() else 1


def _result(rule: PlantRule, *, kept: bool, reason: str, advice: str = "") -> RuleResult:
    status = RuleStatus.KEPT if kept else RuleStatus.BROKEN
    return RuleResult(rule=rule, status=status, reason=reason, advice="" if kept else advice)
