from tally import total


def test_two_amounts():
    assert total(["1.10", "2.20"]) == "3.30"
