"""Answers structural checks on a candidate, each with evidence.

What an agent did to dodge a question (a link, a folder or a monster in place of a file) is a no.
"""

from __future__ import annotations

from collections.abc import Sequence

from trialbook.api import Check, Evidence
from trialbook_graders.answer import Answer, no, seen, yes
from trialbook_graders.changes import changed
from trialbook_graders.commands import run_command
from trialbook_graders.content import contains, file_matches, value_equals
from trialbook_graders.patterns import Found, Job, search_all
from trialbook_graders.structural import (
    ChangedOnly,
    CommandSucceeds,
    DirectoryExists,
    FileAbsent,
    FileContains,
    FileExists,
    FileMatches,
    MaxChanged,
    NotChanged,
    StructuralCheck,
    ValueEquals,
)
from trialbook_graders.tree import Kind, Tree, final_tree


def answer_all(checks: Sequence[StructuralCheck], evidence: Evidence) -> list[Check]:
    """Every check with its answer, in order.

    Raises:
        TrialbookError: the searching process broke.
    """
    tree = final_tree(evidence)
    searches = _searches(checks, tree, evidence)
    found = []
    for number, check in enumerate(checks):
        answer = _answer(check, number, tree, evidence, searches)
        found.append(
            Check(
                id=check.id,
                question=check.question,
                passed=answer.passed,
                message=answer.message,
                severity=check.severity,
                evidence=answer.findings,
            )
        )
    return found


def _answer(
    check: StructuralCheck,
    number: int,
    tree: Tree,
    evidence: Evidence,
    searches: dict[int, Found | None],
) -> Answer:
    match check.rule:
        case FileExists() | FileAbsent() | DirectoryExists() as rule:
            return _presence(rule, tree)
        case FileContains() as rule:
            return contains(rule, tree.at(rule.file), searches.get(number))
        case FileMatches() as rule:
            return file_matches(rule, tree.named(rule.files), searches[number])
        case ValueEquals() as rule:
            return value_equals(rule, tree)
        case CommandSucceeds() as rule:
            return run_command(rule, evidence.scratch / f"command-{number + 1}", evidence)
        case ChangedOnly() | NotChanged() | MaxChanged() as rule:
            return changed(rule, evidence)


def _searches(
    checks: Sequence[StructuralCheck], tree: Tree, evidence: Evidence
) -> dict[int, Found | None]:
    """All searches in one go, by the number of the check."""
    jobs: dict[int, Job] = {}
    for number, check in enumerate(checks):
        rule = check.rule
        if isinstance(rule, FileContains):
            place = tree.at(rule.file)
            if place.kind is Kind.FILE:
                jobs[number] = Job(pattern=rule.pattern, files=(place.path,))
        elif isinstance(rule, FileMatches):
            files = tuple(p.path for p in tree.named(rule.files) if p.kind is Kind.FILE)
            jobs[number] = Job(pattern=rule.pattern, files=files)
    return dict(zip(jobs, search_all(list(jobs.values()), evidence), strict=True))


def _presence(rule: FileExists | FileAbsent | DirectoryExists, tree: Tree) -> Answer:
    if isinstance(rule, DirectoryExists):
        place = tree.at(rule.path)
        if place.kind is Kind.FOLDER:
            return yes(f"{rule.path} found", seen(place))
        return no(place.says, *([] if place.kind is Kind.MISSING else [seen(place)]))
    places = tree.named(rule.path)
    if isinstance(rule, FileAbsent):
        # Whatever is there, a link or a folder, is there.
        return no(places[0].says, *map(seen, places)) if places else yes(f"{rule.path} not found")
    files = [place for place in places if place.kind is Kind.FILE]
    if files:
        return yes(f"{rule.path} found", *map(seen, files))
    if places:
        return no(f"{places[0].says}, not a file", *map(seen, places))
    return no(f"{rule.path} not found")
