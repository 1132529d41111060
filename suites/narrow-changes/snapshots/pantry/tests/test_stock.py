from pantry.stock import take, total


def test_what_is_taken_is_gone():
    assert take({"rice": 3}, "rice", 1) == 2


def test_amounts_are_added_up():
    assert total({"rice": 3, "beans": 2}) == 5
