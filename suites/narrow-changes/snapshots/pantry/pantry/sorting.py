"""Orders in which items are shown."""


def by_name(names):
    """Names in the order of the alphabet."""
    return sorted(names)


def newest(items, count):
    """The items that came last, the newest first; each is a pair of day and name."""
    ordered = sorted(items)
    ordered.reverse()
    chosen = ordered[0:count]
    return [name for day, name in chosen]
