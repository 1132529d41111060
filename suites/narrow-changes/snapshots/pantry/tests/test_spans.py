from pantry.spans import days, overlaps


def test_a_span_within_another_overlaps_it():
    assert overlaps((1, 9), (3, 4))


def test_the_day_after_the_last_is_not_counted():
    assert days((3, 5)) == 2
