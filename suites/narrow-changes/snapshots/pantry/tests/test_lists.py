from pantry.lists import entries, joined


def test_each_line_is_an_entry():
    assert entries("rice\n beans") == ["rice", "beans"]


def test_the_last_two_names_are_joined_by_a_word():
    assert joined(["a", "b", "c"]) == "a, b and c"
