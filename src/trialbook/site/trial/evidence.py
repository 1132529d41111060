"""What was said of a trial's change, with the way to the lines it is about, and back from there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trialbook.formats.records import plain
from trialbook.model.evidence import KINDS, LEAKS, Sighting
from trialbook.model.grade import Check, Finding, Grade, Severity
from trialbook.model.judgement import JudgeFinding
from trialbook.reporting.reviews_said import ReviewsSaid
from trialbook.reporting.wording import words
from trialbook.site.addresses import change_page, part_anchor, trial_page
from trialbook.site.diff.figure import Change
from trialbook.site.diff.remarks import Remark
from trialbook.site.judgement_figure import judgement_figure
from trialbook.site.text import excerpt
from trialbook.storage.reader import RunRef

_FINDINGS = 20
_LOG = 8_000
_PLACE = re.compile(r"(?:.*\s)?([^\s:]+):(\d{1,9})(?:\s*[-\u2013]\s*(\d{1,9}))?\W*")
_ANSWERS = {True: "yes", False: "no", None: "unknown"}


class Evidence:
    """Gathers what is said of lines while it is made ready for the page.

    ``remarks`` are what stands beside the lines when all is said.
    """

    def __init__(self, change: Change, run: RunRef, trial: str) -> None:
        self.remarks: list[Remark] = []
        self._change = change
        self._run = run
        self._trial = trial
        self._page = trial_page(run, trial)
        self._ids: set[str] = set()

    def target(self, path: str | None, line: int | None = None, side: str = "new") -> str:
        """The address of a line of the change, or of the file; empty if it is not there."""
        place = self._change.place(path, line, side)
        if place is None:
            return ""
        page = self._page
        if place.sheet:
            page = change_page(self._run, self._trial, place.sheet + 1)
        return f"{page}#{place.anchor}"

    def grade(self, grade: Grade) -> dict[str, Any]:
        """A grade."""
        log = grade.log.encode("utf-8", "surrogatepass")
        return {
            "grader": grade.grader,
            "version": grade.version,
            "status": grade.status.value,
            "accepted": grade.accepted,
            "passed": grade.passed,
            "total": grade.total,
            "message": grade.message,
            "judgement": self._judgement(grade),
            # What a judge found stands beside its lines already.
            "checks": [
                self._check(check, grade.grader, beside=grade.judgement is None)
                for check in grade.checks
            ],
            "log": plain(excerpt(log, head=_LOG, tail=_LOG)) if log else None,
        }

    def sighting(self, one: Sighting) -> dict[str, Any]:
        """Something that was seen of the change, the workspace or the network."""
        meaning = KINDS[one.kind][1] if one.kind in KINDS else LEAKS.get(one.kind, "")
        anchor = self._id("seen", one.kind)
        if one.line:
            self._remark(
                Remark(
                    path=one.path or "",
                    first=one.line,
                    last=one.line,
                    back=anchor,
                    tone="warn",
                    who="seen",
                    title=words(one.kind),
                    text=one.detail,
                )
            )
        return {
            **plain(one),
            "id": anchor,
            "place": one.place,
            "title": words(one.kind),
            "meaning": meaning,
            "target": self.target(one.path, one.line),
        }

    def reviews(self, said: ReviewsSaid | None) -> dict[str, Any] | None:
        """What people answered once their answers are in; None where nobody is asked."""
        if said is None:
            return None
        found: dict[str, Any] = plain(said)
        for row, item in zip(found["items"], said.items, strict=True):
            row["id"] = self._id("review", item.item)
            for one, answer in zip(row["answers"], item.answers, strict=True):
                one["evidence"] = [
                    {
                        "text": text,
                        "target": self._pointed(
                            text, row["id"], f"{answer.reviewer}, {item.item}: {answer.answer}"
                        ),
                    }
                    for text in answer.evidence
                ]
        return found

    def _pointed(self, text: str, back: str, title: str) -> str:
        """Where a reviewer points at, as they wrote it down: ``path:line`` or ``path:a-b``."""
        match = _PLACE.fullmatch(text.strip()[-400:])
        if match is None:
            return self.target(text.strip())
        first = int(match[2])
        last = max(first, int(match[3] or first))
        self._remark(
            Remark(path=match[1], first=first, last=last, back=back, who="reviewer", title=title)
        )
        return self.target(match[1], first)

    def _check(self, check: Check, grader: str, *, beside: bool) -> dict[str, Any]:
        anchor = self._id(f"c-{grader}", check.id)
        shown = check.evidence[:_FINDINGS]
        for finding in shown if beside and check.passed is False else ():
            if finding.line:
                self._remark(
                    Remark(
                        path=finding.file or "",
                        first=finding.line,
                        last=finding.line,
                        back=anchor,
                        tone="bad",
                        who=grader,
                        title=check.question or check.id,
                        text=check.message,
                    )
                )
        return {
            "id": check.id,
            "anchor": anchor,
            "question": check.question,
            "severity": check.severity.value,
            "answer": _ANSWERS[check.passed],
            "message": check.message,
            "evidence": [self._finding(finding) for finding in shown],
            "more": max(0, len(check.evidence) - _FINDINGS),
        }

    def _finding(self, finding: Finding) -> dict[str, Any]:
        return {
            "text": finding.text,
            "file": finding.file,
            "line": finding.line,
            "target": self.target(finding.file, finding.line),
        }

    def _judgement(self, grade: Grade) -> dict[str, Any] | None:
        figure = judgement_figure(grade.judgement)
        if figure is None or grade.judgement is None:
            return figure
        for vote, shown in zip(grade.judgement.votes, figure["votes"], strict=True):
            who = f"{grade.grader}, vote {shown['number']}"
            for one, row in zip(vote.findings, shown["findings"], strict=False):
                self._quoted(one, row, who)
        return figure

    def _quoted(self, one: JudgeFinding, row: dict[str, Any], who: str) -> None:
        """Put a judge's finding beside the lines that it quotes."""
        number = len(self._ids)
        back = self._id("said", str(number))
        first, side = one.line, "new"
        last = None if first is None else first + one.quote.strip("\n").count("\n")
        row |= {"id": back, "last": last, "target": self.target(one.file, first)}
        if not one.supported:
            row["target"] = ""
            return
        if first is None or last is None:
            return
        anchor = f"finding-{number}"
        tone = "bad" if one.severity in (Severity.MUST, Severity.HIGH) else "warn"
        remark = Remark(
            path=one.file,
            first=first,
            last=last,
            side=side,
            id=anchor,
            back=back,
            tone=tone,
            who=who,
            title=f"{one.question}, {one.severity}",
            text=one.text,
        )
        self._remark(remark)

    def _remark(self, remark: Remark) -> None:
        """Keep what is beside a line; its last line has to be there for it to stand below."""
        last = remark.last
        while last > remark.first and not self._there(remark, last):
            last -= 1
        if self._there(remark, last):
            self.remarks.append(replace(remark, last=last))

    def _there(self, remark: Remark, line: int) -> bool:
        place = self._change.place(remark.path, line, remark.side)
        return place is not None and place.anchor.endswith(f"{remark.side[0]}{line}")

    def _id(self, stem: str, name: str) -> str:
        base = part_anchor(stem, name)
        found, number = base, 1
        while found in self._ids:
            number += 1
            found = f"{base}.{number}"
        self._ids.add(found)
        return found


def sightings_of(evidence: Evidence, found: Sequence[Sighting] | None) -> list[dict[str, Any]]:
    """Everything that was seen."""
    return [evidence.sighting(one) for one in found or ()]
