"""Adding entries up."""

from collections.abc import Callable, Iterable

from worklog.entry import Entry

UNTAGGED = "(no tag)"

Keys = Callable[[Entry], tuple[str, ...]]


def by_project(depth: int) -> Keys:
    """Groups by project, told apart by so many parts."""
    return lambda entry: (entry.project_to(depth),)


def by_day(entry: Entry) -> tuple[str, ...]:
    """Groups by day."""
    return (entry.day.isoformat(),)


def by_tag(entry: Entry) -> tuple[str, ...]:
    """Groups by tag; an entry with two tags is in both groups."""
    return entry.tags or (UNTAGGED,)


def totals(entries: Iterable[Entry], keys: Keys) -> dict[str, int]:
    """Minutes of every group, in the order of the groups' names."""
    found: dict[str, int] = {}
    for entry in entries:
        for key in keys(entry):
            found[key] = found.get(key, 0) + entry.minutes
    return dict(sorted(found.items()))
