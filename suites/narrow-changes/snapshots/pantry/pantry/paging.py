"""Lists that are shown page by page."""


def pages(total, size):
    """How many pages it takes to show so many items."""
    return total // size


def page_of(items, number, size):
    """The items of one page; the first page is number 1."""
    first = (number - 1) * size
    result = []
    for index in range(first, first + size):
        if index < len(items):
            result.append(items[index])
    return result
