"""Spans of days, from a first day to the day after the last one."""


def overlaps(one, other):
    """Whether two spans have a day in common."""
    return one[0] <= other[1] and other[0] <= one[1]


def days(span):
    """How many days a span has."""
    first, after = span
    count = 0
    while first < after:
        first = first + 1
        count = count + 1
    return count
