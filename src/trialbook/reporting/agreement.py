"""How far reviewers agree: from the answers that each gave alone, before anybody talked about them.

What runs have in common is put together by rubric; two versions of a rubric are two rubrics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from trialbook.errors import UserError
from trialbook.model.review import UNKNOWN, UNRESOLVED, VERDICT, MoveReason, Reviewed
from trialbook.model.rubric import AnswerKind, Rubric
from trialbook.stats.agreement import (
    Agreement,
    Repeats,
    Scale,
    agreement,
    agreement_table,
    krippendorff_alpha,
    needs_rewording,
    repeats,
)
from trialbook.stats.interval import Interval, clopper_pearson, clopper_pearson_lower
from trialbook.storage.calibrations import rubric_at
from trialbook.storage.corrections import reviews_of
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.reviews import RunReviews, StoredReview

NEW_VERSION_AFTER = 3
"""So many times *rubric ambiguous* as the reason makes a new version of a question due."""

_PAIR = 2
_ANSWERS = tuple(kind.value for kind in AnswerKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAgreement:
    """Agreement on one question, or on the verdict.

    ``rewording`` says whether the question needs to be worded anew; None: too few units to tell.
    ``ambiguous`` counts how often reviewers found afterwards that it can be read in two ways.
    """

    item: str
    found: Agreement
    rewording: bool | None
    ambiguous: int

    @property
    def new_version_due(self) -> bool:
        """Whether reviewers stumbled over the wording often enough."""
        return self.ambiguous >= NEW_VERSION_AFTER


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """``count`` of ``total``."""

    count: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerCheck:
    """How far one reviewer can be relied on.

    ``repeats`` are packets that came twice without a word, by their verdicts; ``answers`` the same
    by single answers. ``good`` are known-good answers that they would merge, ``bad`` known-bad ones
    that they would not; ``trials`` the agents' changes that they would merge.
    """

    reviewer: str
    repeats: Repeats
    answers: Repeats
    good: Share
    bad: Share
    trials: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Blinding:
    """Whether reviewers could tell which configuration made a change.

    ``chance`` is the share that blind guesses would get right. ``failed`` says that they guess
    better than chance by more than luck (one-sided, 95 %).
    """

    guessed: Share
    unknown: int
    chance: Fraction | None
    interval: Interval | None
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A configuration's answers as they were settled: *yes* of *yes* and *no*.

    Questions that need rewording are not in it. ``open`` counts answers that nobody settled.
    """

    configuration: str
    yes: Share
    open: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricAgreement:
    """Everything about one version of a rubric. ``left_out`` are the questions not in a score."""

    rubric: Rubric
    runs: tuple[str, ...]
    reviewers: tuple[str, ...]
    items: tuple[ItemAgreement, ...]
    checks: tuple[ReviewerCheck, ...]
    blinding: Blinding
    scores: tuple[Score, ...]
    left_out: tuple[str, ...]
    unresolved: int


def agreements(root: Path, reader: Reader, runs: Sequence[RunRef]) -> list[RubricAgreement]:
    """How far the reviewers of some runs agree, by rubric.

    Raises:
        UserError: nobody is asked about a run, its reviews are sealed, or the rubric is gone.
    """
    by_rubric: dict[tuple[str, str], list[RunReviews]] = {}
    for run in runs:
        people = _opened(reader, run)
        judgement = people.judgement
        by_rubric.setdefault((judgement.rubric, judgement.rubric_sha256), []).append(people)
    found = []
    for (reference, digest), opened in sorted(by_rubric.items(), key=lambda one: one[0]):
        rubric = rubric_at(root, reader, reference, digest)
        if rubric is None:
            raise UserError(
                f"the rubric {reference} is not there as it was when it was used",
                hint="restore its file from git; a new wording gets the next number",
            )
        found.append(_agreement(rubric, opened))
    return found


def _opened(reader: Reader, run: RunRef) -> RunReviews:
    people = reviews_of(reader, run)
    if people is None:
        raise UserError(
            f"the plan of {run.path} asks nobody to review it",
            hint="say who judges under `judgement` in suite.yaml; it holds for later runs",
        )
    if people.sealed:
        raise UserError(
            f"the reviews of {run.path} are sealed until all reviewers are in",
            hint="`trialbook review status` says who has how much to go",
        )
    return people


def _agreement(rubric: Rubric, people: Sequence[RunReviews]) -> RubricAgreement:
    items = tuple(_items(rubric, people))
    left_out = tuple(one.item for one in items if one.rewording and one.item != VERDICT)
    reviewers = tuple(sorted({name for run in people for name in run.reviewers}))
    reviewed = list(_reviewed(people))
    return RubricAgreement(
        rubric=rubric,
        runs=tuple(sorted(run.packets.plan.path for run in people)),
        reviewers=reviewers,
        items=items,
        checks=tuple(_check(rubric, name, people) for name in reviewers),
        blinding=_blinding(people),
        scores=tuple(_scores(rubric, reviewed, left_out)),
        left_out=left_out,
        unresolved=sum(_is_unresolved(one, item) for _, one in reviewed for item in _all(rubric)),
    )


# --- agreement on items --------------------------------------------------------------------------


def _all(rubric: Rubric) -> list[str]:
    verdict = [VERDICT] if rubric.verdicts else []
    return [*(one.id for one in rubric.questions), *verdict]


def _items(rubric: Rubric, people: Sequence[RunReviews]) -> Iterator[ItemAgreement]:
    ambiguous = Counter(
        item.item
        for run in people
        for records in run.reconciliations.values()
        for record in records
        for item in record.items
        if item.reason is MoveReason.RUBRIC_AMBIGUOUS
    )
    originals = [run.originals(trial.path) for run in people for trial in run.packets.trials]
    for item in _all(rubric):
        units = [
            tuple(answer for one in stored if (answer := one.review.answer(item)) is not None)
            for stored in originals
        ]
        found = _measured(units, _categories(rubric, item, units), ordered=item == VERDICT)
        yield ItemAgreement(
            item=item,
            found=found,
            rewording=needs_rewording(found),
            ambiguous=ambiguous[item],
        )


def _categories(rubric: Rubric, item: str, units: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """All that may be said, whether or not anybody did; *not applicable* where it can apply."""
    question = rubric.question(item)
    if question is None:
        return rubric.verdicts
    said = {answer for unit in units for answer in unit}
    may = question.applies_to is not None or AnswerKind.NOT_APPLICABLE in said
    return _ANSWERS if may else (AnswerKind.YES.value, AnswerKind.NO.value)


def _measured(
    units: Sequence[tuple[str, ...]], categories: Sequence[str], *, ordered: bool
) -> Agreement:
    """The first two of each unit, by the reviewers' names, make the table; alpha is of all."""
    pairs = [(unit[0], unit[1]) for unit in units if len(unit) >= _PAIR]
    found = agreement(agreement_table(pairs, categories), ordered=ordered)
    if all(len(unit) <= _PAIR for unit in units):
        return found
    return replace(
        found,
        alpha=krippendorff_alpha(units, categories),
        alpha_ordinal=krippendorff_alpha(units, categories, Scale.ORDINAL) if ordered else None,
    )


# --- reviewers -----------------------------------------------------------------------------------


def _check(rubric: Rubric, reviewer: str, people: Sequence[RunReviews]) -> ReviewerCheck:
    twice: list[tuple[StoredReview, StoredReview]] = []
    seen: dict[str, list[bool]] = {"good": [], "bad": [], "trials": []}
    for run in people:
        mine = [one for one in run.stored if one.review.reviewer == reviewer and one.packet]
        first = {one.packet.item: one for one in mine if one.packet and not one.packet.repeat}
        twice += [
            (first[one.packet.item], one)
            for one in mine
            if one.packet is not None and one.packet.repeat and one.packet.item in first
        ]
        for item, one in first.items():
            merges = bool(rubric.verdicts) and one.review.verdict == rubric.verdicts[0]
            kind = {None: "trials", True: "good", False: "bad"}[item.known_good]
            seen[kind].append(not merges if kind == "bad" else merges)
    verdicts = [[one.review.verdict or "" for one in pair] for pair in twice]
    answers = [
        [one.review.answer(question.id) or "" for one in pair]
        for pair in twice
        for question in rubric.questions
    ]
    return ReviewerCheck(
        reviewer=reviewer,
        repeats=repeats(verdicts),
        answers=repeats(answers),
        good=_share(seen["good"]),
        bad=_share(seen["bad"]),
        trials=_share(seen["trials"]),
    )


def _blinding(people: Sequence[RunReviews]) -> Blinding:
    right, chances, unknown = [], [], 0
    for run in people:
        made = {trial.path: trial.configuration for trial in run.packets.trials}
        configurations = len(run.packets.plan.configurations)
        for one in run.stored:
            guess, packet = one.review.guess, one.packet
            if guess is None or packet is None or packet.repeat or not packet.item.trial:
                continue
            if guess.configuration == UNKNOWN:
                unknown += 1
                continue
            right.append(made.get(packet.item.trial) == guess.configuration)
            chances.append(Fraction(1, max(configurations, 1)))
    guessed = _share(right)
    chance = sum(chances, Fraction(0)) / len(chances) if chances else None
    failed = chance is not None and clopper_pearson_lower(guessed.count, guessed.total, 0.05) > (
        float(chance)
    )
    return Blinding(
        guessed=guessed,
        unknown=unknown,
        chance=chance,
        interval=clopper_pearson(guessed.count, guessed.total) if guessed.total else None,
        failed=failed,
    )


# --- scores --------------------------------------------------------------------------------------


def _reviewed(people: Sequence[RunReviews]) -> Iterator[tuple[str, Reviewed]]:
    """Every trial that people reviewed, with suite and configuration."""
    for run in people:
        for trial in run.packets.trials:
            reviewed = run.of_trial(trial.path)
            if reviewed is not None and reviewed.reviews:
                yield f"{trial.suite}/{trial.configuration}", reviewed


def _scores(
    rubric: Rubric, reviewed: Iterable[tuple[str, Reviewed]], left_out: Sequence[str]
) -> Iterator[Score]:
    questions = [one.id for one in rubric.questions if one.id not in left_out]
    by_configuration: dict[str, Counter[str | None]] = {}
    for name, one in reviewed:
        counted = by_configuration.setdefault(name, Counter())
        counted.update(_final(one, question) for question in questions)
    for name, counted in sorted(by_configuration.items()):
        yes, no = counted[AnswerKind.YES], counted[AnswerKind.NO]
        yield Score(
            configuration=name,
            yes=Share(count=yes, total=yes + no),
            open=counted[None] + counted[UNRESOLVED],
        )


def _final(reviewed: Reviewed, item: str) -> str | None:
    """What reviewers answer in the end; None where they differ and have not settled it."""
    said = {one.answer(item) for one in reviewed.reviews}
    if len(said) == 1:
        return said.pop()
    settled = reviewed.settled(item)
    return None if settled is None else settled.final


def _is_unresolved(reviewed: Reviewed, item: str) -> bool:
    return _final(reviewed, item) == UNRESOLVED


def _share(found: Sequence[bool]) -> Share:
    return Share(count=sum(found), total=len(found))
