"""Adds up amounts of money."""

from tally.amounts import total

__all__ = ["total"]
