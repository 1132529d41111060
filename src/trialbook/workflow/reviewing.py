"""Reviews, from the packet that waits to the file in the ledger."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trialbook.errors import EnvironmentProblem, Problem, TrialbookError, UserError
from trialbook.formats.authored import parse_document, read_text
from trialbook.formats.nearest import nearest
from trialbook.model.packets import Packet
from trialbook.model.review import Guess, Review
from trialbook.model.rubric import Rubric
from trialbook.model.runfiles import REVIEWER_PATTERN, REVIEWS, review_path
from trialbook.registry import Registry
from trialbook.review.checking import Expected, check_review
from trialbook.review.form import FormHead, form
from trialbook.review.plain_diff import plain_diff
from trialbook.site.packet_page import packet_page
from trialbook.storage.corrections import reviews_of
from trialbook.storage.ledger import Ledger
from trialbook.storage.messages import review_message
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.reviews import RunReviews
from trialbook.storage.rubrics import load_rubric
from trialbook.system import System, timestamp
from trialbook.workflow.packet_sources import Sources
from trialbook.workflow.review_drafts import BRIEF, CHANGE, FORM, PAGE, Draft, completed
from trialbook.workflow.reviewers import check_reviewer, closed_to

_BESIDE = (
    f"What is to be judged is beside this file: {PAGE} for a browser, or {BRIEF} and {CHANGE}."
)
_DRAFT_DEPTH = 3  # reviewer, packet, form
_TOP = "the top of the form says which packet it is; take a fresh form from `trialbook review next`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A packet that a reviewer has before them. ``left`` counts those that wait, this one too."""

    run: RunRef
    packet: Packet
    draft: Draft
    fresh: bool
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A review file with what is wrong with it. ``review`` is None if anything is."""

    review: Review | None
    problems: tuple[Problem, ...]
    run: RunRef | None
    configurations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A review in the ledger. ``left`` counts the packets that still wait for the reviewer."""

    review: Review
    path: str
    commit: str
    left: int
    sealed: bool
    warnings: tuple[str, ...]


@dataclass(slots=True)
class Desk:
    """Where reviewers work. ``ledger`` is written to; nothing else of it changes."""

    root: Path
    system: System
    registry: Registry
    ledger: Ledger
    _known: dict[RunRef, RunReviews | None] = field(default_factory=dict)
    _reader: Reader | None = None

    @classmethod
    def open(cls, root: Path, system: System, registry: Registry) -> Desk:
        """The desk of a ledger."""
        return cls(root, system, registry, Ledger.open(root, system))

    @property
    def reader(self) -> Reader:
        """The ledger as it was when the desk was opened, or last written to."""
        if self._reader is None:
            self._reader = Reader.open(self.root, self.ledger.ref)
        return self._reader

    def reviews(self, run: RunRef) -> RunReviews:
        """What people said of a run.

        Raises:
            UserError: the plan of the run asks nobody.
        """
        if run not in self._known:
            self._known[run] = reviews_of(self.reader, run)
        found = self._known[run]
        if found is None:
            raise UserError(
                f"the plan of {run.path} asks nobody to review it",
                hint="say who judges under `judgement` in suite.yaml; it holds for later runs",
            )
        return found

    def runs(self) -> list[RunRef]:
        """The runs whose plan asks people, oldest first."""
        known = [run for run in self.reader.runs() if self.reader.plan(run).judgement is not None]
        return sorted(known, key=lambda run: (run.run, run.suite))

    def rubric(self, run: RunRef) -> Rubric:
        """The rubric of a run, as the plan froze it.

        Raises:
            UserError: it is not there, or another than it was.
        """
        judgement = self.reviews(run).judgement
        rubric = load_rubric(self.root, judgement.rubric)
        if rubric.sha256 != judgement.rubric_sha256:
            raise UserError(
                f"the rubric {rubric.reference} is not the one that {run.path} was planned with",
                hint="a version is never changed once it is in use: restore the file from git, and "
                "give the new wording the next number",
            )
        return rubric

    # --- packets -----------------------------------------------------------------------------

    def next(self, reviewer: str, run: RunRef | None = None) -> Opened | None:
        """The packet that a reviewer goes on with: a draft, or else the next; None if none waits.

        Raises:
            UserError: a name that no reviewer may have, or reviews that are open already.
            EnvironmentProblem: the packet cannot be made or written here.
        """
        check_reviewer(reviewer)
        for one in self.runs() if run is None else [run]:
            reviews = self.reviews(one)
            if problem := closed_to(one, reviews, reviewer):
                if run is not None:
                    raise UserError(problem)
                continue
            waiting = [each for each in reviews.waiting(reviewer) if reviews.independent(each)]
            drafts = [packet for packet in waiting if self.draft(one, packet).there]
            for packet in (*drafts, *waiting)[:1]:
                draft = self.draft(one, packet)
                fresh = draft.make(lambda run=one, packet=packet: self.packet_files(run, packet))  # type: ignore[misc]
                return Opened(run=one, packet=packet, draft=draft, fresh=fresh, left=len(waiting))
        return None

    def draft(self, run: RunRef, packet: Packet) -> Draft:
        """Where the draft of a packet is, or would be."""
        folder = (
            self.ledger.state_folder(run.suite, run.run) / REVIEWS / packet.reviewer / packet.id
        )
        return Draft(folder=folder, system=self.system)

    def draft_of(self, path: Path) -> Opened | None:
        """The draft whose form a file is; None for a file from elsewhere."""
        for run in self.runs():
            folder = self.ledger.state_folder(run.suite, run.run) / REVIEWS
            parts = path.resolve().parts[-_DRAFT_DEPTH:]
            if len(parts) < _DRAFT_DEPTH or path.resolve() != folder.joinpath(*parts):
                continue
            waiting = self.reviews(run).waiting(parts[0])
            packet = next((one for one in waiting if one.id == parts[1]), None)
            if packet is not None:
                draft = self.draft(run, packet)
                return Opened(run=run, packet=packet, draft=draft, fresh=False, left=len(waiting))
        return None

    def packet_files(self, run: RunRef, packet: Packet) -> Mapping[str, bytes]:
        """What a packet consists of: the empty form, and what there is to judge.

        Raises:
            UserError: the rubric or the suite is not as the plan froze it.
            Refused, EnvironmentProblem: a control cannot be made here.
        """
        material = self.sources(run).material(packet.item)
        rubric = self.rubric(run)
        head = FormHead(
            run=run.path,
            packet=packet.id,
            reviewer=packet.reviewer,
            started=timestamp(self.system.now()),
        )
        return {
            PAGE: packet_page(packet.id, material, rubric),
            BRIEF: material.brief.encode(),
            CHANGE: plain_diff(material.files).encode("utf-8", "backslashreplace"),
            FORM: form(head, rubric, _BESIDE).encode(),
        }

    def sources(self, run: RunRef) -> Sources:
        """Where the content of a run's packets comes from."""
        return Sources(
            root=self.root,
            system=self.system,
            registry=self.registry,
            reader=self.reader,
            run=run,
            people=self.ledger.identity.name,
        )

    # --- files -------------------------------------------------------------------------------

    def check(self, path: Path, shown: str, *, draft: bool = False) -> Checked:
        """Everything that is wrong with a review file. A ``draft`` may lack what is filled in last.

        Raises:
            UserError: the file cannot be read at all.
        """
        text, problem = read_text(path, shown)
        if text is None:
            raise UserError(problems=[] if problem is None else [problem])
        return self.check_text(text, shown, draft=draft)

    def check_text(self, text: str, shown: str, *, draft: bool = False) -> Checked:
        """The same for a text."""
        document, problems = parse_document(text, shown)
        if document is None or not isinstance(document.data, dict):
            return Checked(review=None, problems=tuple(problems or [_no_form(shown)]), run=None)
        run = self._run_of(document.data)
        if run is None:
            known = [one.path for one in self.runs()]
            said = str(document.data.get("run") or "")
            hint = nearest(said, known) or _TOP
            message = f"there is no run {said!r} that people review" if said else "it names no run"
            at = ("run",) if "run" in document.data else ()
            found = document.problem(at, message, hint)
            return Checked(review=None, problems=(*problems, found), run=None)
        reviews = self.reviews(run)
        who = [
            document.problem((key,) if key in document.data else (), message, _TOP)
            for key, message in self._whose(run, document.data)
        ]
        expected = Expected(
            rubric=self.rubric(run),
            identity=self._identity(run, document.data),
            paths=None if who else self._paths(run, document.data),
            configurations=frozenset(reviews.packets.plan.configurations),
            draft=draft,
        )
        review, wrong = check_review(text, shown, expected)
        every = tuple(sorted({*who, *wrong}))
        return Checked(
            review=None if every else review,
            problems=every,
            run=run,
            configurations=tuple(reviews.packets.plan.configurations),
        )

    def submit(self, path: Path, shown: str, guess: Guess | None = None) -> Submitted:
        """Hand in a review that is in a file: one commit that adds one file.

        Raises:
            UserError: everything that is wrong with it; or it is handed in already, and another.
            EnvironmentProblem: the ledger cannot be written.
        """
        text, problem = read_text(path, shown)
        if text is None:
            raise UserError(problems=[] if problem is None else [problem])
        return self._hand_in(completed(text, self.system, guess, None), shown)

    def hand_in(self, opened: Opened, guess: Guess | None) -> Submitted:
        """Hand in a draft, and take it away when the ledger has it."""
        draft = opened.draft
        text, problem = read_text(draft.form, str(draft.form))
        if text is None:
            raise UserError(problems=[] if problem is None else [problem])
        # By the lines of the form, which are not those of what goes into the ledger.
        if problems := self.check_text(text, str(draft.form), draft=True).problems:
            raise UserError(problems=problems, hint=f"what you wrote is in {draft.form}")
        try:
            done = self._hand_in(draft.finished(text, guess), str(draft.form))
        except EnvironmentProblem as error:
            hint = f"what you wrote is in {draft.form}. {error.hint}"
            raise EnvironmentProblem(error.message, hint=hint) from error
        draft.remove()
        return done

    def _hand_in(self, text: str, shown: str) -> Submitted:
        checked = self.check_text(text, shown)
        review, run = checked.review, checked.run
        if review is None or run is None:
            raise UserError(problems=checked.problems)
        path = review_path(review.reviewer, review.packet)
        data = text.encode()
        if (there := self.reader.file(run, path)) is not None and there != data:
            raise UserError(
                f"{review.reviewer} has handed in a review of the packet {review.packet} already",
                hint="a review is never changed: what you think of it now goes into the "
                "reconciliation",
            )
        known = self.reviews(run)
        packet = known.packets.every(review.reviewer).get(review.packet)
        problem = closed_to(run, known, review.reviewer, packet)
        if problem and there is None:
            raise UserError(problem)
        commit = self.ledger.commit({f"runs/{run.path}/{path}": data}, review_message(review))
        self.forget()
        reviews = self.reviews(run)
        return Submitted(
            review=review,
            path=f"runs/{run.path}/{path}",
            commit=commit,
            left=len(reviews.waiting(review.reviewer)),
            sealed=reviews.sealed,
            warnings=tuple(self.ledger.warnings),
        )

    def forget(self) -> None:
        """Look at the ledger anew."""
        if self._reader is not None:
            self._reader.close()
        self._reader = None
        self._known.clear()

    def _run_of(self, data: Mapping[str, Any]) -> RunRef | None:
        suite, _, name = str(data.get("run") or "").partition("/")
        run = RunRef(suite, name)
        return run if run in self.runs() else None

    def _packet(self, run: RunRef, data: Mapping[str, Any]) -> Packet | None:
        reviewer = data.get("reviewer")
        if not isinstance(reviewer, str) or not re.fullmatch(REVIEWER_PATTERN, reviewer):
            return None
        packets = self.reviews(run).packets.of(reviewer)
        return next((one for one in packets if one.id == data.get("packet")), None)

    def _whose(self, run: RunRef, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        reviewer, packet = data.get("reviewer"), data.get("packet")
        if not isinstance(reviewer, str) or not re.fullmatch(REVIEWER_PATTERN, reviewer):
            return
        if reviewer == self.reviews(run).judgement.third:
            yield "reviewer", f"{reviewer} is the third reviewer, who reviews nothing alone"
        elif isinstance(packet, str) and self._packet(run, data) is None:
            yield "packet", f"`{packet}` is no packet of {reviewer} in {run.path}"

    def _identity(self, run: RunRef, data: Mapping[str, Any]) -> dict[str, str]:
        judgement = self.reviews(run).judgement
        known = {"rubric": judgement.rubric, "rubric_sha256": judgement.rubric_sha256}
        packet = self._packet(run, data)
        draft = None if packet is None else self.draft(run, packet)
        if draft is not None and draft.there and (started := draft.started):
            known["started"] = started
        return known

    def _paths(self, run: RunRef, data: Mapping[str, Any]) -> frozenset[str] | None:
        packet = self._packet(run, data)
        if packet is None:
            return None
        try:
            return self.sources(run).material(packet.item, checks=False).paths
        except TrialbookError:
            # What cannot be had here cannot be held against what a person wrote elsewhere.
            return None


def _no_form(shown: str) -> Problem:
    return Problem(path=shown, line=1, column=1, message="this is no review", hint=_TOP)
