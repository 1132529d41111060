"""What is said of a repair from what was run: the answers that need nobody, and hints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trialbook.model.series import Answer, Said, SessionPart
from trialbook.model.series_questions import REPAIR
from trialbook.model.series_record import RepairRecord, TreeTests
from trialbook.reporting.series_continuity import said_in
from trialbook.reporting.series_files import SeriesFiles
from trialbook.reporting.series_words import HintGiven, answered, some

Tests = Mapping[str, bool | None]


def repair_answers(files: SeriesFiles) -> list[Answer]:
    """The answers of the program about the repair; none of them applies without a regression."""
    repair = None if files.tried is None else files.tried.repair
    if repair is None:
        said = Said.UNKNOWN if files.tried is None else Said.NOT_APPLICABLE
        why = "what was tried over the series is not on record" if files.tried is None else ""
        return [
            answered(REPAIR, name, said, hint=why)
            for name in ("reported-passes", "siblings-pass", "regression-test", "nothing-lost")
        ]
    grade = files.end_grades(repair.session).get(SessionPart.PRIVATE)
    tests = {} if grade is None else {one.id: one.passed for one in grade.checks}
    return [
        _named("reported-passes", repair.reported, tests, repair),
        _named("siblings-pass", repair.siblings, tests, repair),
        _own(repair),
        _earlier(repair),
    ]


def repair_hints(files: SeriesFiles) -> dict[str, HintGiven]:
    """Where to look for what people answer about the repair, by question."""
    repair = None if files.tried is None else files.tried.repair
    if repair is None:
        return {}
    keyed = HintGiven("no added condition or table holds a value that only the report has")
    if repair.keyed:
        keyed = HintGiven("added code holds a value that only the report has", repair.keyed)
    hints = {"no-special-case": keyed}
    if repair.in_component is not None:
        touched = HintGiven("no file of the key's component was changed")
        if repair.in_component:
            touched = HintGiven("files of the key's component were changed", repair.in_component)
        hints["cause-changed"] = touched
    hints["cause-explained"] = _explained(files, repair)
    return hints


def _explained(files: SeriesFiles, repair: RepairRecord) -> HintGiven:
    """What the session of the repair says of it: messages of its commits, and its notes."""
    record = next((one for one in files.sessions if one.session == repair.session), None)
    if record is None:
        return HintGiven("the session of the repair is not on record")
    notes = files.notes.get(repair.session)
    places = [said_in(one) for one in record.written]
    places += [
        f"{path}:{added[0][0]}@{repair.end[:12]}"
        for path, added in sorted(notes.added.items() if notes is not None else ())
    ]
    if not places:
        return HintGiven(f"session {repair.session} wrote neither a commit nor a note")
    return HintGiven(f"session {repair.session} says of it", tuple(places))


def _named(name: str, ids: Sequence[str], tests: Tests, repair: RepairRecord) -> Answer:
    """Yes if all of these tests passed at the end of the session."""
    said = {one: tests.get(one) for one in ids}
    failed = [one for one, passed in said.items() if passed is False]
    missing = [one for one, passed in said.items() if passed is None]
    at = f"@{repair.end[:12]}"
    if failed:
        return answered(REPAIR, name, Said.NO, some(f"{one}{at} fails" for one in failed))
    if missing or not ids:
        return answered(
            REPAIR, name, Said.UNKNOWN, some(f"{one}{at} is not known" for one in missing)
        )
    return answered(REPAIR, name, Said.YES, some(f"{one}{at} passes" for one in ids))


def _own(repair: RepairRecord) -> Answer:
    """Whether a test of the agent's fails on what the repair began with, and passes afterwards."""
    name, before, after = "regression-test", repair.own_before, repair.own_after
    if before is None or after is None:
        place = f"session {repair.session}@{repair.end[:12]}: no test was added or changed"
        return answered(REPAIR, name, Said.NO, (place,))
    if trouble := after.trouble or before.trouble:
        return answered(REPAIR, name, Said.UNKNOWN, hint=f"its tests gave no result: {trouble}")
    bites = [
        one
        for one, passed in after.tests.items()
        if passed is True and before.tests.get(one, False) is False
    ]
    if bites:
        told = (f"{one} {_before(one, before)}, passes @{after.tree[:12]}" for one in bites)
        return answered(REPAIR, name, Said.YES, some(told))
    return answered(REPAIR, name, Said.NO, some(_why_not(before, after)))


def _before(test: str, before: TreeTests) -> str:
    how = "fails" if test in before.tests else "cannot be run"
    return f"{how} @{before.tree[:12]}"


def _why_not(before: TreeTests, after: TreeTests) -> Iterable[str]:
    if not after.tests:
        yield f"no test was run @{after.tree[:12]}"
    for one, passed in after.tests.items():
        if passed is True:
            yield f"{one} does not fail @{before.tree[:12]}"
        else:
            yield f"{one} does not pass @{after.tree[:12]}"


def _earlier(repair: RepairRecord) -> Answer:
    """Whether the private tests of earlier sessions that passed before still do."""
    name = "nothing-lost"
    if not repair.earlier:
        return answered(REPAIR, name, Said.NOT_APPLICABLE, hint="no earlier session has any")
    lost, unknown, kept = [], [], []
    for one in repair.earlier:
        where = f"session {one.session}"
        if trouble := one.before.trouble or one.after.trouble:
            unknown.append(f"{where}: {trouble}")
            continue
        passed = [test for test, ok in one.before.tests.items() if ok is True]
        after = one.after.tests
        at = f"@{one.after.tree[:12]}"
        lost += [f"{where}: {test}{at}" for test in passed if after.get(test, False) is False]
        untold = [test for test in passed if after.get(test, False) is None]
        unknown += [f"{where}: {test}{at} is not known" for test in untold]
        kept.append(f"{where}: {len(passed)} tests still pass @{one.after.tree[:12]}")
    if lost:
        return answered(REPAIR, name, Said.NO, some(f"{one} fails" for one in lost))
    # What is not known is no loss, and no proof that nothing is lost.
    if unknown:
        return answered(REPAIR, name, Said.UNKNOWN, some(unknown))
    return answered(REPAIR, name, Said.YES, some(kept))
