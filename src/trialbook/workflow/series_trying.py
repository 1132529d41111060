"""Tries over a whole series, when it is over, what only trees and private tests can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trialbook.execution.change import difference_of
from trialbook.execution.integration import ground_of
from trialbook.formats.authored import parse_document
from trialbook.formats.patch_lines import PatchLines, patch_lines
from trialbook.grading.grade import limited
from trialbook.grading.literals import keyed_lines, reported_literals
from trialbook.grading.own_tests import own_tests, run_own_tests
from trialbook.grading.tampering.look import text_of
from trialbook.grading.whole_change import is_code, whole_change
from trialbook.model.digest import sha256
from trialbook.model.path_patterns import is_covered
from trialbook.model.series import Decision, Regression, SessionPlan
from trialbook.model.series_record import (
    EarlierTests,
    PropertyAnswer,
    RepairRecord,
    SeriesRecord,
    Stated,
    TreeTests,
    WholeChange,
)
from trialbook.model.session import SessionRecord
from trialbook.storage.files import read_regular
from trialbook.workflow.bench import Bench

_MOST_KEY = 1_000_000
_MOST_PLACES = 20
_MOST_KNOWN = 5_000_000


def try_series(bench: Bench, records: Sequence[SessionRecord]) -> SeriesRecord:
    """What is found out about a series whose sessions are over.

    Args:
        bench: How to ask about trees; its baseline is what the series began with.
        records: The sessions, in order; one that was left out has no outcome.

    Raises:
        EnvironmentProblem: it cannot be found out here.
    """
    return _Trial(bench, [one for one in records if one.outcome is not None]).record()


class _Trial:
    def __init__(self, bench: Bench, records: Sequence[SessionRecord]) -> None:
        self._bench = bench
        self._records = records
        self._plans = dict(enumerate(bench.task.sessions, 1))
        self._final = records[-1].end.tree if records else bench.baseline
        self._known: dict[tuple[str, str], PropertyAnswer] = {}
        self._runs: dict[tuple[int, str], TreeTests] = {}

    def record(self) -> SeriesRecord:
        conflicts = {
            plan.conflicts_with: number
            for number, plan in self._plans.items()
            if plan.conflicts_with is not None
        }
        return SeriesRecord(
            decisions=tuple(
                Stated(
                    id=one.id,
                    statement=one.statement,
                    session=number,
                    conflict=conflicts.get(one.id),
                )
                for number, _, one in self._decisions()
            ),
            properties=tuple(self._properties()),
            repair=self._repair(),
            change=self._change(),
        )

    def _change(self) -> WholeChange:
        """Where to look in what the agents changed; what was laid in between is not theirs."""
        bench = self._bench
        ground = ground_of(
            bench.store,
            bench.task,
            self._records,
            task_folder=bench.task_folder,
            baseline_tree=bench.baseline,
            work=bench.work,
        )
        return whole_change(bench.store, ground, self._final, self._lines(ground, self._final))

    def _decisions(self) -> Iterator[tuple[int, SessionPlan, Decision]]:
        for number, plan in self._plans.items():
            yield from ((number, plan, one) for one in plan.decisions)

    def _properties(self) -> Iterator[PropertyAnswer]:
        for number, plan, decision in self._decisions():
            for record in self._records:
                if record.session < number:
                    continue
                tree, key = record.end.tree, (decision.id, record.end.tree)
                before = self._known.get(key)
                found = before or self._bench.holds(decision, (number, plan), record.session, tree)
                self._known[key] = found
                yield PropertyAnswer(
                    decision=decision.id,
                    session=record.session,
                    tree=tree,
                    holds=found.holds,
                    evidence=found.evidence,
                )

    # --- the repair --------------------------------------------------------------------------

    def _repair(self) -> RepairRecord | None:
        used = [(place, one) for place, one in enumerate(self._records) if one.regression]
        if not used:
            return None
        place, record = used[-1]
        plan = self._plans[record.session]
        regression = plan.regressions[(record.regression or 1) - 1]
        before = self._records[place - 1].end.tree if place else self._bench.baseline
        start, end = record.start.tree, record.end.tree
        lines = self._lines(start, end)
        key, digest = self._key(regression)
        own = own_tests(self._bench.store, start, end)
        own_runs: list[TreeTests | None] = [None, None]
        if own.files:
            own_runs = [
                run_own_tests(
                    own,
                    self._bench.store,
                    tree,
                    start=limited(self._bench.start, self._bench.limits, self._bench.python),
                    python=self._bench.python,
                    work=self._bench.work,
                )
                for tree in (start, end)
            ]
        elif own.others:
            why = f"pytest does not run {own.others[0]}"
            own_runs = [TreeTests(tree=start, trouble=why), TreeTests(tree=end, trouble=why)]
        return RepairRecord(
            session=record.session,
            kind=regression.kind,
            reported=regression.reported,
            siblings=regression.siblings,
            before=before,
            start=start,
            end=end,
            earlier=tuple(
                EarlierTests(
                    session=earlier.session,
                    before=self._tests(earlier.session, before),
                    after=self._tests(earlier.session, end),
                )
                for earlier in self._records[:place]
                if self._plans[earlier.session].private is not None
            ),
            own_before=own_runs[0],
            own_after=own_runs[1],
            keyed=tuple(self._keyed(plan, regression, start, end, lines)),
            in_component=None if key is None else tuple(_inside(key, lines, start, end)),
            key_sha256=digest,
        )

    def _tests(self, session: int, tree: str) -> TreeTests:
        key = (session, tree)
        if key not in self._runs:
            self._runs[key] = self._bench.tests(self._plans[session].private, tree)
        return self._runs[key]

    def _lines(self, old: str, new: str) -> PatchLines | None:
        patch, _ = difference_of(self._bench.store, old, new, work=self._bench.work)
        return patch_lines(patch)

    def _key(self, regression: Regression) -> tuple[tuple[str, ...] | None, str | None]:
        if regression.key is None:
            return None, None
        data = read_regular(self._bench.task_folder / regression.key, _MOST_KEY)
        if data is None:
            return None, None
        document, problems = parse_document(data.decode("utf-8", "replace"), regression.key)
        written = None if document is None or problems else document.data
        component = written.get("component") if isinstance(written, dict) else None
        return (None if component is None else tuple(map(str, component))), sha256(data)

    def _keyed(
        self,
        plan: SessionPlan,
        regression: Regression,
        start: str,
        end: str,
        lines: PatchLines | None,
    ) -> Iterator[str]:
        if lines is None:
            return
        texts = (regression.symptom, regression.brief or plan.brief)
        literals = reported_literals(self._sources(plan, regression.reported), texts)
        literals -= reported_literals(self._sources(plan, regression.siblings), ())
        added = {path: found for path, found in lines.added.items() if is_code(path)}
        for place in keyed_lines(literals, list(self._known_texts(start)), added):
            yield f"{place}@{end[:12]}"

    def _sources(
        self, plan: SessionPlan, ids: Sequence[str]
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The private tests of these ids: the text of each file, and the functions in it."""
        if plan.private is None:
            return
        folder = self._bench.task_folder / str(plan.private.parameters.get("tests", ""))
        by_module: dict[str, list[str]] = {}
        for one in ids:
            module, _, name = one.partition("::")
            by_module.setdefault(module, []).append(name.partition("[")[0])
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else []:
            names = [
                name
                for module, found in by_module.items()
                if path.stem in module.split(".")
                for name in found
            ]
            if names:
                yield _text(path), tuple(names)

    def _known_texts(self, tree: str) -> Iterator[str]:
        read = 0
        for path, entry in self._bench.store.walk(tree):
            if entry.mode in (0o100644, 0o100755) and is_code(path.decode("utf-8", "replace")):
                data = text_of(self._bench.store.blob(entry.oid)) or b""
                read += len(data)
                if read > _MOST_KNOWN:
                    return
                yield data.decode("utf-8", "replace")


def _text(path: Path) -> str:
    return (read_regular(path, _MOST_KNOWN) or b"").decode("utf-8", "replace")


def _inside(
    component: Sequence[str], lines: PatchLines | None, start: str, end: str
) -> Iterator[str]:
    """The first place of each changed file of the component."""
    if lines is None:
        return
    for path in sorted(lines.paths)[:_MOST_PLACES]:
        if is_covered(path, component):
            added, gone = lines.added.get(path), lines.deleted.get(path)
            found, tree = (added, end) if added else (gone or [(1, "")], start)
            yield f"{path}:{found[0][0]}@{tree[:12]}"
