"""Reviews and reconciliations of a run: of which packets, by which rubric, and what they quote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from trialbook.formats.records import RecordError
from trialbook.model.digest import sha256
from trialbook.model.packets import Packet, Packets
from trialbook.model.review import Reconciliation, Review, Settled, disagreements
from trialbook.model.runfiles import FileKind, place_of, review_path
from trialbook.storage.reviews import read_reconciliation, read_review
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings
from trialbook.verify.trial import Checked, RunPlan


class Known(NamedTuple):
    """A review that can be read: its file in the run, its digest, what it says, of which packet."""

    path: str
    sha256: str
    review: Review
    packet: Packet | None


@dataclass(slots=True)
class ReviewAnswer:
    """What only history can decide: the reviews of each reconciliation, by paths in the run."""

    any: bool = False
    reconciled: dict[str, tuple[str, ...]] = field(default_factory=dict)


class ReviewCheck:
    """Checks what people said of one run."""

    def __init__(self, run: RunPlan, findings: Findings) -> None:
        self._run = run
        self._findings = findings
        self._known: dict[str, Known] = {}
        self._answer = ReviewAnswer()

    def check(self, checked: Mapping[str, Checked], contents: Mapping[str, bytes]) -> ReviewAnswer:
        """Check everything that can be seen without history.

        Args:
            checked: The trials by their folders.
            contents: The run's files outside of trials.
        """
        packets = Packets(
            plan=self._run.plan,
            plan_sha256=self._run.sha256,
            trials=tuple(one.trial for one in checked.values()),
        )
        self._reviews(packets, contents)
        for path, one in checked.items():
            for name, data in sorted(one.later.items()):
                place = place_of(f"{path}/{name}")
                if place is not None and place.kind is FileKind.RECONCILIATION:
                    self._reconciliation(path, f"{path}/{name}", place.id, data)
        self._answer.any = bool(self._known or self._answer.reconciled)
        return self._answer

    # --- reviews -----------------------------------------------------------------------------

    def _reviews(self, packets: Packets, contents: Mapping[str, bytes]) -> None:
        every: dict[str, dict[str, Packet]] = {}
        for path, data in sorted(contents.items()):
            place = place_of(path)
            if place is None or place.kind is not FileKind.PACKET_REVIEW:
                continue
            try:
                review = read_review(data, path)
            except RecordError as error:
                self._fault(Code.RECORD_UNREADABLE, error.message, path)
                continue
            if place.name not in every:
                every[place.name] = packets.every(place.name)
            packet = every[place.name].get(place.id)
            self._review(path, review, packet)
            self._known[path] = Known(path, sha256(data), review, packet)
        self._repeats(packets)

    def _review(self, path: str, review: Review, packet: Packet | None) -> None:
        plan = self._run.plan
        said = f"{review.run}/{review_path(review.reviewer, review.packet)}"
        if said != f"{plan.path}/{path}":
            self._fault(Code.RECORD_MISPLACED, f"it is the review {said}", path)
        judgement = plan.judgement
        if judgement is None or packet is None:
            detail = "the plan asks nobody" if judgement is None else "it is no packet of theirs"
            self._fault(Code.REVIEW_UNKNOWN, detail, path)
            return
        self._rubric(review, path)
        if review.reviewer == judgement.third:
            detail = f"{review.reviewer} is the third reviewer, and gets no packet"
            self._fault(Code.REVIEW_UNKNOWN, detail, path)
        questions = [one.question for one in review.answers]
        if len(questions) != len(set(questions)):
            self._fault(Code.REVIEW_DIFFERS, "it answers a question twice", path)
        first = next(iter(self._known.values()), None)
        if first is not None and set(questions) != {one.question for one in first.review.answers}:
            self._fault(Code.REVIEW_DIFFERS, f"{first.path} answers other questions", path)

    def _rubric(self, said: Review | Reconciliation, path: str) -> None:
        judgement = self._run.plan.judgement
        if judgement is None:
            return
        wanted = judgement.rubric, judgement.rubric_sha256
        if (said.rubric, said.rubric_sha256) != wanted:
            detail = (
                f"it is by {said.rubric} with sha256 {said.rubric_sha256}, planned is {wanted[0]} "
                f"with {wanted[1]}"
            )
            self._fault(Code.REVIEW_RUBRIC, detail, path)

    def _repeats(self, packets: Packets) -> None:
        """No more packets come twice than the plan may have asked for."""
        by_reviewer: dict[str, list[str]] = {}
        for one in self._known.values():
            if one.packet is not None and one.packet.repeat:
                by_reviewer.setdefault(one.review.reviewer, []).append(one.path)
        for reviewer, paths in sorted(by_reviewer.items()):
            most = packets.most_repeats()
            if len(paths) > most:
                detail = f"{reviewer} repeated {len(paths)}, and the plan asks for {most} at most"
                self._fault(Code.REVIEW_TWICE, detail, paths[-1])

    # --- reconciliations ---------------------------------------------------------------------

    def _reconciliation(self, trial: str, path: str, name: str, data: bytes) -> None:
        plan = self._run.plan
        try:
            record = read_reconciliation(data, path)
        except RecordError as error:
            self._fault(Code.RECORD_UNREADABLE, error.message, path)
            return
        said = f"{record.run}/{record.trial}/{record.id}"
        if said != f"{plan.path}/{trial}/{name}":
            self._fault(Code.RECORD_MISPLACED, f"it is the reconciliation {said}", path)
        self._rubric(record, path)
        found = self._originals(trial, record, path)
        self._answer.reconciled[path] = tuple(one.path for one in found)
        by_name = {one.review.reviewer: one.review for one in found}
        for item in record.items:
            problem = self._misquoted(item, by_name)
            if problem:
                self._fault(Code.RECONCILIATION_DIFFERS, problem, path)

    def _originals(self, trial: str, record: Reconciliation, path: str) -> list[Known]:
        found = []
        for original in record.reviews:
            known = self._known.get(review_path(original.reviewer, original.packet))
            about = known.packet if known is not None else None
            if known is None or about is None or about.item.trial != trial or about.repeat:
                detail = f"{original.reviewer} has no review {original.packet} of it"
                self._fault(Code.RECONCILIATION_EARLY, detail, path)
                continue
            if known.sha256 != original.sha256:
                detail = f"the review of {original.reviewer} has sha256 {known.sha256}"
                self._fault(Code.RECONCILIATION_DIFFERS, detail, path)
            found.append(known)
        judgement = self._run.plan.judgement
        wanted = 1 if judgement is None else judgement.reviewers
        if len({one.review.reviewer for one in found}) < wanted:
            detail = f"it has {len(found)} of {wanted} reviews"
            self._fault(Code.RECONCILIATION_EARLY, detail, path)
        return found

    def _misquoted(self, item: Settled, reviews: Mapping[str, Review]) -> str:
        """What an item says that the reviews do not; empty if all is as they say."""
        for quote in item.answers:
            review = reviews.get(quote.reviewer)
            if review is None:
                return f"{item.item}: it quotes {quote.reviewer}, whose review it does not name"
            real = review.answer(item.item), review.evidence(item.item)
            if (quote.answer, quote.evidence) != real:
                return f"{item.item}: {quote.reviewer} is quoted with {quote.answer}"
        if {one.reviewer for one in item.answers} != reviews.keys():
            return f"{item.item}: it does not quote every review"
        if item.item not in disagreements(tuple(reviews.values()), (item.item,)):
            return f"{item.item}: the reviews do not differ on it"
        return self._misdecided(item, reviews)

    def _misdecided(self, item: Settled, reviews: Mapping[str, Review]) -> str:
        """What is wrong with who moved, or who decided."""
        judgement = self._run.plan.judgement
        if unknown := set(item.moved) - reviews.keys():
            return f"{item.item}: {min(unknown)} moved, who has not reviewed it"
        third = judgement.third if judgement is not None else None
        if item.third is not None and item.third != third:
            return f"{item.item}: {item.third} decided, and the plan names {third or 'nobody'}"
        return ""

    def _fault(self, code: Code, detail: str, path: str) -> None:
        self._findings.fault(code, detail, path=f"{self._run.path}/{path}")
