"""What people said of a run: reviews, reconciliations, and whether they may be looked at yet.

Reviews stay sealed until as many reviewers as the plan asks for have handed in every packet of
theirs. Until then nothing that counts or shows takes anything from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from trialbook.formats.records import RecordError
from trialbook.model.digest import sha256
from trialbook.model.packets import Packet, Packets
from trialbook.model.plan import PlannedJudgement
from trialbook.model.review import Reconciliation, Review, Reviewed, reviewed_of
from trialbook.model.runfiles import RECONCILIATIONS, REVIEWS, FileKind, place_of
from trialbook.model.trial import Trial
from trialbook.storage.authored_records import read_authored
from trialbook.storage.reader import Reader
from trialbook.storage.runname import RunRef


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReview:
    """A review on record: its path in the run, its file's digest, what it says, and of what.

    ``packet`` is None for a packet that the run does not have.
    """

    path: str
    sha256: str
    review: Review
    packet: Packet | None


@dataclass(frozen=True, kw_only=True)
class RunReviews:
    """Everything that people said of the trials of a run.

    ``closed`` says whether the run's results are written: before that, nobody knows yet what there
    is to review.
    """

    closed: bool
    judgement: PlannedJudgement
    packets: Packets
    stored: tuple[StoredReview, ...]
    reconciliations: Mapping[str, tuple[Reconciliation, ...]]

    @cached_property
    def reviewers(self) -> tuple[str, ...]:
        """Who has handed in anything, the third reviewer left out."""
        names = {one.review.reviewer for one in self.stored}
        return tuple(sorted(names - {self.judgement.third}))

    def handed_in(self, reviewer: str) -> frozenset[str]:
        """The packets that a reviewer has handed in."""
        return frozenset(
            one.review.packet for one in self.stored if one.review.reviewer == reviewer
        )

    def waiting(self, reviewer: str) -> tuple[Packet, ...]:
        """The packets that wait for a reviewer, in order."""
        done = self.handed_in(reviewer)
        return tuple(one for one in self.packets.of(reviewer) if one.id not in done)

    @cached_property
    def complete(self) -> tuple[str, ...]:
        """The reviewers who have handed in every packet of theirs."""
        return tuple(name for name in self.reviewers if not self.waiting(name))

    def independent(self, packet: Packet) -> bool:
        """Whether an answer given now can owe nothing to those of others."""
        return self.sealed or not any(
            one.packet is not None and one.packet.item == packet.item for one in self.stored
        )

    @cached_property
    def sealed(self) -> bool:
        """Whether nobody may look at what others answered."""
        if not self.closed:
            return True
        return len(self.complete) < self.judgement.reviewers and not self.reconciliations

    def originals(self, trial: str) -> tuple[StoredReview, ...]:
        """Each reviewer's first review of a trial, by the reviewer's name."""
        return self._originals.get(trial, ())

    @cached_property
    def _originals(self) -> Mapping[str, tuple[StoredReview, ...]]:
        found: dict[str, list[StoredReview]] = {}
        for one in self.stored:
            packet = one.packet
            if packet is None or packet.repeat or one.review.reviewer == self.judgement.third:
                continue
            if packet.item.trial:
                found.setdefault(packet.item.trial, []).append(one)
        return {
            trial: tuple(sorted(reviews, key=lambda one: one.review.reviewer))
            for trial, reviews in found.items()
        }

    def of_trial(self, trial: str) -> Reviewed | None:
        """What reviewers make of a trial; None if nobody has it to review."""
        stored = self.originals(trial)
        if not stored and trial not in self._wanted:
            return None
        if self.sealed or len(stored) < self.judgement.reviewers:
            return Reviewed(sealed=True)
        return reviewed_of(
            tuple(one.review for one in stored),
            self.reconciliations.get(trial, ()),
            self.judgement.reviewers,
        )

    @cached_property
    def _wanted(self) -> frozenset[str]:
        return frozenset(packet.item.trial for packet in self.packets.of("") if packet.item.trial)

    def minutes_elsewhere(self) -> float:
        """Minutes that went into controls and repeats; 0 while the reviews are sealed."""
        if self.sealed:
            return 0.0
        return sum(
            one.review.minutes
            for one in self.stored
            if one.packet is not None and (one.packet.repeat or not one.packet.item.trial)
        )


def run_reviews(reader: Reader, run: RunRef, trials: Iterable[Trial]) -> RunReviews | None:
    """What people said of a run; None if its plan asks nobody.

    Args:
        reader: The ledger.
        run: The run.
        trials: Its trials as they stand without people.

    Raises:
        RecordError: a review or a reconciliation that cannot be read.
    """
    plan = reader.plan(run)
    if plan.judgement is None:
        return None
    known = tuple(trials)
    packets = Packets(plan=plan, plan_sha256=sha256(reader.plan_bytes(run)), trials=known)
    names = (trial.path for trial in known)
    reconciled = {path: reconciliations(reader, run, path) for path in names}
    return RunReviews(
        closed=reader.is_closed(run),
        judgement=plan.judgement,
        packets=packets,
        stored=tuple(_stored(reader, run, packets)),
        reconciliations={path: found for path, found in reconciled.items() if found},
    )


def reconciliations(reader: Reader, run: RunRef, trial: str) -> tuple[Reconciliation, ...]:
    """The reconciliations of a trial, oldest first.

    Raises:
        RecordError: one that cannot be read.
    """
    folder = f"{trial}/{RECONCILIATIONS}"
    found = []
    for name in reader.names(run, folder):
        place = place_of(f"{folder}/{name}")
        if place is not None and place.kind is FileKind.RECONCILIATION:
            data = reader.file(run, f"{folder}/{name}") or b""
            found.append(read_reconciliation(data, f"runs/{run.path}/{folder}/{name}"))
    return tuple(sorted(found, key=lambda one: (one.created, one.id)))


def read_review(data: bytes, shown: str) -> Review:
    """The review that a file holds.

    Raises:
        RecordError: it cannot be read as one.
    """
    return read_authored(data, shown, Review, "review")


def read_reconciliation(data: bytes, shown: str) -> Reconciliation:
    """The reconciliation that a file holds.

    Raises:
        RecordError: it cannot be read as one.
    """
    return read_authored(data, shown, Reconciliation, "reconciliation")


def _stored(reader: Reader, run: RunRef, packets: Packets) -> Iterable[StoredReview]:
    for reviewer in reader.names(run, REVIEWS):
        known: Mapping[str, Packet] | None = None
        for name in reader.names(run, f"{REVIEWS}/{reviewer}"):
            path = f"{REVIEWS}/{reviewer}/{name}"
            place = place_of(path)
            if place is None or place.kind is not FileKind.PACKET_REVIEW:
                continue
            known = packets.every(reviewer) if known is None else known
            data = reader.file(run, path) or b""
            review = read_review(data, f"runs/{run.path}/{path}")
            if (review.reviewer, review.packet) != (reviewer, place.id):
                said = f"{review.reviewer}'s review of {review.packet}"
                raise RecordError(f"runs/{run.path}/{path}: it is {said}")
            packet = known.get(place.id)
            yield StoredReview(path=path, sha256=sha256(data), review=review, packet=packet)
