from pantry.units import grams, shown


def test_a_kilogram_has_a_thousand_grams():
    assert grams("2 kg") == 2000


def test_whole_kilograms_are_shown_as_such():
    assert shown(3000) == "3 kg"
