"""What is in the pantry: amounts by name."""


def take(stock, name, amount):
    """Take some of an item out of the stock, and give what is left of it."""
    stock[name] = stock[name] - amount
    return stock[name]


def total(stock):
    """All amounts together."""
    result = 0
    for name in stock:
        result = result + stock[name]
    return result
