"""The lock of one protocol version: everything that measures, by digest, and its validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from trialbook.model.digest import sha256
from trialbook.model.paths import text_to_path
from trialbook.model.plan import Plan, PlannedJudgement, Runner
from trialbook.model.planned_session import PlannedSession
from trialbook.model.suite import DEFAULT_SANDBOX, Comparison, Limits
from trialbook.model.validation import MatrixRow

LINK = "120000"
"""The mode of a symbolic link; its digest is that of the text of the link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedRules:
    """The rules of a suite as they take effect, defaults of the program filled in."""

    accept: str
    repetitions: int
    limits: Limits
    limits_are_failures: bool
    rerun: dict[str, int | None]
    compare: Comparison | None
    judgement: PlannedJudgement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedGrader:
    """A grader, its own version, and the distribution that it came from."""

    name: str
    version: str
    distribution: str
    distribution_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedTask:
    """A task. ``tree`` is the git tree id of its snapshot, ``source`` where that came from.

    ``digest`` covers the task's files as a plan names it; ``limits`` are those that take effect.
    """

    source: str
    tree: str
    brief_sha256: str
    limits: Limits
    requirements_sha256: str | None
    digest: str
    sessions: tuple[PlannedSession, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedConfiguration:
    """A configuration; ``digest`` covers its files as a plan names it."""

    sandbox: str
    limits: Limits
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """What measures in a suite, as it is now. Tasks have neither ``tree`` nor ``source`` yet."""

    rules: LockedRules
    graders: tuple[LockedGrader, ...]
    tasks: dict[str, LockedTask]
    configurations: dict[str, LockedConfiguration]
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """One protocol version of a suite, frozen.

    ``files`` maps each frozen file (path relative to the ledger's root) to its git mode and sha256,
    in one text; ``digest`` is `lock_digest` of them. ``as_root`` says whether trialbook ran as
    root, ``sandbox`` where the graders of the matrix ran (None: not recorded); tests of permissions
    depend on both.
    """

    schema: str = "trialbook/lock/1"
    suite: str
    protocol: int
    created: str
    locked_by: str | None
    as_root: bool
    sandbox: str | None = None
    runner: Runner
    digest: str
    rules: LockedRules
    graders: tuple[LockedGrader, ...]
    tasks: dict[str, LockedTask]
    configurations: dict[str, LockedConfiguration]
    files: dict[str, str]
    matrix: tuple[MatrixRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Difference:
    """One thing that is not as locked: a file, or a part of the program, and what is different."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def lock_digest(files: Mapping[str, str]) -> str:
    """sha256 over one line a file, ``<mode> <sha256> <path>``, sorted by the bytes of the paths.

    Args:
        files: Mode and digest by path, as in `Lock`.
    """
    lines = {text_to_path(path): entry.encode() for path, entry in files.items()}
    return sha256(b"".join(b"%s %s\n" % (lines[path], path) for path in sorted(lines)))


def differences(before: Lock | Frozen, frozen: Frozen) -> list[Difference]:
    """Everything that is not as locked, or as it was frozen before: files first, each named."""
    found = sorted(_of_files(before.files, frozen.files))
    found += _of_graders(before.graders, frozen.graders)
    if found:
        # What follows is read from these files.
        return found
    found += _of_rubric(before.rules.judgement, frozen.rules.judgement)
    if found:
        return found
    found += _of_values("the suite's rules", asdict(before.rules), asdict(frozen.rules))
    for name, task in before.tasks.items():
        found += _of_values(f"task {name}", _known(task), _known(frozen.tasks[name]))
    for name, configuration in before.configurations.items():
        now = asdict(frozen.configurations[name])
        found += _of_values(f"configuration {name}", asdict(configuration), now)
    return found


def disagreements(lock: Lock, plan: Plan) -> list[Difference]:
    """Where a plan that says it is locked does not say what its lock says.

    A plan may leave out tasks and configurations, choose how many repetitions there are, and
    declare a margin and looks where the suite declares none.
    """
    found: list[Difference] = []
    named = {"suite": (lock.suite, plan.suite), "protocol": (lock.protocol, plan.protocol)}
    rules = {
        name: (getattr(lock.rules, name), getattr(plan, name))
        for name in ("accept", "limits_are_failures", "judgement")
    }
    if not _fills(lock.rules.compare, plan.compare):
        rules["compare"] = (lock.rules.compare, plan.compare)
    # A plan adds that cancelled trials may always be run again.
    rerun = {"rerun": (lock.rules.rerun, {k: plan.rerun.get(k) for k in lock.rules.rerun})}
    for name, (locked, planned) in (named | rules | rerun).items():
        if locked != planned:
            found.append(Difference(where=name, what=f"is {planned!r}, locked is {locked!r}"))
    files = dict(plan.files)
    for configuration_name, configuration in plan.configurations.items():
        files |= configuration.files
        known = lock.configurations.get(configuration.template or configuration_name)
        found += _of_part("configuration", configuration_name, known, configuration)
    for task_name, task in plan.tasks.items():
        files |= task.files
        found += _of_part("task", task_name, lock.tasks.get(task_name), task)
    found += [
        Difference(where=path, what="has another digest in the plan")
        for path, digest in sorted(files.items())
        if not _is_locked(lock, path, digest)
    ]
    return found


def _fills(locked: Comparison | None, planned: Comparison | None) -> bool:
    """Whether a plan compares as was locked, or fills only what was left open."""
    if locked is None or planned is None:
        return locked is None
    open_margin = locked.margin is None and not locked.because
    return locked == replace(
        planned,
        margin=None if open_margin else planned.margin,
        because="" if open_margin else planned.because,
        looks=planned.looks if locked.looks else (),
    )


def _is_locked(lock: Lock, path: str, digest: str) -> bool:
    """Whether a plan's digest of a file is the lock's. A plan reads through symbolic links."""
    parts = path.split("/")
    for length in range(1, len(parts) + 1):
        entry = lock.files.get("/".join(parts[:length]))
        if entry is not None:
            return entry.startswith(LINK) or entry.partition(" ")[2] == digest
    return False


def _of_part(kind: str, name: str, locked: Any, planned: Any) -> Iterator[Difference]:  # noqa: ANN401
    """A task or a configuration of a plan against its lock, by the fields that both have."""
    where = f"{kind} {name}"
    if locked is None:
        yield Difference(where=where, what="is not in the lock")
        return
    yield from (
        Difference(where=where, what=f"{field} is {now!r}, locked is {before!r}")
        for field, before in _fields(locked)
        if hasattr(planned, field)
        and (now := getattr(planned, field)) != before
        # Which one was the strongest depends on the host.
        and (field, before) != ("sandbox", DEFAULT_SANDBOX)
    )


def _fields(value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any dataclass
    for field in type(value).__dataclass_fields__:
        yield field, getattr(value, field)


def _of_files(locked: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Difference]:
    for path, entry in locked.items():
        if path not in now:
            yield Difference(where=path, what="gone")
        elif now[path] != entry:
            same = now[path].partition(" ")[2] == entry.partition(" ")[2]
            what = f"mode {now[path][:6]}, locked {entry[:6]}" if same else "changed"
            yield Difference(where=path, what=what)
    yield from (Difference(where=path, what="new") for path in now if path not in locked)


def _of_graders(
    locked: tuple[LockedGrader, ...], now: tuple[LockedGrader, ...]
) -> Iterator[Difference]:
    # A newer distribution whose grader has the version that it had grades as it did.
    there = {grader.name: (grader.version, grader.distribution) for grader in now}
    for grader in locked:
        if grader.name in there and there[grader.name] != (grader.version, grader.distribution):
            version, distribution = there[grader.name]
            yield Difference(
                where=f"grader {grader.name}",
                what=f"version {version} of {distribution}, locked is version {grader.version} of "
                f"{grader.distribution} (in {grader.distribution} {grader.distribution_version})",
            )


def _of_rubric(
    locked: PlannedJudgement | None, now: PlannedJudgement | None
) -> Iterator[Difference]:
    """The rubric of people's reviews, which lies outside of the suite."""
    if locked is None or now is None or locked.rubric != now.rubric:
        return
    if locked.rubric_sha256 != now.rubric_sha256:
        what = "changed; a version in use stays, and the new wording gets the next number"
        yield Difference(where=f"rubric {now.rubric}", what=what)


def _known(task: LockedTask) -> dict[str, Any]:
    known = asdict(task)
    del known["tree"], known["source"]
    return known


def _of_values(
    where: str, locked: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[Difference]:
    for name, before in locked.items():
        if isinstance(before, dict) and isinstance(now[name], dict):
            inner = {key: (before.get(key), now[name].get(key)) for key in before | now[name]}
        else:
            inner = {"": (before, now[name])}
        for key, (was, is_now) in inner.items():
            if was != is_now:
                label = f"{name}.{key}" if key else name
                what = f"{label} is {is_now!r}, locked is {was!r}; a default of trialbook changed"
                yield Difference(where=where, what=what)
