"""The pages of findings and rules: what is sent back again and again, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from trialbook.api import Page
from trialbook.model.deciding import is_judge
from trialbook.model.review import VERDICT
from trialbook.model.rule import Rule
from trialbook.reporting.findings import CHECK, REMARK, Findings, Group, Sighting
from trialbook.reporting.findings_said import about_said, rules_said
from trialbook.reporting.wording import number_of
from trialbook.site.addresses import (
    FINDINGS,
    configuration_page,
    finding_page,
    part_anchor,
    rubric_page,
    run_page,
    suite_page,
    trial_page,
)
from trialbook.site.figures import when
from trialbook.site.ledger_view import LedgerView
from trialbook.site.paging import paged
from trialbook.storage.reader import RunRef

_PAGES = 300
_SHOWN = 60
_RUNS = 20
_TEXT = 160
_RUBRIC_PATH = 3
_PART_PATH = 4


def findings_pages(view: LedgerView, _: None) -> Iterator[Page]:
    """The list of groups with the rules that they became, and one page for each group."""
    found = view.findings
    own = with_pages(found.groups)
    groups = [_row(group, group.id in own) for group in found.groups]
    rules = _rules(view, found)
    for part in paged(groups, FINDINGS, "group"):
        yield Page(
            path=part.path,
            template="findings.html",
            title="Findings and rules" + (f", page {part.number}" if part.number > 1 else ""),
            context={
                "groups": part.rows,
                "paged": part,
                "rules": rules,
                "opinions": found.opinions,
                "counts": [
                    ["Groups", len(found.groups)],
                    ["Sent back", sum(len(group.sightings) for group in found.groups)],
                    ["Became rules", sum(bool(group.rules) for group in found.groups)],
                    ["Sent back since", sum(len(group.repeats) for group in found.groups)],
                ],
            },
        )
    for group in found.groups:
        if group.id in own:
            yield _page_of_group(view, group)


def with_pages(groups: Sequence[Group]) -> frozenset[str]:
    """The groups with pages of their own: those that became rules, and the most frequent ones."""
    return frozenset(
        group.id for number, group in enumerate(groups) if number < _PAGES or group.rules
    )


def found_groups(view: LedgerView) -> Iterator[tuple[str, str, str]]:
    """The groups for the search box: title, detail, address."""
    own = with_pages(view.findings.groups)
    for group in view.findings.groups:
        if group.id not in own:
            continue
        said = f"{group.id}, {number_of(group.trials, 'trial')}"
        yield about_said(group), said, finding_page(group.id)


def _row(group: Group, own: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - a fact
    seen = group.sightings
    said = about_said(group)
    return {
        "id": group.id,
        "page": finding_page(group.id) if own else "",
        "said": said if len(said) <= _TEXT else f"{said[:_TEXT]}…",
        "source": group.about.source,
        "times": len(seen),
        "trials": group.trials,
        "first": seen[0].when[:10] if seen else "",
        "last": seen[-1].when[:10] if seen else "",
        "by": ", ".join(group.by),
        "rule": bool(group.rules),
        "rules": rules_said(group),
        "repeats": len(group.repeats),
    }


def _page_of_group(view: LedgerView, group: Group) -> Page:
    seen = group.sightings
    repeats = set(map(id, group.repeats))
    runs = Counter(one.trial.rsplit("/", 3)[0] for one in seen)
    return Page(
        path=finding_page(group.id),
        template="finding.html",
        title=f"Finding {group.id}",
        context={
            **_row(group),
            "title": group.about.item.rpartition(":")[2]
            or f"Remark on {group.about.place or 'a change'}",
            "whole": group.about.text,
            "about": _about(view, group),
            "became": [_rule(view, rule) for rule in group.rules],
            "runs": [
                {"run": path, "page": run_page(_ref(path)), "times": times}
                for path, times in runs.most_common(_RUNS)
            ],
            "more_runs": max(0, len(runs) - _RUNS),
            "sightings": [_sighting(one, id(one) in repeats) for one in reversed(seen[-_SHOWN:])],
            "hidden": max(0, len(seen) - _SHOWN),
            "list": FINDINGS,
            "commands": [
                "trialbook findings",
                f"trialbook finding resolve {group.id} --rule instructions --link PATH",
            ],
        },
    )


def _about(view: LedgerView, group: Group) -> dict[str, str]:
    """What the group is about, with the page of its question where there is one."""
    about = group.about
    if about.source in (CHECK, REMARK):
        return {"item": about.item or "a remark", "page": "", "place": about.place}
    name, _, question = about.item.partition(":")
    page = ""
    for rubric in view.rubrics:
        if rubric.name == name and any(one.id == question for one in rubric.questions):
            page = f"{rubric_page(rubric.name, rubric.version)}#question-{question}"
    return {"item": about.item, "page": page, "place": about.place}


def _sighting(one: Sighting, repeat: bool) -> dict[str, Any]:  # noqa: FBT001 - a fact of it
    suite, run, path = one.trial.split("/", 2)
    page = f"{trial_page(RunRef(suite, run), path)}#{_anchor(one)}"
    return {
        "trial": path,
        "suite": suite,
        "run": run,
        "page": page,
        "when": when(one.when),
        "by": one.by,
        "place": one.about.place,
        "text": one.about.text,
        "repeat": repeat,
    }


def _anchor(one: Sighting) -> str:
    """Where on a trial's page it stands: its check, a judge's part, or a reviewer's answer."""
    about = one.about
    if about.source == CHECK:
        grader, _, check = about.item.partition(":")
        return part_anchor(f"c-{grader}", check)
    if is_judge(one.by):
        return "grades"
    return part_anchor("review", about.item.partition(":")[2] or VERDICT)


def _rules(view: LedgerView, found: Findings) -> list[dict[str, Any]]:
    """Every rule, newest first, with the finding that it came from."""
    rows = [(rule, group) for group in found.groups for rule in group.rules]
    rows.sort(key=lambda row: (row[0].created, row[0].id), reverse=True)
    return [
        {
            **_rule(view, rule),
            "group": group.id,
            "page": finding_page(group.id),
            "said": about_said(group)[:_TEXT],
            "repeats": sum(one.when > rule.created for one in group.sightings),
        }
        for rule, group in rows
    ]


def _rule(view: LedgerView, rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "kind": rule.kind.value,
        "meaning": rule.kind.meaning,
        "link": rule.link,
        "link_page": _page_of_link(view, rule.link),
        "address": rule.link if urlsplit(rule.link).scheme in ("http", "https") else "",
        "created": when(rule.created),
        "author": rule.author,
        "note": rule.note,
        "commit": rule.commit,
    }


def _page_of_link(view: LedgerView, link: str) -> str:
    """The page that shows what a rule's path names; empty if there is none."""
    path = link.partition("#")[0]
    parts = path.split("/")
    if parts[0] == "rubrics" and len(parts) == _RUBRIC_PATH:
        for rubric in view.rubrics:
            if parts[1:] == [rubric.name, f"v{rubric.version}.md"]:
                return rubric_page(rubric.name, rubric.version)
    if parts[0] == "suites" and len(parts) > 1 and parts[1] in view.suites:
        known = {one.configuration for one in view.configurations(parts[1])}
        name = parts[3].partition(".")[0] if len(parts) >= _PART_PATH else ""
        if parts[2:3] == ["configurations"] and name in known:
            return configuration_page(parts[1], name)
        return suite_page(parts[1])
    return ""


def findings_of_question(groups: Sequence[Group], rubric: str) -> dict[str, list[dict[str, Any]]]:
    """The groups about each question of a rubric, for the rubric's page."""
    found: dict[str, list[dict[str, Any]]] = {}
    own = with_pages(groups)
    for group in groups:
        name, _, question = group.about.item.partition(":")
        if group.about.source not in (CHECK, REMARK) and name == rubric and group.id in own:
            found.setdefault(question, []).append(_row(group))
    return found


def _ref(path: str) -> RunRef:
    suite, _, run = path.partition("/")
    return RunRef(suite, run)
