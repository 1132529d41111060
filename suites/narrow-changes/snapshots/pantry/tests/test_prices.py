from pantry.prices import label, rounded


def test_an_amount_has_two_digits():
    assert rounded("2") == "2.00"


def test_a_label_names_the_currency():
    assert label("2.5") == "2.50 EUR"
