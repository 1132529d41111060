"""Walks reviewers through what they differ on, and puts on record what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Problem, UserError
from trialbook.formats.authored import read_text
from trialbook.model.digest import sha256
from trialbook.model.generation import Generation
from trialbook.model.packets import Item
from trialbook.model.review import Original, Reconciliation
from trialbook.model.runfiles import RECONCILIATIONS, reconciliation_path
from trialbook.review.form import without_our_comments
from trialbook.review.plain_diff import plain_diff
from trialbook.review.reconcile_form import (
    Differing,
    check_reconciliation,
    completed_reconciliation,
    differing_items,
    reconcile_form,
)
from trialbook.site.packet_page import packet_page
from trialbook.storage.messages import reconciliation_message
from trialbook.storage.reader import RunRef
from trialbook.storage.reviews import RunReviews, read_reconciliation
from trialbook.system import timestamp
from trialbook.workflow.results import one_corrects, refresh_results
from trialbook.workflow.review_drafts import BRIEF, CHANGE, FORM, PAGE, Draft
from trialbook.workflow.reviewing import Desk

_BESIDE = f"The packet is beside this file: {PAGE} for a browser, or {BRIEF} and {CHANGE}."
_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDifference:
    """A trial on which reviewers differ, under a name that does not say which it is."""

    name: str
    trial: str
    differing: Differing
    draft: Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """What was put on record."""

    record: Reconciliation
    commit: str


@dataclass(slots=True)
class Table:
    """Where the reviewers of one run sit together."""

    desk: Desk
    run: RunRef

    def reviews(self) -> RunReviews:
        """What they said.

        Raises:
            UserError: not all of them are in, so that nobody may look yet.
        """
        reviews = self.desk.reviews(self.run)
        if reviews.sealed:
            state = [
                f"{name} has {len(reviews.waiting(name))} to go"
                for name in reviews.reviewers
                if reviews.waiting(name)
            ]
            state += [f"{name} is in" for name in reviews.complete]
            raise UserError(
                f"the reviews of {self.run.path} are sealed: the plan asks for "
                f"{reviews.judgement.reviewers} reviewers with everything in; "
                f"{', '.join(state) or 'nobody has begun'}",
                hint="`trialbook review next --reviewer NAME` goes on",
            )
        return reviews

    def waiting(self) -> list[OpenedDifference]:
        """The trials on which reviewers differ and nothing is on record yet, in no telling order.

        Raises:
            UserError: the reviews are sealed.
        """
        reviews = self.reviews()
        rubric = self.desk.rubric(self.run)
        found = []
        for trial in (one.path for one in reviews.packets.trials):
            stored = reviews.originals(trial)
            records = reviews.reconciliations.get(trial, ())
            known = {one.item for record in records for one in record.items}
            said = tuple(one.review for one in stored)
            items = tuple(one for one in differing_items(said, rubric) if one not in known)
            if len(stored) < reviews.judgement.reviewers or not items:
                continue
            originals = tuple(
                Original(reviewer=one.review.reviewer, packet=one.review.packet, sha256=one.sha256)
                for one in stored
            )
            differing = Differing(
                run=self.run.path,
                reviews=said,
                originals=originals,
                items=items,
                rubric=rubric,
                third=reviews.judgement.third,
            )
            found.append(self._opened(trial, differing))
        return sorted(found, key=lambda one: one.name)

    def lay_out(self, opened: OpenedDifference) -> None:
        """Make the draft with its packet, unless it is there.

        Raises:
            EnvironmentProblem: it cannot be made or written here.
        """
        opened.draft.make(lambda: self._files(opened))

    def check(self, opened: OpenedDifference, path: Path) -> tuple[Problem, ...]:
        """What is wrong with a form."""
        text, problem = read_text(path, str(path))
        if text is None:
            return () if problem is None else (problem,)
        return tuple(check_reconciliation(text, str(path), opened.differing))

    def settle(self, opened: OpenedDifference, path: Path) -> Reconciled:
        """Put a form on record, and take the draft away when the ledger has it.

        Raises:
            UserError: everything that is wrong with it.
            EnvironmentProblem: the ledger cannot be written.
        """
        if problems := self.check(opened, path):
            raise UserError(problems=problems, hint=f"what you wrote is in {path}")
        text, _ = read_text(path, str(path))
        system = self.desk.system
        name = system.unique_name()
        values = {
            "id": name,
            "trial": opened.trial,
            "minutes": opened.draft.minutes,
            "created": timestamp(system.now()),
        }
        template = reconcile_form(opened.differing, _BESIDE)
        shorter = without_our_comments(text or "", template)
        data = completed_reconciliation(shorter, opened.differing, values).encode()
        record = read_reconciliation(data, str(path))
        target = f"runs/{self.run.path}/{reconciliation_path(opened.trial, name)}"
        try:
            commit = self.desk.ledger.commit({target: data}, reconciliation_message(record))
        except EnvironmentProblem as error:
            hint = f"what you wrote is in {path}. {error.hint}"
            raise EnvironmentProblem(error.message, hint=hint) from error
        opened.draft.remove()
        self.desk.forget()
        return Reconciled(record=record, commit=commit)

    def close(self) -> Generation | None:
        """Make the results of a closed run again, now that the reviews are open.

        Raises:
            UserError: the reviews are sealed.
            EnvironmentProblem: the ledger cannot be written.
        """
        self.reviews()
        desk = self.desk
        with one_corrects(desk.ledger, self.run):
            why = "the reviews are open"
            return refresh_results(desk.root, desk.ledger, self.run, why, desk.system)

    def _opened(self, trial: str, differing: Differing) -> OpenedDifference:
        packets = ":".join(one.packet for one in differing.originals)
        name = sha256(packets.encode())[:_DIGITS]
        folder = self.desk.ledger.state_folder(self.run.suite, self.run.run)
        draft = Draft(folder=folder / RECONCILIATIONS / name, system=self.desk.system)
        return OpenedDifference(name=name, trial=trial, differing=differing, draft=draft)

    def _files(self, opened: OpenedDifference) -> dict[str, bytes]:
        item = Item(task=opened.trial.partition("/")[0], trial=opened.trial)
        material = self.desk.sources(self.run).material(item)
        return {
            PAGE: packet_page(opened.name, material, opened.differing.rubric),
            BRIEF: material.brief.encode(),
            CHANGE: plain_diff(material.files).encode("utf-8", "backslashreplace"),
            FORM: reconcile_form(opened.differing, _BESIDE).encode(),
        }
