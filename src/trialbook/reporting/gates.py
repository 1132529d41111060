"""Every gate in a ledger: what it said, of which two sides, what it took, and if it was right.

A gate is the runs that one call of it made; their plans say so. Its answer is worked out from the
records, as `trialbook gate RUN` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from trialbook.errors import UserError
from trialbook.formats.records import RecordError, from_json
from trialbook.model.alarm import Alarm, AlarmKind
from trialbook.model.digest import sha256
from trialbook.model.ledgerfiles import ALARMS, alarm_path
from trialbook.model.plan import PlannedConfiguration, PlannedGate
from trialbook.reporting.arms import Arm, what_differs
from trialbook.reporting.comparison_said import points, probability
from trialbook.reporting.gate import Gated
from trialbook.reporting.gate_said import NOT_VALID, advice
from trialbook.reporting.gated_runs import judged
from trialbook.reporting.results import RunResults, load_results
from trialbook.reporting.summary import Spend, spend
from trialbook.reporting.wording import rate
from trialbook.stats.exact import TooManySplits
from trialbook.stats.gate import Answer
from trialbook.stats.interval import Interval, clopper_pearson
from trialbook.storage.reader import Reader, RunRef

OPEN = "open"
"""What a gate is said to be whose last run has not ended."""

VERDICTS = (Answer.FAIL.value, Answer.PASS.value, Answer.INCONCLUSIVE.value, NOT_VALID, OPEN)
"""What a gate may have come to."""

_DECIDED = VERDICTS[:3]
_KEY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSide:
    """One side: a configuration, the revision that its instructions are from, and how it did.

    ``revision`` and ``commit`` are empty where nothing was taken from one. ``accepted`` is of valid
    executions; empty where that is not known.
    """

    name: str
    revision: str
    commit: str
    digest: str
    accepted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One gate as it stands.

    ``runs`` are paths below ``runs/``, oldest first; ``baseline_from`` is the older run that has
    the baseline's trials. ``equal`` says that nothing of the two sides differs, so that a failure
    can only be a false alarm. ``minutes`` go from each plan to its run's last trial. What is not
    known is empty or None.
    """

    suite: str
    protocol: int
    runs: tuple[str, ...]
    baseline_from: str | None
    created: str
    finished: str
    baseline: GateSide
    candidate: GateSide
    verdict: str
    reason: str
    advice: str
    stage: int | None
    repetitions: int
    difference: str
    p: str
    equal: bool
    minutes: float | None
    trials: int
    spend: tuple[Spend, ...]

    @property
    def run(self) -> str:
        """The run that the gate is named by: its last one."""
        return self.runs[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateEntry:
    """A gate, and what people found out about it, oldest first."""

    gate: Gate
    alarms: tuple[Alarm, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether it stopped a change.

        One that somebody looked into did, even if it would pass by grades that came later.
        """
        return self.gate.verdict == Answer.FAIL or bool(self.alarms)

    @property
    def false_alarm(self) -> bool | None:
        """Whether it failed though nothing was worse; None while nobody knows."""
        if not self.failed:
            return False
        if self.alarms:
            return self.alarms[-1].kind is AlarmKind.FALSE
        return True if self.gate.equal else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmRate:
    """How often gates failed though nothing was worse.

    ``false`` of ``decided`` gates did, as far as that is known; ``unknown`` failures nobody has
    looked into. ``equal`` gates had two equal sides, of which ``equal_failed`` failed. The
    intervals are exact, at 0.95; None where nothing is counted.
    """

    suite: str
    gates: int
    decided: int
    failed: int
    false: int
    unknown: int
    equal: int
    equal_failed: int
    interval: Interval | None
    equal_interval: Interval | None


def gates(reader: Reader, runs: Sequence[RunRef] | None = None) -> list[GateEntry]:
    """Every gate of a ledger, or those that these runs make, oldest first.

    Raises:
        RecordError: a record that cannot be read.
    """
    planned: dict[RunRef, PlannedGate] = {}
    for run in reader.runs() if runs is None else runs:
        for one in reader.answer(run, "gate", list[PlannedGate], partial(_of, reader, run)):
            planned[run] = one
    earlier = {path for one in planned.values() for path in one.after}
    known = alarms(reader)
    found = []
    for run, one in planned.items():
        if run.path not in earlier:
            told = tuple(alarm for alarm in known if alarm.run == run.path)
            found.append(GateEntry(gate=_kept(reader, run, one), alarms=told))
    return sorted(found, key=lambda entry: (entry.gate.created, entry.gate.run))


def alarms(reader: Reader) -> list[Alarm]:
    """What people found out about gates, oldest first; verification says what cannot be read."""
    found = []
    for name in reader.ledger_names(ALARMS):
        data = reader.ledger_file(f"{ALARMS}/{name}")
        try:
            alarm = from_json(Alarm, data or b"", name)
        except RecordError:
            continue
        if alarm_path(alarm.id) == f"{ALARMS}/{name}":
            found.append(alarm)
    return sorted(found, key=lambda one: (one.created, one.id))


def alarm_rates(entries: Sequence[GateEntry]) -> list[AlarmRate]:
    """One rate for each suite, by name; and one for all, with an empty name, if they are several.

    Gates of one suite under different protocol numbers are counted together.
    """
    suites = sorted({entry.gate.suite for entry in entries})
    found = [_rate(name, [one for one in entries if one.gate.suite == name]) for name in suites]
    return [*found, _rate("", entries)] if len(suites) > 1 else found


# --- parts ---------------------------------------------------------------------------------------


def _of(reader: Reader, run: RunRef) -> list[PlannedGate]:
    planned = reader.plan(run).gate
    return [] if planned is None else [planned]


def _kept(reader: Reader, run: RunRef, planned: PlannedGate) -> Gate:
    """The gate, kept for as long as none of its runs changes."""
    others = [path for path in (*planned.after, planned.baseline_from) if path]
    ids = [reader.object_id(f"runs/{path}") or "" for path in others]
    question = f"gate-{sha256(' '.join(ids).encode())[:_KEY]}"
    return reader.answer(run, question, Gate, lambda: _gate(reader, run, planned))


def _gate(reader: Reader, run: RunRef, planned: PlannedGate) -> Gate:
    results = [load_results(reader, _ref(path)) for path in (*planned.after, run.path)]
    older = planned.baseline_from
    old = None
    if older is not None and reader.has(f"runs/{older}"):
        old = load_results(reader, _ref(older))
    verdict, reason, gated = OPEN, "its last run has not ended", None
    if reader.is_closed(run):
        verdict, reason, gated = _judged(results, planned, old)
    plan = results[-1].plan
    before = (old or results[-1]).plan.configurations.get(planned.baseline)
    after = plan.configurations.get(planned.candidate)
    trials = [trial for one in results for trial in one.trials]
    decision = gated.decision if gated else None
    return Gate(
        suite=plan.suite,
        protocol=plan.protocol,
        runs=(*planned.after, run.path),
        baseline_from=older,
        created=results[0].plan.created,
        finished=max((trial.finished for trial in trials), default=""),
        baseline=_side(planned.baseline, before, gated.baseline if gated else None),
        candidate=_side(planned.candidate, after, gated.candidate if gated else None),
        verdict=verdict,
        reason=reason,
        advice=advice(gated) if gated else "",
        stage=decision.stage if decision else None,
        repetitions=gated.repetitions if gated else 0,
        difference=points(decision.difference) if decision else "",
        p=probability(decision.p) if decision else "",
        equal=before is not None and after is not None and not what_differs(before, after),
        minutes=_minutes(results),
        trials=len(trials),
        spend=tuple(spend([trial.usage for trial in trials])),
    )


def _judged(
    results: Sequence[RunResults], planned: PlannedGate, old: RunResults | None
) -> tuple[str, str, Gated | None]:
    """Verdict and reason, and what they rest on."""
    if planned.baseline_from is not None and old is None:
        return NOT_VALID, f"there is no run {planned.baseline_from}", None
    try:
        found = judged(results, planned.baseline, planned.candidate, old)
    except UserError as error:
        return NOT_VALID, error.message, None
    except TooManySplits as error:
        return NOT_VALID, str(error), None
    gated = found.gated
    if gated is None:
        return NOT_VALID, "; ".join(found.reasons), None
    if gated.answer is None or gated.decision is None:
        return NOT_VALID, "; ".join(gated.because), gated
    return gated.answer.value, gated.decision.reason, gated


def _side(name: str, planned: PlannedConfiguration | None, counted: Arm | None) -> GateSide:
    taken = planned.taken if planned else None
    return GateSide(
        name=name,
        revision=taken.revision if taken else "",
        commit=(taken.commit or "") if taken else "",
        digest=planned.digest if planned else "",
        accepted=rate(counted.counts.valid_execution) if counted else "",
    )


def _minutes(results: Sequence[RunResults]) -> float | None:
    seconds = 0.0
    for one in results:
        last = max((trial.finished for trial in one.trials), default=None)
        if last is None:
            return None
        took = datetime.fromisoformat(last) - datetime.fromisoformat(one.plan.created)
        seconds += took.total_seconds()
    return round(seconds / 60, 2)


def _ref(path: str) -> RunRef:
    suite, _, run = path.partition("/")
    return RunRef(suite, run)


def _rate(suite: str, entries: Sequence[GateEntry]) -> AlarmRate:
    decided = [entry for entry in entries if entry.gate.verdict in _DECIDED]
    equal = [entry for entry in decided if entry.gate.equal]
    false = sum(entry.false_alarm is True for entry in decided)
    equal_failed = sum(entry.failed for entry in equal)
    return AlarmRate(
        suite=suite,
        gates=len(entries),
        decided=len(decided),
        failed=sum(entry.failed for entry in decided),
        false=false,
        unknown=sum(entry.false_alarm is None for entry in decided),
        equal=len(equal),
        equal_failed=equal_failed,
        interval=clopper_pearson(false, len(decided)) if decided else None,
        equal_interval=clopper_pearson(equal_failed, len(equal)) if equal else None,
    )


def gates_of(entries: Sequence[GateEntry], suite: str) -> Iterator[GateEntry]:
    """Those of one suite."""
    return (entry for entry in entries if entry.gate.suite == suite)
