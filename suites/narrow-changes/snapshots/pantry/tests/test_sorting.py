from pantry.sorting import by_name, newest


def test_names_are_sorted():
    assert by_name(["b", "a"]) == ["a", "b"]


def test_the_newest_comes_first():
    assert newest([(1, "rice"), (2, "beans")], 1) == ["beans"]
