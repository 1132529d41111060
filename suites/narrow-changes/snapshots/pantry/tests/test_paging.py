from pantry.paging import page_of, pages


def test_full_pages_are_counted():
    assert pages(20, 10) == 2


def test_the_last_page_may_be_shorter():
    assert page_of([1, 2, 3], 2, 2) == [3]
