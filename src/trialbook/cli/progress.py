"""Live progress of a run: a small table on a terminal, plain lines anywhere else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal

from rich.console import Console, Group
from rich.live import Live

from trialbook.cli.context import Context
from trialbook.cli.terminal import Column, heading, safe, table
from trialbook.formats.visible import visible_line
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan, SlotKey
from trialbook.model.trial import Trial, TrialSpec
from trialbook.reporting.wording import number_of
from trialbook.workflow.evaluate import Observer
from trialbook.workflow.withheld import Withheld


@contextmanager
def observer(context: Context) -> Iterator[Observer]:
    """The right way to show progress here: live, plain lines, or nothing with --quiet."""
    if not context.on_terminal:
        yield Lines(context)
        return
    console = Console(stderr=True, no_color=bool(context.system.environ.get("NO_COLOR")))
    shown = LiveTable(context)
    with Live(console=console, get_renderable=shown.render, refresh_per_second=4, transient=True):
        yield shown


class Settled:
    """The slots of a run that are done: they have a trial, and the plan's policy has none due."""

    def __init__(self, plan: Plan, trials: Iterable[Trial]) -> None:
        self._plan = plan
        self._chains: dict[SlotKey, list[Trial]] = {}
        self.slots: set[SlotKey] = set()
        for trial in sorted(trials, key=lambda trial: trial.rerun):
            self.add(trial)

    def add(self, trial: Trial) -> None:
        """One more trial, the last of its slot so far."""
        chain = self._chains.setdefault(trial.slot, [])
        chain.append(trial)
        if self._plan.allows_rerun([one.outcome for one in chain]):
            self.slots.discard(trial.slot)
        else:
            self.slots.add(trial.slot)


class Lines:
    """One plain line for each trial that ended."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._settled: Settled | None = None
        self._scheduled = 0

    def began(self, plan: Plan, done: list[Trial]) -> None:
        """Say what the run is, and how much of it is done already."""
        self._settled = Settled(plan, done)
        self._scheduled = len(plan.schedule)
        context = self._context
        context.say(
            f"run {plan.path} ({plan.status}): {number_of(len(plan.tasks), 'task')} x "
            f"{number_of(len(plan.configurations), 'configuration')} x "
            f"{number_of(plan.repetitions, 'repetition')} = "
            f"{number_of(self._scheduled, 'slot')}, {plan.jobs} at once, seed {plan.seed}"
        )
        if done:
            there = len(self._settled.slots)
            context.say(f"{there} of {number_of(self._scheduled, 'slot')} done already")
            again = len({trial.slot for trial in done} - self._settled.slots)
            if again:
                context.say(f"{number_of(again, 'slot')} cut off or errored: to be run again")

    def started(self, spec: TrialSpec) -> None:
        """Nothing: a line at the end says it all."""

    def finished(self, trial: Trial) -> None:
        """One line."""
        done = 0
        if self._settled is not None:
            self._settled.add(trial)
            done = len(self._settled.slots)
        self._context.say(
            f"[{done}/{self._scheduled}] {trial.path}: {trial.outcome.value}"
            f" ({visible_line(trial.reason)})"
        )

    def withheld(self, trial: Withheld) -> None:
        """One line; what to do is said at the end."""
        self._context.say(f"{trial.path}: withheld, not in the ledger")

    def tick(self) -> None:
        """Nothing."""

    def stopping(self, running: int) -> None:
        """Say that the run is being stopped."""
        self._context.say(_stopping(running))

    def say(self, text: str) -> None:
        """One line."""
        self._context.say(visible_line(text))


class LiveTable:
    """Per configuration: done, running, left, accepted, spend; and the time."""

    def __init__(self, context: Context) -> None:
        self._clock = context.system.monotonic
        self._began = self._clock()
        self._plan: Plan | None = None
        self._trials: list[Trial] = []
        self._settled: Settled | None = None
        self._running: dict[str, TrialSpec] = {}
        self._note = ""

    def began(self, plan: Plan, done: list[Trial]) -> None:
        """Start the table."""
        self._plan, self._trials = plan, list(done)
        self._settled = Settled(plan, done)

    def started(self, spec: TrialSpec) -> None:
        """One more is running."""
        self._running[spec.slot.trial_path(spec.rerun)] = spec

    def finished(self, trial: Trial) -> None:
        """One more is done."""
        self._running.pop(trial.path, None)
        self._trials.append(trial)
        if self._settled is not None:
            self._settled.add(trial)

    def withheld(self, trial: Withheld) -> None:
        """One is over, and is not done."""
        self._running.pop(trial.path, None)

    def tick(self) -> None:
        """Nothing: the table draws itself."""

    def stopping(self, running: int) -> None:
        """Say that the run is being stopped."""
        self._note = _stopping(running)

    def say(self, text: str) -> None:
        """Stands below the table until something else does."""
        self._note = text

    def render(self) -> Group:
        """The table as it is now."""
        if self._plan is None:
            return Group()
        plan = self._plan
        elapsed = int(self._clock() - self._began)
        heads = ("done", "running", "left", "accepted", "spend")
        columns = [Column(head="configuration"), *(Column(head=h, number=True) for h in heads)]
        return Group(
            heading(f"{plan.path} ({plan.status})  {elapsed // 60}:{elapsed % 60:02d}"),
            table(columns, [self._row(plan, name) for name in plan.configurations]),
            safe(self._note, style="yellow"),
        )

    def _row(self, plan: Plan, name: str) -> tuple[str, ...]:
        slots = sum(slot.configuration == name for slot in plan.schedule)
        trials = [trial for trial in self._trials if trial.configuration == name]
        running = {spec.slot for spec in self._running.values() if spec.configuration.name == name}
        settled = self._settled.slots if self._settled is not None else set()
        done = sum(slot.configuration == name for slot in settled - running)
        accepted = sum(trial.outcome is Outcome.ACCEPTED for trial in trials)
        return (
            name,
            str(done),
            str(len(running)),
            str(slots - done - len(running)),
            f"{accepted}/{slots}",
            _spend(trials),
        )


def _spend(trials: list[Trial]) -> str:
    known = [Decimal(trial.usage.cost_usd) for trial in trials if trial.usage.cost_usd is not None]
    return f"${sum(known, Decimal(0)):.2f}" if known else "unknown"


def _stopping(running: int) -> str:
    trials = f"{number_of(running, 'trial')} {'is' if running == 1 else 'are'}"
    return f"stopping: {trials} being ended and recorded (again to quit at once)"
