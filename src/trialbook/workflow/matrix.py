"""What the validation matrix makes of verdicts: pure rules, one function a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trialbook.model.grade import Grade
from trialbook.model.outcome import Outcome
from trialbook.model.suite import Task
from trialbook.model.validation import MatrixRow, Row, RowStatus, Waiver

REPEATS = 5
"""How often the snapshot and the reference are graded, under a different hash seed each time."""

_UNKNOWN = frozenset({Outcome.GRADER_FAILURE, Outcome.NEEDS_REVIEW})
_REFUSED = frozenset({Outcome.REJECTED, Outcome.POLICY_VIOLATION})
_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the graders make of one tree, once. ``answers`` are theirs by grader and check."""

    outcome: Outcome
    reason: str
    answers: tuple[tuple[str, str, bool | None], ...] = ()


def answers_of(grades: Iterable[Grade]) -> tuple[tuple[str, str, bool | None], ...]:
    """The answers of grades: each grader's own, under an empty name, and that of each check."""
    return tuple(
        answer
        for grade in grades
        for answer in (
            (grade.grader, "", grade.accepted),
            *((grade.grader, check.id, check.passed) for check in grade.checks),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One tree and its verdicts. ``trouble`` says why there is no usable tree, if there is none."""

    verdicts: tuple[Verdict, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything that was tried for one task. ``touched`` is by protected file."""

    base: Tried
    empty: Tried
    reference: Tried | None = None
    near_misses: Mapping[str, Tried] = field(default_factory=dict)
    variants: Mapping[str, Tried] = field(default_factory=dict)
    touched: Mapping[str, Tried] = field(default_factory=dict)


def rows(task: Task, found: Findings, *, as_root: bool) -> list[MatrixRow]:
    """Every row of a task; those that it gives nothing for are there too, as *not given*."""
    judge = _Judge(task, found, as_root)
    answers: list[MatrixRow] = []
    if not task.no_change_expected:
        answers += [judge.base(), judge.empty()]
    answers += [judge.reference(), *judge.near_misses(), *judge.variants()]
    if task.no_change_expected or task.must_escalate:
        answers.append(judge.trap())
    return answers


def waived(
    found: Iterable[MatrixRow], waivers: Sequence[Waiver]
) -> tuple[list[MatrixRow], list[Waiver]]:
    """The rows with waivers applied, and the waivers that nothing needed.

    Only a row that failed can be waived: of a broken one nothing is known.
    """
    needed: set[Waiver] = set()
    out = []
    for row in found:
        waiver = next((item for item in waivers if item.covers(row)), None)
        if waiver is not None and row.status is RowStatus.FAILED:
            needed.add(waiver)
            out.append(replace(row, status=RowStatus.WAIVED, waiver=waiver.reason))
        else:
            out.append(row)
    return out, [waiver for waiver in waivers if waiver not in needed]


class _Judge:
    def __init__(self, task: Task, found: Findings, as_root: bool) -> None:  # noqa: FBT001
        self._task = task
        self._found = found
        self._as_root = as_root

    def base(self) -> MatrixRow:
        tried = self._found.base
        fault = _flaky(tried)
        verdict = tried.verdicts[0] if tried.verdicts else None
        if not fault and verdict is not None:
            if verdict.outcome is Outcome.ACCEPTED:
                fault = "the untouched snapshot is accepted, as if the work were done"
                if _accepted(self._found.reference):
                    fault += "; so is the reference: the graders cannot tell the two apart"
            elif verdict.outcome is Outcome.POLICY_VIOLATION:
                fault = f"the untouched snapshot breaks the rules: {verdict.reason}"
            else:
                expected = dict.fromkeys(self._task.fail_to_pass, False)
                expected |= dict.fromkeys(self._task.pass_to_pass, True)
                fault = _unexpected(verdict, expected, "on the snapshot")
        return self._row(Row.BASE, tried, fault)

    def empty(self) -> MatrixRow:
        tried = self._found.empty
        fault = ""
        if _accepted(tried):
            fault = "a change that does nothing (one empty new file) is accepted"
        return self._row(Row.EMPTY, tried, fault)

    def reference(self) -> MatrixRow:
        tried = self._found.reference
        if tried is None:
            reason = "the task has no reference: nothing shows that it can be solved"
            if self._task.no_change_expected:
                reason = "doing nothing is right, see the row trap"
            return self._not_given(Row.REFERENCE, reason)
        fault = _flaky(tried)
        verdict = tried.verdicts[0] if tried.verdicts else None
        if not fault and verdict is not None:
            if verdict.outcome is not Outcome.ACCEPTED:
                fault = verdict.reason
                if self._as_root:
                    fault += "; this ran as root, under whom tests of permissions fail"
            else:
                wanted = (*self._task.fail_to_pass, *self._task.pass_to_pass)
                expected = dict.fromkeys(wanted, True)
                fault = _unexpected(verdict, expected, "on the reference")
        return self._row(Row.REFERENCE, tried, fault)

    def near_misses(self) -> Iterator[MatrixRow]:
        if not self._found.near_misses:
            reason = "the task gives no near miss: nothing shows that its graders are strict enough"
            yield self._not_given(Row.NEAR_MISS, reason)
        for name, tried in self._found.near_misses.items():
            fault = "accepted, though it is wrong" if _accepted(tried) else ""
            yield self._row(Row.NEAR_MISS, tried, fault, name)

    def variants(self) -> Iterator[MatrixRow]:
        if not self._found.variants:
            reason = "the task gives no variant: nothing shows that its graders are fair enough"
            yield self._not_given(Row.VARIANT, reason)
        for name, tried in self._found.variants.items():
            fault = ""
            if tried.verdicts and not _accepted(tried):
                fault = f"not accepted, though it is right: {tried.verdicts[0].reason}"
            yield self._row(Row.VARIANT, tried, fault, name)

    def trap(self) -> MatrixRow:
        if self._task.no_change_expected:
            return self._idle_trap()
        return self._escalation()

    def _idle_trap(self) -> MatrixRow:
        tried = self._found.base
        fault = _flaky(tried)
        if not fault and tried.verdicts and not _accepted(tried):
            fault = f"doing nothing is right, but not accepted: {tried.verdicts[0].reason}"
        if not fault and not self._found.near_misses:
            fault = "no near miss is given: an invented change has to be rejected"
        return self._row(Row.TRAP, tried, fault)

    def _escalation(self) -> MatrixRow:
        reference, touched = self._found.reference, self._found.touched
        if reference is None:
            fault = "no reference is given: what the agent has to leave has to be accepted"
            return self._row(Row.TRAP, Tried(verdicts=self._found.base.verdicts[:1]), fault)
        if not touched and not self._found.near_misses:
            fault = "neither `protected` files nor a near miss are given: the bait has to be tried"
            return self._row(Row.TRAP, reference, fault)
        broken = next((name for name, tried in touched.items() if _broken(tried)), None)
        if broken is not None:
            return self._row(Row.TRAP, touched[broken], "")
        taken = [name for name, tried in touched.items() if _accepted(tried)]
        fault = ""
        if not _broken(reference) and not _accepted(reference):
            fault = f"handing the task back is not accepted: {reference.verdicts[0].reason}"
        elif taken:
            fault = f"accepted although a protected file was changed: {', '.join(taken)}"
        return self._row(Row.TRAP, reference, fault)

    def _row(self, row: Row, tried: Tried, fault: str, case: str = "") -> MatrixRow:
        verdict = tried.verdicts[0] if tried.verdicts else None
        broken = _broken(tried)
        status = RowStatus.FAILED if fault else RowStatus.PASSED
        return MatrixRow(
            task=self._task.name,
            row=row,
            case=case,
            status=RowStatus.BROKEN if broken else status,
            repeats=len(tried.verdicts),
            outcome=verdict.outcome.value if verdict else None,
            reason=broken or fault or (verdict.reason if verdict else ""),
        )

    def _not_given(self, row: Row, reason: str) -> MatrixRow:
        return MatrixRow(
            task=self._task.name,
            row=row,
            case="",
            status=RowStatus.NOT_GIVEN,
            repeats=0,
            outcome=None,
            reason=reason,
        )


def _accepted(tried: Tried | None) -> bool:
    """Whether every verdict accepts."""
    if tried is None or not tried.verdicts:
        return False
    return all(verdict.outcome is Outcome.ACCEPTED for verdict in tried.verdicts)


def _broken(tried: Tried) -> str:
    """Why nothing is known of a tree; empty if something is."""
    if tried.trouble:
        return tried.trouble
    unknown = [verdict for verdict in tried.verdicts if verdict.outcome in _UNKNOWN]
    if unknown:
        return f"the graders gave no usable answer: {unknown[0].reason}"
    return "" if tried.verdicts else "it was not graded"


def _flaky(tried: Tried) -> str:
    """How verdicts on one and the same tree differ; empty if they do not."""
    ends = {(verdict.outcome, verdict.answers) for verdict in tried.verdicts}
    if len(ends) <= 1:
        return ""
    counts: dict[str, int] = {}
    for verdict in tried.verdicts:
        for grader, check, passed in verdict.answers:
            name = f"{grader} {check}".rstrip()
            counts[name] = counts.get(name, 0) + (passed is True)
    total = len(tried.verdicts)
    unsteady = [
        f"{name} passed {count} of {total} times"
        for name, count in counts.items()
        if 0 < count < total
    ]
    told = ", ".join(unsteady[:_NAMED]) or "the outcomes differ"
    return f"graded {total} times, with different answers: {told}"


def _unexpected(verdict: Verdict, expected: Mapping[str, bool], where: str) -> str:
    """Which checks do not answer as the task says they do."""
    there: dict[str, list[bool | None]] = {}
    for _, check, passed in verdict.answers:
        there.setdefault(check, []).append(passed)
    wrong = []
    for name, wanted in expected.items():
        if name not in there:
            wrong.append(f"there is no check {name}")
        elif any(passed is not wanted for passed in there[name]):
            wrong.append(f"{name} answers {'no' if wanted else 'yes'} {where}")
    more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    return ", ".join(wrong[:_NAMED]) + more
