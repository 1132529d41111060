"""What a run came to, for pages that show many runs: its answer, what it waits for, what it had.

Worked out once for as long as nothing is added to the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trialbook.model.outcome import NOT_RUN, Outcome
from trialbook.model.plan import Plan
from trialbook.model.suite import Split
from trialbook.reporting.comparability import invalidated, obstacles
from trialbook.reporting.comparison_said import answer, needed
from trialbook.reporting.report_decision import compared
from trialbook.reporting.results import RunResults, load_results
from trialbook.reporting.wording import number_of, words
from trialbook.storage.reader import Reader, RunRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A configuration as one run's plan had it."""

    name: str
    digest: str
    agent: str
    version: str
    model: str
    instructions: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What one run came to.

    ``answer`` is the declared comparison's, in a sentence; ``verdict`` its code; both are empty
    where none was declared. ``needed`` says what would decide. ``waits`` are what is not over yet.
    ``invalidated`` says that an incident made it void. ``held_out`` names the held-out tasks that
    the plan runs, ``opened`` counts the openings so far.
    """

    kind: str
    status: str
    lock: str
    baseline: str
    candidate: str
    answer: str
    verdict: str
    needed: str
    waits: tuple[str, ...]
    invalidated: bool
    held_out: tuple[str, ...]
    opened: int
    gate: bool
    parts: tuple[Part, ...]

    @property
    def sentence(self) -> str:
        """The answer as a sentence of its own; the name of a configuration stays as it is."""
        named = self.answer.startswith((f"{self.baseline} ", f"{self.candidate} "))
        return self.answer if named else f"{self.answer[:1].upper()}{self.answer[1:]}"


def conclusion_of(reader: Reader, run: RunRef) -> Conclusion:
    """What one run came to; a reader with a cache reads it once.

    Raises:
        RecordError: a record that cannot be read.
    """

    def read() -> Conclusion:
        return conclusion(load_results(reader, run), reader.is_closed(run))

    return reader.answer(run, "conclusion", Conclusion, read)


def conclusion(results: RunResults, closed: bool) -> Conclusion:  # noqa: FBT001 - a fact of the run
    """What a run came to whose results are at hand."""
    plan = results.plan
    found = compared(results)
    told = "" if found is None else answer(found)
    if found is None and plan.compare is not None:
        reasons = [*obstacles([plan]), *invalidated([results])]
        missing = "the run has only one of the configurations to compare"
        told = f"no comparison: {'; '.join(reasons) or missing}."
    return Conclusion(
        kind=plan.kind,
        status=plan.status,
        lock=plan.lock.sha256 if plan.lock else "",
        baseline=plan.compare.baseline if plan.compare else "",
        candidate=plan.compare.candidate if plan.compare else "",
        answer=told,
        verdict="" if found is None else found.verdict.value,
        needed="" if found is None else needed(found),
        waits=tuple(_waits(results, closed)),
        invalidated=bool(invalidated([results])),
        held_out=tuple(n for n, task in plan.tasks.items() if task.split == Split.HELD_OUT),
        opened=plan.held_out_opened,
        gate=plan.gate is not None,
        parts=tuple(_parts(plan)),
    )


def _waits(results: RunResults, closed: bool) -> Iterator[str]:  # noqa: FBT001 - as above
    outcomes = results.summary.total.outcomes
    if not closed:
        missing = outcomes.get(NOT_RUN, 0)
        yield f"it is open: {number_of(missing, 'slot')} never ran" if missing else "it is open"
    if pending := outcomes.get(Outcome.NEEDS_REVIEW, 0):
        yield f"a person's verdict on {number_of(pending, 'slot')} is due"
    for incident in results.incidents:
        if incident.closing is None:
            yield f"an incident is open: {words(incident.opened.kind)}, {incident.opened.reason}"


def _parts(plan: Plan) -> Iterator[Part]:
    for name, planned in plan.configurations.items():
        yield Part(
            name=name,
            digest=planned.digest,
            agent=planned.agent,
            version=planned.client_version or planned.agent_version or "",
            model=planned.model or "",
            instructions=planned.instructions or "",
        )
