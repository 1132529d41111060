"""What changed from one protocol version of a suite to the next, from their locks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from trialbook.formats.records import plain
from trialbook.model.lock import Lock, LockedConfiguration, LockedTask
from trialbook.reporting.wording import words

ADDED, REMOVED, CHANGED = "added", "removed", "changed"
_DERIVED = frozenset({"digest", "brief_sha256", "requirements_sha256", "sessions"})
_SHORT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One part of what measures: a task, a configuration, a grader, the rules, or other files.

    ``how`` is one of added, removed and changed; ``details`` says what about it, a line each.
    """

    kind: str
    name: str
    how: str
    details: tuple[str, ...] = ()


def protocol_changes(before: Lock, after: Lock) -> list[Change]:
    """Everything that is not the same, rules first, then tasks, configurations, graders, files."""
    files = _file_changes(before.files, after.files, after.suite)
    return [
        *_rules(before, after),
        *_parts("task", before.tasks, after.tasks, files),
        *_parts("configuration", before.configurations, after.configurations, files),
        *_graders(before, after),
        *_other_files(files),
    ]


def _rules(before: Lock, after: Lock) -> Iterator[Change]:
    details = tuple(_values(asdict(before.rules), asdict(after.rules)))
    if details:
        yield Change(kind="rules", name="rules of the suite", how=CHANGED, details=details)


def _graders(before: Lock, after: Lock) -> Iterator[Change]:
    one = {grader.name: grader for grader in before.graders}
    other = {grader.name: grader for grader in after.graders}
    for name in sorted(one.keys() | other.keys()):
        if name not in other:
            yield Change(kind="grader", name=name, how=REMOVED)
        elif name not in one:
            version = f"version {other[name].version}"
            yield Change(kind="grader", name=name, how=ADDED, details=(version,))
        elif one[name].version != other[name].version:
            moved = f"version: {one[name].version} → {other[name].version}"
            yield Change(kind="grader", name=name, how=CHANGED, details=(moved,))


def _parts(
    kind: str,
    before: Mapping[str, LockedTask] | Mapping[str, LockedConfiguration],
    after: Mapping[str, LockedTask] | Mapping[str, LockedConfiguration],
    files: dict[str, tuple[str, str]],
) -> Iterator[Change]:
    """Tasks or configurations; takes the files that are theirs out of ``files``."""
    for name in sorted(before.keys() | after.keys()):
        own = [_told(files.pop(path)) for path in list(files) if _belongs(kind, name, path)]
        if name not in after:
            yield Change(kind=kind, name=name, how=REMOVED)
        elif name not in before:
            yield Change(kind=kind, name=name, how=ADDED, details=tuple(_start(after[name])))
        else:
            values = _values(plain(before[name]), plain(after[name]))
            details = (*values, *own)
            if details or before[name] != after[name]:
                other = (f"other files that the {kind} takes part with",)
                yield Change(kind=kind, name=name, how=CHANGED, details=details or other)


def _start(part: LockedTask | LockedConfiguration) -> Iterator[str]:
    if isinstance(part, LockedTask) and part.source:
        yield f"starts from {part.source}"


def _belongs(kind: str, name: str, path: str) -> bool:
    if kind == "task":
        return path.startswith(f"tasks/{name}/")
    return path in (f"configurations/{name}.yaml", f"configurations/{name}.yml")


def _other_files(files: Mapping[str, tuple[str, str]]) -> Iterator[Change]:
    """Files that no task and no configuration owns alone, by their topmost folder."""
    folders: dict[str, list[tuple[str, str]]] = {}
    for path, entry in files.items():
        top, slash, _ = path.partition("/")
        folders.setdefault(f"{top}/" if slash else top, []).append(entry)
    for folder, entries in sorted(folders.items()):
        hows = {how for how, _ in entries}
        yield Change(
            kind="files",
            name=folder,
            how=hows.pop() if len(hows) == 1 else CHANGED,
            details=tuple(map(_told, entries)) if folder.endswith("/") else (),
        )


def _told(entry: tuple[str, str]) -> str:
    how, path = entry
    return f"{how}: {path}"


def _file_changes(
    before: Mapping[str, str], after: Mapping[str, str], suite: str
) -> dict[str, tuple[str, str]]:
    """How and which, by the path inside the suite's folder; other paths as they are."""
    top = f"suites/{suite}/"
    found = {}
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) == after.get(path):
            continue
        how = REMOVED if path not in after else ADDED if path not in before else CHANGED
        inside = path.removeprefix(top)
        found[inside] = (how, inside)
    return found


def _values(before: Mapping[str, Any], after: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Every value that is not the same: ``limits, minutes: 5 → 10``."""
    for name in {**before, **after}:
        if name in _DERIVED:
            continue
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        label = f"{above}{words(name)}"
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            yield from _values(was, now, f"{label}, ")
        else:
            yield f"{label}: {_shown(was)} → {_shown(now)}"


def _shown(value: Any) -> str:  # noqa: ANN401 - any value of a record
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{words(name)} {_shown(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value)) or "none"
    text = str(value)
    is_digest = len(text) in (40, 64) and not set(text) - set("0123456789abcdef")
    return text[:_SHORT] if is_digest else text
