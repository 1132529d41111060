"""What people say of a change: one reviewer's answers to a rubric, and what several make of them.

Rules, for everybody who reads or checks one:

- ``reviews/<reviewer>/<packet>.yaml`` is one person's review of one packet. It is written once and
  names no trial: `trialbook.model.packets` knows which one it is about.
- ``<trial>/reconciliations/<id>.yaml`` is what the reviewers of a trial made of the answers on
  which they differ. It quotes them as they are in the reviews, which stay. Where several speak of
  the same item, the last by ``created`` and ``id`` stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trialbook.model.rubric import MERGE, AnswerKind

VERDICT = "verdict"
"""The item of a reconciliation that is the verdict; every other one is the id of a question."""

UNRESOLVED = "unresolved"
"""What an item is that reviewers cannot settle. It is counted as such, never as *no*."""

UNKNOWN = "unknown"
"""What a reviewer says who has no idea which configuration made a change."""


class MoveReason(StrEnum):
    """Why reviewers differed, as they see it afterwards."""

    MISSED_FACT = "missed_fact"
    RUBRIC_AMBIGUOUS = "rubric_ambiguous"
    TASTE = "taste"
    TASK_UNCLEAR = "task_unclear"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANING[self]


_MEANING = {
    MoveReason.MISSED_FACT: "Somebody had not seen something that is there.",
    MoveReason.RUBRIC_AMBIGUOUS: "The question can be read in two ways.",
    MoveReason.TASTE: "It is a matter of preference.",
    MoveReason.TASK_UNCLEAR: "The brief does not say what is wanted.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one question, with what shows it: places of the diff, checks, files."""

    question: str
    answer: AnswerKind
    evidence: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFinding:
    """Something that has to change: where (a place of the diff, if it has one), and what."""

    where: str = ""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """Which configuration a reviewer takes for the author, asked after the answers.

    ``configuration`` may be `UNKNOWN`; ``sure`` is in percent.
    """

    configuration: str
    sure: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One person's review of one packet. ``run`` is ``<suite>/<run>``; times are UTC.

    ``verdict`` is None where the rubric asks for none, ``guess`` where nobody asked.
    """

    schema: str = "trialbook/review/1"
    run: str
    packet: str
    reviewer: str
    rubric: str
    rubric_sha256: str
    started: str
    answers: tuple[Answer, ...]
    verdict: str | None = None
    findings: tuple[ReviewFinding, ...] = ()
    minutes: float
    guess: Guess | None = None
    submitted: str

    def answer(self, item: str) -> str | None:
        """What it says to a question, by id, or as `VERDICT`; None if it says nothing."""
        if item == VERDICT:
            return self.verdict
        return next((one.answer.value for one in self.answers if one.question == item), None)

    def evidence(self, item: str) -> tuple[str, ...]:
        """What it points at: of the verdict, where the findings are."""
        if item == VERDICT:
            return tuple(one.where for one in self.findings if one.where)
        return next((one.evidence for one in self.answers if one.question == item), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """A review that a reconciliation is about: whose, of which packet, and its file's digest."""

    reviewer: str
    packet: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """What one reviewer had answered, and with which evidence."""

    reviewer: str
    answer: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """One item on which reviewers differed, and what became of it.

    ``item`` is a question's id or `VERDICT`. ``final`` is an answer or `UNRESOLVED`. ``moved``
    names the reviewers whose answer is not the final one any more; it is empty if nobody moved.
    ``third`` is set if the third reviewer decided.
    """

    item: str
    answers: tuple[Quoted, ...]
    final: str
    moved: tuple[str, ...] = ()
    third: str | None = None
    reason: MoveReason
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """What the reviewers of a trial settled. ``minutes`` is the time that it took each of them."""

    schema: str = "trialbook/reconciliation/1"
    id: str
    run: str
    trial: str
    rubric: str
    rubric_sha256: str
    reviews: tuple[Original, ...]
    participants: tuple[str, ...]
    items: tuple[Settled, ...]
    minutes: float
    created: str


class Agreed(StrEnum):
    """How a trial's verdict came about."""

    EQUAL = "equal"
    RECONCILED = "reconciled"
    UNRESOLVED = "unresolved"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What reviewers make of a trial: their originals, and the verdict that counts.

    ``sealed`` says that not all reviewers of the run are in: then nothing else is known.
    ``verdict`` is None unless the reviewers agree, at once or afterwards.
    """

    sealed: bool = False
    reviews: tuple[Review, ...] = ()
    reconciliations: tuple[Reconciliation, ...] = ()
    verdict: str | None = None
    agreed: Agreed = Agreed.OPEN

    @property
    def merges(self) -> bool | None:
        """Whether they would merge; None while that is not settled."""
        return None if self.verdict is None else self.verdict == MERGE

    @property
    def minutes(self) -> float:
        """Minutes of all people, talking about it included."""
        talked = sum(one.minutes * len(one.participants) for one in self.reconciliations)
        return sum(one.minutes for one in self.reviews) + talked

    def settled(self, item: str) -> Settled | None:
        """What a reconciliation made of an item; the last that speaks of it stands."""
        return next(
            (
                one
                for record in reversed(self.reconciliations)
                for one in record.items
                if one.item == item
            ),
            None,
        )


def reviewed_of(
    reviews: tuple[Review, ...], reconciliations: tuple[Reconciliation, ...], wanted: int
) -> Reviewed:
    """What the independent reviews of a trial and later reconciliations come to.

    Args:
        reviews: Each reviewer's first review of the trial.
        reconciliations: Those of the trial, in any order.
        wanted: How many reviewers the plan asks for.
    """
    ordered = tuple(sorted(reconciliations, key=lambda one: (one.created, one.id)))
    found = Reviewed(reviews=reviews, reconciliations=ordered)
    said = {one.verdict for one in reviews}
    settled = found.settled(VERDICT)
    verdict, agreed = None, Agreed.OPEN
    if len(reviews) >= wanted and len(said) == 1:
        (verdict,) = said
        agreed = Agreed.EQUAL if verdict is not None else Agreed.OPEN
    elif settled is not None and len(reviews) >= wanted:
        unresolved = settled.final == UNRESOLVED
        verdict = None if unresolved else settled.final
        agreed = Agreed.UNRESOLVED if unresolved else Agreed.RECONCILED
    return Reviewed(reviews=reviews, reconciliations=ordered, verdict=verdict, agreed=agreed)


def disagreements(reviews: tuple[Review, ...], questions: tuple[str, ...]) -> list[str]:
    """The items on which reviews of one trial differ, in that order, the verdict last."""
    items = dict.fromkeys((*questions, VERDICT))
    return [item for item in items if len({review.answer(item) for review in reviews}) > 1]
