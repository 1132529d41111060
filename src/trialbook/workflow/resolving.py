"""Puts on record where a finding became a rule."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from trialbook import __version__
from trialbook.errors import UserError
from trialbook.formats.nearest import nearest
from trialbook.formats.records import to_json
from trialbook.model.ledgerfiles import rule_path
from trialbook.model.rule import Rule, RuleKind
from trialbook.model.treepath import path_problem
from trialbook.reporting.findings import Group, findings
from trialbook.storage.ledger import Ledger
from trialbook.storage.messages import rule_message
from trialbook.storage.reader import Reader
from trialbook.system import System, timestamp
from trialbook.workflow.authorship import author_of, worded

_SCHEMES = frozenset({"http", "https"})
_HERE = "HEAD"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveRequest:
    """What became of a group: ``link`` is a path of the ledger, or an address."""

    group: str
    kind: RuleKind
    link: str
    note: str | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What was put on record, about which group."""

    rule: Rule
    group: Group
    commit: str
    warnings: tuple[str, ...]


def resolve(root: Path, system: System, request: ResolveRequest) -> Resolved:
    """Put on record that a group of findings became a rule.

    Raises:
        UserError: no such group, or a link that leads nowhere.
        EnvironmentProblem: the ledger cannot be written.
    """
    ledger = Ledger.open(root, system)
    reader = Reader.open(root, ledger.ref)
    group = _group(reader, request.group)
    commit = _checked(root, request.link)
    rule = Rule(
        id=system.unique_name(),
        created=timestamp(system.now()),
        author=author_of(ledger, request.author),
        trialbook=__version__,
        group=group.id,
        about=group.about,
        kind=request.kind,
        link=request.link,
        commit=commit,
        note="" if request.note is None else worded("note", request.note),
    )
    made = ledger.commit({rule_path(rule.id): to_json(rule)}, rule_message(rule))
    return Resolved(rule=rule, group=group, commit=made, warnings=tuple(ledger.warnings))


def linked_path(link: str) -> str | None:
    """The path of the ledger that a link names, without what is behind ``#``; None of an address.

    Raises:
        UserError: it is no path that a ledger could have, and no address.
    """
    parts = urlsplit(link)
    if parts.scheme in _SCHEMES and parts.netloc:
        return None
    path = link.partition("#")[0].rstrip("/")
    if "://" in link or not path or path_problem(path.encode("utf-8", "replace")):
        raise UserError(
            f"{link!r} is no link",
            hint="name a file of the ledger by its path from the root down, or an https:// address",
        )
    return path


def _checked(root: Path, link: str) -> str:
    """The commit in which the path of a link is; empty for an address."""
    path = linked_path(link)
    if path is None:
        return ""
    here = Reader.open(root, _HERE)
    try:
        if not here.has(path):
            raise UserError(
                f"there is no {path} in HEAD",
                hint="commit the rule first: a record names what everybody with a clone can read",
            )
        return here.head
    finally:
        here.close()


def _group(reader: Reader, name: str) -> Group:
    groups = findings(reader).groups
    found = [group for group in groups if group.id.startswith(name)] if name else []
    if len(found) == 1:
        return found[0]
    known = [group.id for group in groups]
    if found:
        raise UserError(
            f"{name!r} fits {len(found)} groups", hint=", ".join(group.id for group in found)
        )
    raise UserError(
        f"there is no group of findings {name!r}",
        hint=nearest(name, known) or "`trialbook findings` lists them",
    )
