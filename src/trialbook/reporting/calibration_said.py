"""A judge against people in words: the table of errors, the rates, and each case where they differ.

Used by the terminal and the site alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trialbook.formats.records import from_json
from trialbook.model.calibration import Cited, Errors, JudgedChange, Label, Numbers, Rate
from trialbook.model.grade import Grade
from trialbook.model.review import Review
from trialbook.model.rubric import AnswerKind
from trialbook.model.trust import JudgeUse, TrustLevel, allows
from trialbook.reporting.wording import percent
from trialbook.stats.calibrated import confusion_of
from trialbook.stats.interval import Interval
from trialbook.storage.reader import Reader
from trialbook.storage.reviews import read_review

USES = {
    TrustLevel.UNCALIBRATED: "its verdicts are opinions, and decide and count nowhere",
    TrustLevel.ADVISORY: "its findings count, its corrected rate is shown; it decides nothing",
    TrustLevel.GATING: "it may decide whether a trial is accepted",
}
"""What each level lets a judge be used for, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One change on which judge and people differ, with what each of them points at.

    ``critical`` says that the judge accepted what people refused for a critical question.
    """

    trial: str
    people: str
    judge: str
    critical: bool
    people_said: tuple[str, ...]
    judge_said: tuple[str, ...]
    note: str


def differences(
    reader: Reader, judged: Sequence[JudgedChange], labels: Sequence[Label]
) -> list[Difference]:
    """Every change on which they differ, in order of its name."""
    said = {one.trial: one for one in judged}
    found = []
    for label in labels:
        change = said[label.trial]
        if label.accepted == change.accepted:
            continue
        found.append(
            Difference(
                trial=label.trial,
                people=label.verdict,
                judge=change.verdict,
                critical=bool(label.refused) and change.accepted,
                people_said=tuple(_people_said(reader, label)),
                judge_said=tuple(_judge_said(reader, change.grades[-1])),
                note="" if label.note is None else f"{label.note.text} ({label.note.author})",
            )
        )
    return found


def errors_said(errors: Errors) -> list[tuple[str, str]]:
    """The rates of a table of errors, each with its counts and its exact interval."""
    found = confusion_of(errors)
    kappa = found.kappa
    return [
        ("agreement", share_said(found.agreeing, found.labelled)),
        ("kappa", "not defined" if kappa is None else f"{float(kappa):.3f}"),
        ("TPR", _rate_said(found.true_accepts, found.accepts, found.tpr_interval())),
        ("TNR", _rate_said(found.true_rejects, found.rejects, found.tnr_interval())),
    ]


def rate_said(rate: Rate) -> str:
    """A corrected rate with what it comes from: ``70/100 accepted, 67.5 % [38.5 %, 100.0 %]``."""
    if not rate.judged:
        return "every change that it judged has a label, so there is nothing to correct"
    counts = f"{rate.accepted}/{rate.judged} accepted"
    if rate.rate is None:
        return f"{counts}; not corrected: {rate.because}"
    if rate.low is None or rate.high is None:
        within = f" (no interval: {rate.because})"
    else:
        within = f" [{_percent(rate.low)}, {_percent(rate.high)}]"
    clipped = "; moved to the end: the errors do not fit these changes" if rate.clipped else ""
    return f"{counts}, corrected {_percent(rate.rate)}{within} by {rate.method}{clipped}"


def rates_to_show(numbers: Numbers) -> tuple[Rate, ...]:
    """The rates that may be shown: those of a judge that is trusted so far, else none."""
    return numbers.rates if allows(numbers.level, JudgeUse.CORRECTED_RATE) else ()


def share_said(count: int, total: int) -> str:
    """A share with its counts: ``17/20 (85.0 %)``."""
    return f"{count}/{total} ({percent(Fraction(count, total))})" if total else f"{count}/{total}"


def _rate_said(count: int, total: int, interval: Interval | None) -> str:
    said = share_said(count, total)
    if interval is None:
        return said
    return f"{said} [{_percent(interval.low)}, {_percent(interval.high)}] Clopper-Pearson"


def _percent(share: float) -> str:
    return percent(Fraction(share).limit_denominator(1_000_000))


def _people_said(reader: Reader, label: Label) -> Iterator[str]:
    for cited in label.reviews:
        data = reader.ledger_file(cited.path)
        if data is None:
            yield _gone(cited)
            continue
        review = read_review(data, cited.path)
        yield f"{review.reviewer}: {review.verdict}"
        yield from (f"  {line}" for line in _review_said(review))


def _gone(cited: Cited) -> str:
    """What is said of a record that the calibration names and the ledger lacks; see `verify`."""
    return f"{cited.path} is not in this ledger"


def _review_said(review: Review) -> Iterator[str]:
    for answer in review.answers:
        if answer.answer is AnswerKind.NO:
            where = ", ".join(answer.evidence)
            said = f"no to {answer.question}" + (f" at {where}" if where else "")
            yield said + (f": {answer.note}" if answer.note else "")
    for finding in review.findings:
        yield f"{finding.where}: {finding.text}" if finding.where else finding.text


def _judge_said(reader: Reader, cited: Cited) -> Iterator[str]:
    data = reader.ledger_file(cited.path)
    if data is None:
        yield _gone(cited)
        return
    grade = from_json(Grade, data, cited.path)
    yield grade.message
    judgement = grade.judgement
    if judgement is None:
        return
    seen: set[tuple[str, str]] = set()
    for vote in judgement.votes:
        for one in vote.findings:
            if (one.question, one.quote) in seen:
                continue
            seen.add((one.question, one.quote))
            line = f":{one.line}" if one.line is not None else ""
            bare = "" if one.supported else " (its quote is not in the diff)"
            yield f"  {one.question} at {one.file}{line}: {one.text}{bare}"
            yield from (f"    {quoted}" for quoted in one.quote.splitlines())
