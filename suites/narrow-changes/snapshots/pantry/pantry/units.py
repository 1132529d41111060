"""Weights as people write them."""

FACTORS = {"g": 1, "kg": 1000}


def grams(text):
    """How many grams a text such as "2 kg" means."""
    number, unit = text.split()
    return int(number) * FACTORS[unit]


def shown(weight):
    """A weight in grams as people write it."""
    if weight >= 1000:
        if weight % 1000 == 0:
            return str(weight // 1000) + " kg"
    return str(weight) + " g"
