"""Amounts as people write them, such as 12.50."""


def total(amounts):
    """The sum, with two digits after the point."""
    return f"{sum(float(amount) for amount in amounts):.2f}"
