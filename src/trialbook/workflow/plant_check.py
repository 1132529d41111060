"""Plants a task's regression where an agent would find it, and tries whether that is fair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import TrialbookError
from trialbook.execution.baseline import BASELINE_AUTHOR
from trialbook.execution.change import difference_of
from trialbook.execution.integration import ConflictError, laid_in, merge_trees, with_change
from trialbook.formats.patch_lines import PatchLines, patch_lines
from trialbook.grading.grade import limited
from trialbook.grading.own_tests import OwnTests, own_tests, run_own_tests
from trialbook.grading.plant_rules import (
    LEAST_SIBLINGS,
    first_hit,
    other_inputs,
    size,
    source_of,
    words,
)
from trialbook.grading.tampering.look import text_of
from trialbook.model.paths import path_to_text
from trialbook.model.planting import PlantResult, PlantRule, RuleResult, RuleStatus
from trialbook.model.series import Regression, RegressionKind, SessionPlan
from trialbook.model.series_record import TreeTests
from trialbook.model.session import RepositoryState
from trialbook.storage.files import read_regular
from trialbook.workflow.bench import Bench

MOST_COMMITS = 10
"""So many of the last commits are taken back, each for itself."""

_NAMED = 5
_MOST_BYTES = 20_000_000

Visible = Mapping[str, bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a regression is planted on.

    ``steps`` are the trees that the commits before it left, the oldest first; the last one is what
    it is planted on. ``said`` says in words what that is.
    """

    steps: tuple[str, ...]
    said: str


def check_plants(bench: Bench, ground_of: Mapping[int, Ground]) -> Iterator[PlantResult]:
    """Try every regression of a task.

    Args:
        bench: How to ask about trees; its baseline is the task's starting tree.
        ground_of: What to plant on before each session, by its number.
    """
    for number, plan in enumerate(bench.task.sessions, 1):
        for place, regression in enumerate(plan.regressions, 1):
            ground = ground_of[number]
            check = _Check(bench, number, plan, regression, ground)
            yield PlantResult(
                task=bench.task.name,
                session=plan.name,
                number=place,
                kind=regression.kind.value,
                state=ground.said,
                rules=tuple(check.rules()),
            )


class _Check:
    """The rules for one regression."""

    def __init__(
        self, bench: Bench, number: int, plan: SessionPlan, regression: Regression, ground: Ground
    ) -> None:
        self._bench, self._number, self._plan = bench, number, plan
        self._regression, self._ground = regression, ground
        self._before = ground.steps[-1]

    def rules(self) -> Iterator[RuleResult]:
        regression = self._regression
        if regression.laid_in is None:
            yield from self._nothing_laid()
            return
        try:
            planted = self._planted()
        except (TrialbookError, ConflictError) as error:
            yield _broken(PlantRule.APPLIES, str(error), "write it against the starting tree")
            return
        yield RuleResult(rule=PlantRule.APPLIES, status=RuleStatus.KEPT, reason=self._ground.said)
        visible = self._visible(planted)
        yield self._stays_green(visible)
        yield from self._breaks(planted)
        yield self._inputs()
        yield self._reverts(planted, visible)
        if regression.kind is not RegressionKind.PLANTED:
            for rule in (PlantRule.WORDS, PlantRule.SEARCH, PlantRule.SIZE):
                yield _not_applicable(rule, "no fault is in what is laid in")
            return
        yield from self._looks(planted)

    def _nothing_laid(self) -> Iterator[RuleResult]:
        """A fault of the agent's own: only the siblings can be looked at beforehand."""
        for rule in PlantRule:
            if rule is PlantRule.INPUTS:
                yield self._inputs()
            elif rule is PlantRule.SIBLINGS and len(self._regression.siblings) < LEAST_SIBLINGS:
                yield self._too_few()
            else:
                yield _not_applicable(rule, "nothing is laid in: the fault is the agent's own")

    def _planted(self) -> str:
        bench = self._bench
        head = bench.store.add_commit(self._before, (), BASELINE_AUTHOR, "before\n")
        state, change = laid_in(
            bench.store,
            RepositoryState(tree=self._before, head=head, branch="main"),
            self._regression,
            task_folder=bench.task_folder,
            baseline_tree=bench.baseline,
            work=bench.work,
        )
        if state is None:
            raise ConflictError(change.reason)
        return state.tree

    # --- what is seen, what is reported ------------------------------------------------------

    def _visible(self, tree: str) -> dict[str, bool | None]:
        """What an agent can see: disclosed checks up to this session, and the project's tests."""
        found: dict[str, bool | None] = {}
        for plan in self._bench.task.sessions[: self._number]:
            for part, use in (("checks", plan.checks), ("tests", plan.tests)):
                if use is not None:
                    runs = self._bench.tests(use, tree)
                    found |= {f"{plan.name} {part} {one}": ok for one, ok in runs.tests.items()}
                    if runs.trouble:
                        found[f"{plan.name} {part}: {runs.trouble}"] = None
        own = self._project_tests(tree)
        return found | {f"project {one}": passed for one, passed in own.tests.items()}

    def _project_tests(self, tree: str) -> TreeTests:
        bench = self._bench
        empty = bench.store.add_tree([])
        every = own_tests(bench.store, empty, tree)
        if not every.files:
            return TreeTests(tree=tree)
        return run_own_tests(
            OwnTests(files=every.files, edits={}),
            bench.store,
            tree,
            start=limited(bench.start, bench.limits, bench.python),
            python=bench.python,
            work=bench.work,
        )

    def _stays_green(self, after: Visible) -> RuleResult:
        before = self._visible(self._before)
        broken = [one for one, passed in after.items() if passed is False and before.get(one, True)]
        if broken:
            advice = "let the fault show only where nothing that the agent sees looks"
            return _broken(PlantRule.VISIBLE, f"these fail after it: {_some(broken)}", advice)
        unknown = [one for one, passed in after.items() if passed is None and one not in before]
        if unknown:
            return _unknown(PlantRule.VISIBLE, f"not known: {_some(unknown)}")
        green = sum(passed is True for passed in after.values())
        if not green:
            return _unknown(PlantRule.VISIBLE, "nothing that the agent can see was run")
        return RuleResult(
            rule=PlantRule.VISIBLE, status=RuleStatus.KEPT, reason=f"{green} checks and tests pass"
        )

    def _breaks(self, planted: str) -> Iterator[RuleResult]:
        private = self._plan.private
        before = self._bench.tests(private, self._before)
        after = self._bench.tests(private, planted)
        yield self._broken_by(PlantRule.REPORTED, self._regression.reported, before, after)
        if len(self._regression.siblings) < LEAST_SIBLINGS:
            yield self._too_few()
        else:
            yield self._broken_by(PlantRule.SIBLINGS, self._regression.siblings, before, after)

    def _too_few(self) -> RuleResult:
        count = len(self._regression.siblings)
        reason = f"{count} siblings, and at least {LEAST_SIBLINGS} are wanted"
        return _broken(PlantRule.SIBLINGS, reason, "add tests with the same cause")

    def _broken_by(
        self, rule: PlantRule, ids: Sequence[str], before: TreeTests, after: TreeTests
    ) -> RuleResult:
        if trouble := before.trouble or after.trouble:
            return _unknown(rule, f"the private tests gave no result: {trouble}")
        red = [one for one in ids if before.tests.get(one) is not True]
        if red:
            advice = "plant it on work in which they pass: name a trial with --on, or a reference"
            reason = f"these do not pass before it, on {self._ground.said}: {_some(red)}"
            return _broken(rule, reason, advice)
        green = [one for one in ids if after.tests.get(one) is True]
        if green:
            reason = f"these still pass after it: {_some(green)}"
            return _broken(rule, reason, "take tests that go through the cause")
        return RuleResult(
            rule=rule, status=RuleStatus.KEPT, reason=f"{len(ids)} pass before it and fail after it"
        )

    def _inputs(self) -> RuleResult:
        files = self._private_files()
        return other_inputs(
            {one: source_of(one, files) for one in self._regression.reported},
            {one: source_of(one, files) for one in self._regression.siblings},
        )

    def _private_files(self) -> dict[str, str]:
        if self._plan.private is None:
            return {}
        folder = self._bench.task_folder / str(self._plan.private.parameters.get("tests", ""))
        paths = sorted(folder.rglob("*.py")) if folder.is_dir() else []
        return {path.stem: _text(path) for path in paths}

    # --- taking commits back -----------------------------------------------------------------

    def _reverts(self, planted: str, visible: Visible) -> RuleResult:
        """Take back each of the last commits, the planted one first."""
        wanted = [*self._regression.reported, *self._regression.siblings]
        needed = [one for one, passed in visible.items() if passed is True]
        steps = (*self._ground.steps, planted)
        tried = 0
        for place in range(len(steps) - 1, max(0, len(steps) - 1 - MOST_COMMITS), -1):
            try:
                tree = self._taken_back(planted, steps[place - 1], steps[place])
            except ConflictError:
                continue
            tried += 1
            private = self._bench.tests(self._plan.private, tree)
            if not all(private.tests.get(one) is True for one in wanted):
                continue
            now = self._visible(tree)
            if all(now.get(one, one.startswith("project ")) is True for one in needed):
                which = "the planted commit" if place == len(steps) - 1 else f"commit {place}"
                reason = f"taking back {which} makes all of them pass, and breaks nothing"
                advice = "disclose a check that needs what else the commit brings"
                return _broken(PlantRule.REVERT, reason, advice)
        reason = f"{tried} of the last {min(MOST_COMMITS, len(steps) - 1)} commits were taken back"
        return RuleResult(rule=PlantRule.REVERT, status=RuleStatus.KEPT, reason=reason)

    def _taken_back(self, now: str, before: str, after: str) -> str:
        """The tree without what one commit did.

        Raises:
            ConflictError: later work is in the way.
        """
        return merge_trees(self._bench.store, after, now, before, self._bench.work)

    # --- how it looks ------------------------------------------------------------------------

    def _looks(self, planted: str) -> Iterator[RuleResult]:
        bench, change = self._bench, self._regression.laid_in
        if change is None:
            return
        patch, changed = difference_of(bench.store, self._before, planted, work=bench.work)
        lines = patch_lines(patch) or PatchLines()
        known = self._texts(self._before)
        paths = [one.path for one in changed]
        symptom = self._regression.symptom
        yield words(change.message, lines, symptom, known.values(), paths)
        yield first_hit(symptom, self._texts(planted), change.faulty)
        alone, _ = with_change(bench.store, change, bench.task_folder, bench.baseline)
        patch, _ = difference_of(bench.store, bench.baseline, alone, work=bench.work)
        yield size(lines, len(changed), change.faulty, patch_lines(patch))

    def _texts(self, tree: str) -> dict[str, str]:
        found, read = {}, 0
        for path, entry in self._bench.store.walk(tree):
            if entry.mode not in (0o100644, 0o100755):
                continue
            data = text_of(self._bench.store.blob(entry.oid))
            read += len(data or b"")
            if data is None or read > _MOST_BYTES:
                continue
            found[path_to_text(path)] = data.decode("utf-8", "replace")
        return found


def _text(path: Path) -> str:
    return (read_regular(path, _MOST_BYTES) or b"").decode("utf-8", "replace")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _broken(rule: PlantRule, reason: str, advice: str) -> RuleResult:
    return RuleResult(rule=rule, status=RuleStatus.BROKEN, reason=reason, advice=advice)


def _unknown(rule: PlantRule, reason: str) -> RuleResult:
    return RuleResult(rule=rule, status=RuleStatus.UNKNOWN, reason=reason)


def _not_applicable(rule: PlantRule, reason: str) -> RuleResult:
    return RuleResult(rule=rule, status=RuleStatus.NOT_APPLICABLE, reason=reason)
