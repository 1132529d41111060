"""Shopping lists, one entry a line."""


def entries(text):
    """The entries of a list."""
    return [line.strip() for line in text.split("\n")]


def joined(names):
    """Names as a sentence has them: a, b and c."""
    if len(names) == 0:
        return ""
    if len(names) == 1:
        return names[0]
    return ", ".join(names[:-1]) + " and " + names[-1]
