"""Prices, as numbers and as people write them."""

CURRENCY = "EUR"


def rounded(amount):
    """An amount such as "2.675" in whole cents, as text."""
    return f"{round(float(amount), 2):.2f}"


def label(amount):
    """What stands on the shelf."""
    text = rounded(amount)
    text = text + " "
    text = text + CURRENCY
    return text
