from pantry.items import create, described


def test_spaces_do_not_belong_to_the_name():
    assert create(" rice ").name == "rice"


def test_an_item_without_amount_is_described_as_such():
    assert described(create("rice")) == "rice (none left)"
