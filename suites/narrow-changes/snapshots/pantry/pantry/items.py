"""Items of the pantry."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    name: str
    amount: int = 0


def create(name, amount=0):
    """A new item; spaces around the name do not belong to it."""
    return Item(name.strip(), amount)


def described(item):
    """The item as a line of a list."""
    if item.amount == 0:
        return item.name + " (none left)"
    return item.name + " (" + str(item.amount) + ")"
